package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const envMain = "REVGEN_DIST_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestCommand: what each way to call the program does, and what it says of what it cannot do.
func TestCommand(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	root := t.TempDir()
	call := func(args ...string) (string, int) {
		c := exec.Command(self, args...)
		c.Dir, c.Env = "../../..", append(os.Environ(), envMain+"=1")
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	none := filepath.Join(root, "none")
	for want, args := range map[string][]string{
		`dist: there are no arguments: ["x"]`:                        {"x"},
		"dist: could not read":                                       {"-prefix", "/opt", "-root", root, "-library", none},
		"dist: the wheel: could not read":                            {"-wheel", "-o", root, "-library", none},
		`dist: -version: "1.2" is not like v1.2.3`:                   {"-version", "1.2"},
		`dist: -version: "1.3" is not like v1.2.3`:                   {"-wheel", "-version", "1.3"},
		"dist: linux: a platform is like linux/amd64":                {"-o", root, "-platforms", "linux,linux/amd64"},
		"dist: -o: " + filepath.Join(root, "full") + " is not empty": {"-o", filepath.Join(root, "full")},
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "full", "x"), 0o700))
		require.NoError(t, os.RemoveAll(filepath.Join(root, "dist")))
		if args[0] == "-o" && args[1] == root {
			args[1] = filepath.Join(root, "dist")
		}
		said, code := call(args...)
		require.Equal(t, 1, code, said)
		require.True(t, strings.HasPrefix(said, want), said)
	}
	said, code := call("-prefix", "/opt", "-root", root, "-library", self, "-version", "v1.2.3")
	require.Equal(t, []any{"", 0}, []any{said, code})
	page, err := os.ReadFile(filepath.Join(root, "opt/share/man/man1/revgen.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "revgen v1.2.3")
	said, _ = call("-h")
	require.Contains(t, said, `(default "dist")`)
	require.Contains(t, said, `(default "linux/amd64,linux/arm64")`)
}

// TestReadingOfBuilds: what a program says of itself, and when it is from.
func TestReadingOfBuilds(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	b, err := readBuilt(self, "v1.2.3", date)
	require.NoError(t, err)
	require.Equal(t, []any{"v1.2.3", runtime.GOOS, runtime.GOARCH, time.Unix(86400, 0).UTC()}, []any{b.version, b.os, b.arch, b.date})
	require.True(t, bytes.Equal(program, b.program))
	require.Equal(t, "revgen-v1.2.3-"+runtime.GOOS+"-"+runtime.GOARCH, b.name())
	b, err = readBuilt(self, "", date)
	require.NoError(t, err)
	require.Equal(t, b.info.Main.Version, b.version)
	t.Setenv("SOURCE_DATE_EPOCH", "-1")
	_, err = readBuilt(self, "", date)
	require.EqualError(t, err, `SOURCE_DATE_EPOCH: "-1" is not a number of seconds`)
	t.Setenv("SOURCE_DATE_EPOCH", "")
	_, err = readBuilt(self, "", time.Time{})
	require.Equal(t, errNoDate, err)
	b, err = readBuilt(self, "", date)
	require.NoError(t, err)
	require.Equal(t, date, b.date)
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "1.2": "v0.0.0"} {
		before := time.Now()
		b, err = readLocal(self, version)
		require.NoError(t, err)
		require.Equal(t, want, b.version)
		require.False(t, b.date.Before(before))
	}
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o600))
	_, err = readLocal(text, "v1.2.3")
	require.Error(t, err)
	require.ErrorContains(t, writeSums(text), "not a directory")
	require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(text), "folder"), 0o700))
	require.ErrorContains(t, writeSums(filepath.Dir(text)), "is a directory")
	_, err = goOutput("no-such-command")
	require.ErrorContains(t, err, "go no-such-command: exit status 2")
	_, err = licences(&debug.BuildInfo{Deps: []*debug.Module{{Path: "example.org/none"}}})
	require.ErrorContains(t, err, "go list: exit status 1")
	require.True(t, hasCompiler() || exec.Command("cc", "--version").Run() != nil)
}

// program is an ELF file that has a segment with data and nothing else.
func program(t *testing.T, machine elf.Machine, segment elf.ProgType, data ...byte) []byte {
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	require.NoError(t, binary.Write(&b, binary.LittleEndian, h))
	n := uint64(len(data))
	require.NoError(t, binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(segment), Flags: uint32(elf.PF_R | elf.PF_W), Off: 128, Vaddr: 1 << 20, Filesz: n, Memsz: n, Align: 16}))
	return append(append(b.Bytes(), make([]byte, 8)...), data...)
}

// TestPrograms: those that need a dynamic linker are refused, and libraries for machines of which
// there are no wheels.
func TestPrograms(t *testing.T) {
	require.NoError(t, checkStatic(program(t, elf.EM_X86_64, elf.PT_LOAD)))
	require.NoError(t, checkStatic([]byte("MZ")))
	require.EqualError(t, checkStatic(program(t, elf.EM_X86_64, elf.PT_INTERP)), "the program is not static")
	_, err := manylinux(program(t, elf.EM_386, elf.PT_LOAD))
	require.EqualError(t, err, "no wheels are for EM_386")
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		_, err = manylinux(program(t, machine, elf.PT_LOAD))
		require.ErrorIs(t, err, elf.ErrNoSymbols)
	}
}

// TestArchive: the archive of a platform holds the program, what is written about it and what it
// is made of, and stands beside its bill of materials.
func TestArchive(t *testing.T) {
	t.Chdir("../../..")
	out := t.TempDir()
	b := &built{version: "v1.2.3", os: "plan9", arch: "arm", date: date, program: []byte("program"), info: &debug.BuildInfo{GoVersion: "go1.26.8"}}
	require.NoError(t, b.write(out))
	bill, err := os.ReadFile(filepath.Join(out, "revgen-v1.2.3-plan9-arm.spdx.json"))
	require.NoError(t, err)
	archive, err := os.Open(filepath.Join(out, "revgen-v1.2.3-plan9-arm.tar.gz"))
	require.NoError(t, err)
	defer archive.Close()
	z, err := gzip.NewReader(archive)
	require.NoError(t, err)
	want := map[string]string{"include/revgen.h": "cmd/librevgen/revgen.h"}
	for _, pattern := range []string{"README.md", "LICENSE", "CHANGELOG.md", "docs/*.md", "docs/*.svg", "docs/figures/*.*"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			want[name] = name
		}
	}
	of := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	made := map[string]string{"revgen": "program", "revgen.spdx.json": string(bill)}
	others := 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		name, found := strings.CutPrefix(h.Name, "revgen-v1.2.3-plan9-arm/")
		require.True(t, found, h.Name)
		mode := int64(0o644)
		if name == "revgen" {
			mode = 0o755
		}
		require.Equal(t, mode, h.Mode, name)
		switch {
		case want[name] != "":
			require.True(t, of(want[name]) == string(text), name)
			delete(want, name)
		case made[name] != "":
			require.Equal(t, made[name], string(text))
			delete(made, name)
		default:
			require.Regexp(t, "^(licences|completions|man/man1)/", name)
			others++
		}
	}
	require.Empty(t, want)
	require.Empty(t, made)
	require.Greater(t, others, 20)
	require.ErrorContains(t, b.write(filepath.Join(out, "none")), "none")
}

// TestWheel: a wheel holds the package, the library, and a record of all its files.
func TestWheel(t *testing.T) {
	libraries, _ := filepath.Glob("/lib*/*/libm.so.6")
	if len(libraries) == 0 {
		t.Skip("needs a library of C where Linux distributions have it")
	}
	t.Chdir("../../..")
	library, err := os.ReadFile(libraries[0])
	require.NoError(t, err)
	b := &built{version: "v1.2.3-rc.4", date: date, program: library, info: &debug.BuildInfo{GoVersion: "go1.26.8"}}
	name, data, err := b.wheel()
	require.NoError(t, err)
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	require.Regexp(t, `^revgen-1\.2\.3rc4-py3-none-manylinux_2_\d+_`+arch+`\.whl$`, name)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	text, lines := map[string]string{}, ""
	const info = "revgen-1.2.3rc4.dist-info/"
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		all, err := io.ReadAll(r)
		require.NoError(t, err)
		text[f.Name] = string(all)
		mode := os.FileMode(0o644)
		if f.Name == "revgen/librevgen.so.1" {
			mode = 0o755
		}
		require.Equal(t, mode, f.Mode(), f.Name)
		if f.Name != info+"RECORD" {
			sum := sha256.Sum256(all)
			lines += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(all))
		}
	}
	require.Equal(t, lines+info+"RECORD,,\n", text[info+"RECORD"])
	require.True(t, string(library) == text["revgen/librevgen.so.1"])
	require.Equal(t, "__version__ = \"1.2.3rc4\"\n", text["revgen/_version.py"])
	require.Equal(t, "Wheel-Version: 1.0\nGenerator: revgen-dist\nRoot-Is-Purelib: false\nTag: "+strings.TrimSuffix(strings.TrimPrefix(name, "revgen-1.2.3rc4-"), ".whl")+"\n", text[info+"WHEEL"])
	require.Contains(t, text[info+"METADATA"], "\nName: revgen\nVersion: 1.2.3rc4\n")
	modules, err := filepath.Glob("cmd/librevgen/python/revgen/*")
	require.NoError(t, err)
	for at, from := range map[string]string{info + "LICENSE": "LICENSE", "revgen/py.typed": "cmd/librevgen/python/revgen/py.typed", "revgen/__init__.py": "cmd/librevgen/python/revgen/__init__.py"} {
		want, err := os.ReadFile(from)
		require.NoError(t, err)
		require.Equal(t, string(want), text[at])
	}
	python, err := os.ReadFile("docs/python.md")
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(text[info+"METADATA"], "\n\n"+string(python)))
	for _, module := range modules {
		if strings.HasSuffix(module, ".py") {
			require.Contains(t, text, "revgen/"+filepath.Base(module))
		}
	}
	require.Contains(t, text[info+"sboms/revgen.spdx.json"], `"spdxVersion": "SPDX-2.3"`)
	require.Contains(t, text, info+"licences/go/LICENSE")
	b.version = "(devel)"
	_, _, err = b.wheel()
	require.ErrorContains(t, err, `the version "(devel)" has none of Python's`)
}

// said is what go build writes into a program.
func said(version, system string) []byte {
	data := append(append([]byte("\xff Go buildinf:"), 8, 2), make([]byte, 16)...)
	guard := strings.Repeat("x", 16)
	for _, text := range []string{"go1.26.8", guard + "path\tgithub.com/revgen/revgen/cmd/revgen\nmod\tgithub.com/revgen/revgen\t" + version + "\t\nbuild\tGOOS=" + system + "\nbuild\tGOARCH=mips\nbuild\tvcs.time=2026-11-22T06:00:00Z\n" + guard} {
		data = append(binary.AppendUvarint(data, uint64(len(text))), text...)
	}
	return data
}

// TestReleaseOfPrograms: a release has an archive and a bill for each platform, of what go build
// was asked for, and sums of all.
func TestReleaseOfPrograms(t *testing.T) {
	goes, err := exec.LookPath("go")
	require.NoError(t, err)
	dir, sources := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/m\n", "LICENSE": "free", "README.md": "", "CHANGELOG.md": "", "cmd/librevgen/revgen.h": "", "docs/guide.md": ""} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(sources, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(sources, name), []byte(text), 0o600))
	}
	t.Chdir(sources)
	log := filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(`#!/bin/sh
case "$1 $2" in
build*) echo "$@ $GOOS $GOARCH $GOAMD64 $GOARM64 $GOFLAGS $GOEXPERIMENT $GOWORK $GOFIPS140 $CGO_ENABLED" >>`+log+`
	while [ $# -gt 1 ]; do
		[ "$1" != -o ] || cp "`+dir+`/$GOOS" "$2" || exit 1
		shift
	done ;;
"env CC") echo "$COMPILER -x" ;;
*) exec `+goes+` "$@" ;;
esac
`), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("GOFLAGS", "-mod=mod")
	release := func(version string, segment elf.ProgType, platforms ...string) (out, asked string, err error) {
		for _, platform := range platforms {
			system, _, _ := strings.Cut(platform, "/")
			require.NoError(t, os.WriteFile(filepath.Join(dir, system), program(t, elf.EM_X86_64, segment, said("(devel)", system)...), 0o600))
		}
		require.NoError(t, os.RemoveAll(log))
		out = filepath.Join(t.TempDir(), "new")
		err = release(out, version, platforms)
		text, _ := os.ReadFile(log)
		return out, string(text), err
	}
	out, asked, err := release("v1.2.3", elf.PT_LOAD, "one/mips", "two/mips")
	require.NoError(t, err)
	require.Regexp(t, `^build -trimpath -buildvcs=auto -ldflags -s -w -X github\.com/revgen/revgen/internal/version\.stamp=v1\.2\.3 -o \S+/revgen github\.com/revgen/revgen/cmd/revgen one mips v1 v8\.0   off off 0\nbuild .* two mips v1 v8\.0   off off 0\n$`, asked)
	lines := ""
	for _, name := range []string{"revgen-v1.2.3-one-mips.spdx.json", "revgen-v1.2.3-one-mips.tar.gz", "revgen-v1.2.3-two-mips.spdx.json", "revgen-v1.2.3-two-mips.tar.gz"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		lines += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
	}
	all, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, lines, string(all))

	_, _, err = release("v1.2.3", elf.PT_LOAD, "one/mips", "three")
	require.EqualError(t, err, "three: a platform is like linux/amd64")
	_, asked, err = release("", elf.PT_LOAD, "one/mips")
	require.EqualError(t, err, `one/mips: the version of these sources is "(devel)", as far as go can tell: make the release in a clone of the repository, or give -version`)
	require.Contains(t, asked, " -ldflags -s -w -o ")
	_, _, err = release("v1.2.3", elf.PT_INTERP, "one/mips")
	require.ErrorContains(t, err, "one/mips: ")
	require.NoError(t, os.Remove(filepath.Join(dir, "one")))
	_, err = build("v1.2.3", "one/mips")
	require.EqualError(t, err, "go build: exit status 1")
	if runtime.GOOS != "linux" {
		return
	}
	here := runtime.GOOS + "/" + runtime.GOARCH
	t.Setenv("COMPILER", "no-such-compiler")
	out, _, err = release("v1.2.3", elf.PT_LOAD, here)
	require.NoError(t, err, "without a wheel")
	require.FileExists(t, filepath.Join(out, "SHA256SUMS"))
	t.Setenv("COMPILER", "sh")
	_, asked, err = release("v1.2.3", elf.PT_LOAD, here)
	require.ErrorContains(t, err, "the wheel: ")
	require.Regexp(t, `\nbuild -trimpath -buildvcs=auto -ldflags -s -w -extldflags=-Wl,-z,nodelete,-soname,librevgen\.so\.1 -X \S+stamp=v1\.2\.3 -o \S+/librevgen\.so\.1 -buildmode=c-shared github\.com/revgen/revgen/cmd/librevgen linux `+runtime.GOARCH+` v1 v8\.0   off off 1\n$`, asked)
}
