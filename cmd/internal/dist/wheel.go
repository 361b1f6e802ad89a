package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
)

const (
	libraryCommand = "github.com/revgen/revgen/cmd/librevgen"
	libraryName    = "librevgen.so.1"
	pythonSources  = "cmd/librevgen/python/revgen"
)

// buildLibrary compiles the library for Python, for this machine's platform.
func buildLibrary(version string) (*built, error) {
	return compile(libraryName, version, runtime.GOOS+"/"+runtime.GOARCH, libraryCommand, " -extldflags=-Wl,-z,nodelete,-soname,"+libraryName,
		[]string{"CGO_ENABLED=1", "CGO_CFLAGS=", "CGO_CPPFLAGS=", "CGO_LDFLAGS="}, "-buildmode=c-shared")
}

// hasCompiler reports whether there is the C compiler that the library needs.
func hasCompiler() bool {
	cc, err := goOutput("env", "CC")
	if err != nil {
		return false
	}
	name, _, _ := strings.Cut(cc, " ")
	_, err = exec.LookPath(name)
	return err == nil
}

// wheel returns the package for Python, and the name of its file. The same library gives
// the same bytes.
func (b *built) wheel() (name string, data []byte, err error) {
	platform, err := manylinux(b.program)
	if err != nil {
		return "", nil, err
	}
	tag := "py3-none-" + platform
	files, info, version, err := b.pythonPackage(tag)
	if err != nil {
		return "", nil, err
	}
	files = append(files, file{"revgen/" + libraryName, 0o755, b.program})
	files = append(files, record(files, info))
	data, err = zipped(b.date, files)
	return fmt.Sprintf("revgen-%s-%s.whl", version, tag), data, err
}

// pythonPackage returns the files of the package without its library and its record, the name
// of its dist-info folder, and its version.
func (b *built) pythonPackage(tag string) (files []file, info, version string, err error) {
	if version, err = pythonVersion(b.version); err != nil {
		return nil, "", "", err
	}
	info = "revgen-" + version + ".dist-info"
	modules := slices.DeleteFunc(crash.Must(filepath.Glob(pythonSources+"/*.py")), func(name string) bool { return filepath.Base(name) == "_version.py" })
	if files, err = sources(append(modules, pythonSources+"/py.typed")...); err != nil {
		return nil, "", "", err
	}
	for i := range files {
		files[i].name = "revgen/" + filepath.Base(files[i].name)
	}
	texts, err := sources("docs/python.md", "LICENSE")
	if err != nil {
		return nil, "", "", err
	}
	bill, err := b.bill()
	if err != nil {
		return nil, "", "", err
	}
	notices, err := licences(b.info)
	if err != nil {
		return nil, "", "", err
	}
	for i := range notices {
		notices[i].name = info + "/" + notices[i].name
	}
	return append(append(files, notices...),
		file{"revgen/_version.py", 0o644, fmt.Appendf(nil, "__version__ = %q\n", version)},
		file{info + "/LICENSE", 0o644, texts[1].data},
		file{info + "/sboms/revgen.spdx.json", 0o644, bill},
		file{info + "/METADATA", 0o644, append([]byte(metadata(version)), texts[0].data...)},
		file{info + "/WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: revgen-dist\nRoot-Is-Purelib: false\nTag: " + tag + "\n")},
	), info, version, nil
}

// metadata returns METADATA up to the description.
func metadata(version string) string {
	return `Metadata-Version: 2.1
Name: revgen
Version: ` + version + `
Summary: Generators of independent samples, trained by reversibility
Project-URL: Source, https://github.com/revgen/revgen
License: Apache-2.0
License-File: LICENSE
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Physics
Classifier: Typing :: Typed
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: progress
Requires-Dist: tqdm; extra == "progress"
Provides-Extra: xarray
Requires-Dist: xarray; extra == "xarray"
Description-Content-Type: text/markdown

`
}

// record returns RECORD, which lists files with their checksums, and itself without one.
func record(files []file, info string) file {
	name := info + "/RECORD"
	var text bytes.Buffer
	for _, f := range sortedByName(files) {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&text, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&text, "%s,,\n", name)
	return file{name, 0o644, text.Bytes()}
}

func sortedByName(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// zipped returns the files as a zip archive, whose bytes are as reproducible as pack's.
func zipped(date time.Time, files []file) ([]byte, error) {
	if earliest := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); date.Before(earliest) {
		date = earliest // that a zip archive can hold
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range sortedByName(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date.UTC()}
		h.SetMode(os.FileMode(f.mode))
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var versionParts = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?(?:[-.](?:0\.)?(\d{14})-([0-9a-f]{12}))?(?:\+([0-9A-Za-z.]+))?$`)

// pythonVersion returns a version of a Go module in Python's form (PEP 440), with the same order.
func pythonVersion(version string) (string, error) {
	m := versionParts.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("the version %q has none of Python's beside it, as v1.2.3 and v1.2.3-rc.1 have", version)
	}
	text := m[1]
	suffix := ".dev" // a pseudo-version comes before the version that it names
	if m[2] != "" {
		text += map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3]
		suffix = ".post" // and after the pre-release that it names
	}
	if m[4] != "" {
		text += suffix + m[4]
	}
	if local := strings.Trim(m[5]+"."+m[6], "."); local != "" {
		text += "+" + local
	}
	return text, nil
}

// manylinux returns the tag of the platforms that a shared library runs on: Linux with a C
// library that has the symbols that it needs.
func manylinux(library []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(library))
	if err != nil {
		return "", err
	}
	arch, ok := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}[f.Machine]
	if !ok {
		return "", fmt.Errorf("no wheels are for %v", f.Machine)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	versions := lists.Map(symbols, func(s elf.ImportedSymbol) string { return s.Version })
	tag, err := glibc(needed, versions)
	return tag + "_" + arch, err
}

// partsOfC matches the libraries that come with the C library.
var partsOfC = regexp.MustCompile(`^(lib(c|m|pthread|dl|rt|resolv|util)\.so\.\d|ld-linux-.*)$`)

// glibc returns the tag manylinux_2_x of a library, given the libraries and the versions of the
// symbols that it needs.
func glibc(needed, versions []string) (string, error) {
	for _, name := range needed {
		if !partsOfC.MatchString(name) {
			return "", fmt.Errorf("the library needs %s, which not every Linux has", name)
		}
	}
	newest := -1 // minor version of glibc
	for _, v := range versions {
		if minor, ok := strings.CutPrefix(v, "GLIBC_2."); ok {
			minor, _, _ = strings.Cut(minor, ".")
			n, err := strconv.Atoi(minor)
			if err != nil {
				return "", fmt.Errorf("a symbol of the library has the version %s", v)
			}
			newest = max(newest, n)
		}
	}
	if newest < 0 {
		return "", errors.New("the library needs nothing of glibc: a wheel is for Linux with glibc")
	}
	return fmt.Sprintf("manylinux_2_%d", max(newest, 17)), nil // there are no such tags for older versions
}
