// Dist makes a release of the sources in the working directory:
//
//	go run ./cmd/internal/dist -o dist
//
// For each platform that is an archive with the program, static, its manual pages,
// completions for shells, the documentation and the licences of all that it is made
// of, and beside it a bill of materials as SPDX 2.3; for this machine's platform, where
// there is a C compiler, the package for Python as a wheel; and then SHA256SUMS of all. The
// same revision gives the same bytes by the same Go and C compiler, wherever and whenever it
// is made: times are the revision's, or SOURCE_DATE_EPOCH.
//
// With -wheel it makes the wheel alone. With -prefix it installs the files that belong to the
// program and its library, which make install has built.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/crash"
)

const command = "github.com/revgen/revgen/cmd/revgen"

func main() {
	out := flag.String("o", "dist", "folder of the release, new or empty")
	version := flag.String("version", "", "version of the release (default what Go says of the repository)")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "operating systems and architectures, separated by commas")
	wheel := flag.Bool("wheel", false, "make the wheel for Python alone")
	library := flag.String("library", "", "`file` of the library for the wheel or the installation (default one that is built for the wheel)")
	prefix := flag.String("prefix", "", "install manual pages, completions, licences and Python's package below this folder")
	root := flag.String("root", "", "with -prefix, the folder that stands for / (DESTDIR)")
	python := flag.String("python", "", "with -prefix, where Python looks for packages; none is installed if not given")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("there are no arguments: %q", flag.Args())
	case *prefix != "":
		var b *built
		if b, err = readLocal(*library, *version); err == nil {
			err = install(b, *root, *prefix, *python)
		}
	case *wheel:
		err = writeWheel(*out, *version, *library)
	default:
		err = release(*out, *version, strings.Split(*platforms, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// versionPattern matches versions, Go's pseudo-versions too, that names of files can hold.
var versionPattern = regexp.MustCompile(`^v\d+\.\d+\.\d+[0-9A-Za-z.+-]*$`)

// release makes all files of a release.
func release(out, version string, platforms []string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("-o: %s is not empty", out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, platform := range platforms {
		b, err := build(version, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := b.write(out); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		fmt.Println(filepath.Join(out, b.name()+".tar.gz"))
	}
	switch {
	case !slices.Contains(platforms, runtime.GOOS+"/"+runtime.GOARCH) || runtime.GOOS != "linux":
	case !hasCompiler():
		fmt.Fprintln(os.Stderr, "dist: left out: the wheel for Python, which needs a C compiler")
	default:
		if err := writeWheel(out, version, ""); err != nil {
			return err
		}
	}
	return writeSums(out)
}

func checkVersion(version string) error {
	if version != "" && !versionPattern.MatchString(version) {
		return fmt.Errorf("-version: %q is not like v1.2.3", version)
	}
	return nil
}

// writeWheel writes the wheel of a library to a folder. If library is "" it is built.
func writeWheel(out, version, library string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var b *built
	var err error
	if library == "" {
		b, err = buildLibrary(version)
	} else {
		b, err = readLocal(library, version)
	}
	if err != nil {
		return fmt.Errorf("the wheel: %w", err)
	}
	name, data, err := b.wheel()
	if err != nil {
		return fmt.Errorf("the wheel: %w", err)
	}
	fmt.Println(filepath.Join(out, name))
	return os.WriteFile(filepath.Join(out, name), data, 0o644)
}

// A built is a program or library as go build has written it.
type built struct {
	version, os, arch string
	program           []byte
	info              *debug.BuildInfo
	date              time.Time
}

func (b *built) name() string { return "revgen-" + b.version + "-" + b.os + "-" + b.arch }

// build compiles the program.
func build(version, platform string) (*built, error) {
	b, err := compile("revgen", version, platform, command, "", []string{"CGO_ENABLED=0"})
	if err != nil {
		return nil, err
	}
	return b, checkStatic(b.program)
}

// compile compiles a command to a file of the given name, and reads the file.
func compile(name, version, platform, command, link string, env []string, args ...string) (*built, error) {
	goos, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("a platform is like linux/amd64")
	}
	link = "-s -w" + link
	if version != "" {
		link += " -X github.com/revgen/revgen/internal/version.stamp=" + version
	}
	work, err := os.MkdirTemp("", "revgen-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	path := filepath.Join(work, name)
	c := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=auto", "-ldflags", link, "-o", path}, append(args, command)...)...)
	// The environment must not change the program.
	c.Env = append(append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off"), env...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	b, err := readBuilt(path, version, time.Time{})
	if err != nil {
		return nil, err
	}
	if !versionPattern.MatchString(b.version) {
		return nil, fmt.Errorf("the version of these sources is %q, as far as go can tell: make the release in a clone of the repository, or give -version", b.version)
	}
	return b, nil
}

// readBuilt reads a file that go build has written. If nothing tells the date of its sources, it
// has the given date, and if that is zero an error is returned.
func readBuilt(path, version string, date time.Time) (*built, error) {
	b := &built{}
	var err error
	if b.info, err = buildinfo.ReadFile(path); err != nil {
		return nil, err
	}
	for _, s := range b.info.Settings {
		switch s.Key {
		case "GOOS":
			b.os = s.Value
		case "GOARCH":
			b.arch = s.Value
		}
	}
	b.version = cmp.Or(version, b.info.Main.Version)
	if b.date, err = dateOf(b.info, os.Getenv("SOURCE_DATE_EPOCH")); errors.Is(err, errNoDate) && !date.IsZero() {
		b.date, err = date, nil
	}
	if err != nil {
		return nil, err
	}
	b.program, err = os.ReadFile(path)
	return b, err
}

// dateOf returns the time of a release's files.
func dateOf(info *debug.BuildInfo, epoch string) (time.Time, error) {
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			return time.Parse(time.RFC3339, s.Value)
		}
	}
	return time.Time{}, errNoDate
}

var errNoDate = errors.New("the sources are in no repository that says when they are from: set SOURCE_DATE_EPOCH")

// checkStatic returns an error if a program needs a dynamic linker.
func checkStatic(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil // the platform has no ELF
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("the program is not static")
	}
	return nil
}

// write writes the archive and the bill of materials.
func (b *built) write(out string) error {
	docs, figures := crash.Must(filepath.Glob("docs/*.[ms]*")), crash.Must(filepath.Glob("docs/figures/*.*")) // Markdown and SVG
	files, err := sources(slices.Concat([]string{"cmd/librevgen/revgen.h", "README.md", "LICENSE", "CHANGELOG.md"}, docs, figures)...)
	if err != nil {
		return err
	}
	files[0].name = "include/revgen.h"
	files = append(files, file{"revgen", 0o755, b.program})
	licences, err := licences(b.info)
	if err != nil {
		return err
	}
	files = append(files, licences...)
	pages, err := pages(b.version, b.date)
	if err != nil {
		return err
	}
	files = append(files, pages...)
	bill, err := b.bill()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, b.name()+".spdx.json"), bill, 0o644); err != nil {
		return err
	}
	archive, err := pack(b.name(), b.date, append(files, file{"revgen.spdx.json", 0o644, bill}))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, b.name()+".tar.gz"), archive, 0o644)
}

// writeSums writes the checksums of a folder's files, as sha256sum does.
func writeSums(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), text.Bytes(), 0o644)
}
