// Dist makes a release of the sources in the working directory:
//
//	go run ./cmd/internal/dist -o dist
//
// For each platform that is an archive with the program, static, its manual pages,
// completions for shells, the documentation and the licences of all that it is made
// of, and beside it a bill of materials as SPDX 2.3; and then SHA256SUMS of all. The
// same revision gives the same bytes by the same Go, wherever and whenever it is made:
// times are the revision's, or SOURCE_DATE_EPOCH.
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
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

const command = "github.com/revgen/revgen/cmd/revgen"

func main() {
	out := flag.String("o", "dist", "folder of the release, new or empty")
	version := flag.String("version", "", "version of the release (default what Go says of the repository)")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "operating systems and architectures, separated by commas")
	flag.Parse()
	err := fmt.Errorf("there are no arguments: %q", flag.Args())
	if flag.NArg() == 0 {
		err = release(*out, *version, strings.Split(*platforms, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// versions are what names of files can hold, and Go's pseudo-versions.
var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+[0-9A-Za-z.+-]*$`)

// release makes all files of a release.
func release(out, version string, platforms []string) error {
	if version != "" && !versions.MatchString(version) {
		return fmt.Errorf("-version: %q is not like v1.2.3", version)
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("-o: %s is not empty", out)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "revgen-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, platform := range platforms {
		b, err := build(filepath.Join(work, "revgen"), version, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := b.write(out); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		fmt.Println(filepath.Join(out, b.name()+".tar.gz"))
	}
	return sums(out)
}

// A built program.
type built struct {
	version, os, arch string
	program           []byte
	info              *debug.BuildInfo
	date              time.Time
}

func (b *built) name() string { return "revgen-" + b.version + "-" + b.os + "-" + b.arch }

// build compiles the program to a file.
func build(path, version, platform string) (*built, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("a platform is like linux/amd64")
	}
	link := "-s -w"
	if version != "" {
		link += " -X github.com/revgen/revgen/internal/version.stamp=" + version
	}
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags", link, "-o", path, command)
	// Nothing of the environment may change the program.
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	b := &built{version: version, os: system, arch: arch}
	var err error
	if b.info, err = buildinfo.ReadFile(path); err != nil {
		return nil, err
	}
	b.version = cmp.Or(version, b.info.Main.Version)
	if !versions.MatchString(b.version) {
		return nil, fmt.Errorf("the version of these sources is %q, as far as go can tell: make the release in a clone of the repository, or give -version", b.version)
	}
	if b.date, err = dateOf(b.info, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return nil, err
	}
	if b.program, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	return b, static(b.program)
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
	return time.Time{}, errors.New("the sources are in no repository that says when they are from: set SOURCE_DATE_EPOCH")
}

// static reports a program that needs a dynamic linker.
func static(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil // not of a system with ELF
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("the program is not static")
	}
	return nil
}

// write writes the archive and the bill of materials.
func (b *built) write(out string) error {
	files := []file{{"revgen", 0o755, b.program}}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, file{name, 0o644, data})
	}
	header, err := os.ReadFile("cmd/librevgen/revgen.h")
	if err != nil {
		return err
	}
	files = append(files, file{"include/revgen.h", 0o644, header})
	docs, err := filepath.Glob("docs/*.[ms]*") // pages and pictures
	if err != nil {
		return err
	}
	figures, err := filepath.Glob("docs/figures/*.*")
	if err != nil {
		return err
	}
	for _, name := range append(docs, figures...) {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(name), 0o644, data})
	}
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

// sums writes the checksums of a folder's files, as sha256sum does.
func sums(out string) error {
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
