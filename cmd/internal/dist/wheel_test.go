package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                                    "1.2.3",
		"v1.2.3-rc.4":                               "1.2.3rc4",
		"v1.2.3-beta2":                              "1.2.3b2",
		"v1.2.3-alpha.1":                            "1.2.3a1",
		"v0.0.0-20261121051456-4431d142f24b":        "0.0.0.dev20261121051456+4431d142f24b",
		"v1.2.4-0.20261121051456-4431d142f24b":      "1.2.4.dev20261121051456+4431d142f24b",
		"v1.2.3-rc.4.0.20261121051456-4431d142f24b": "1.2.3rc4.post20261121051456+4431d142f24b",
		"v0.0.0-20261121051456-4431d142f24b+dirty":  "0.0.0.dev20261121051456+4431d142f24b.dirty",
		"v1.2.3+dirty":                              "1.2.3+dirty",
	} {
		got, err := pythonVersion(version)
		require.NoError(t, err, version)
		require.Equal(t, want, got, version)
	}
	for _, version := range []string{"(devel)", "1.2.3", "v1.2", "v1.2.3-final.2", "v1.2.3-20261121"} {
		_, err := pythonVersion(version)
		require.ErrorContains(t, err, version)
	}
}

func TestGlibc(t *testing.T) {
	c := []string{"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
	for want, versions := range map[string][]string{
		"manylinux_2_34": {"", "GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.9", "GCC_3.0"},
		"manylinux_2_17": {"GLIBC_2.2.5"},
	} {
		got, err := glibc(c, versions)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := glibc(append(c, "libmpi.so.40"), []string{"GLIBC_2.34"})
	require.EqualError(t, err, "the library needs libmpi.so.40, which not every Linux has")
	_, err = glibc(c, []string{"GLIBC_2.x"})
	require.ErrorContains(t, err, "GLIBC_2.x")
	_, err = glibc(c, nil)
	require.ErrorContains(t, err, "nothing of glibc")
	_, err = manylinux([]byte("no library"))
	require.Error(t, err)
}

func TestRecord(t *testing.T) {
	r := record([]file{{"b", 0o644, []byte("abc")}, {"a/x", 0o644, nil}}, "r.dist-info")
	require.Equal(t, "r.dist-info/RECORD", r.name)
	require.Equal(t, "a/x,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nb,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\nr.dist-info/RECORD,,\n", string(r.data))
}

func TestZipped(t *testing.T) {
	files := []file{{"b/c", 0o755, []byte("two")}, {"a", 0o644, []byte("one")}}
	data, err := zipped(date, files)
	require.NoError(t, err)
	again, err := zipped(date.In(time.FixedZone("elsewhere", 3600)), []file{files[1], files[0]})
	require.NoError(t, err)
	require.Equal(t, data, again, "order and zone")
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	for i, want := range []file{files[1], files[0]} {
		f := z.File[i]
		require.Equal(t, want.name, f.Name)
		require.Equal(t, os.FileMode(want.mode), f.Mode())
		require.True(t, f.Modified.Equal(date))
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, want.data, text)
	}
	old, err := zipped(time.Unix(0, 0), files)
	require.NoError(t, err)
	z, err = zip.NewReader(bytes.NewReader(old), int64(len(old)))
	require.NoError(t, err)
	require.Equal(t, 1980, z.File[0].Modified.UTC().Year())
}

// What make install has not built, below a folder that stands for the root.
func TestInstall(t *testing.T) {
	long.SkipShort(t)
	t.Chdir("../../..")
	root := t.TempDir()
	b := &built{version: "v1.2.3", date: date, info: &debug.BuildInfo{GoVersion: "go1.26.8"}}
	for range 2 { // again in the same place
		require.NoError(t, install(b, root, "/opt/it", "/opt/it/lib/python3.11/site-packages"))
	}
	for _, name := range []string{
		"share/man/man1/revgen.1", "share/bash-completion/completions/revgen", "share/zsh/site-functions/_revgen",
		"share/fish/vendor_completions.d/revgen.fish", "share/doc/revgen/LICENSE", "share/doc/revgen/licences/go/LICENSE",
		"lib/python3.11/site-packages/revgen/__init__.py", "lib/python3.11/site-packages/revgen-1.2.3.dist-info/RECORD",
	} {
		require.FileExists(t, filepath.Join(root, "opt/it", name))
	}
	python := filepath.Join(root, "opt/it/lib/python3.11/site-packages/revgen")
	version, err := os.ReadFile(filepath.Join(python, "_version.py"))
	require.NoError(t, err)
	require.Equal(t, "__version__ = \"1.2.3\"\n", string(version))
	target, err := os.Readlink(filepath.Join(python, libraryName))
	require.NoError(t, err)
	require.Equal(t, "../../../"+libraryName, target)
	require.NoError(t, install(b, root, "/usr", ""))
	require.NoDirExists(t, filepath.Join(root, "usr/lib"))
	require.FileExists(t, filepath.Join(root, "usr/share/man/man1/revgen-train.1"))
}
