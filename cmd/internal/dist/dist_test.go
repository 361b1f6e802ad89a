package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var date = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

func TestPack(t *testing.T) {
	files := []file{{"b/c", 0o644, []byte("two")}, {"a", 0o755, []byte("one")}}
	archive, err := pack("folder", date, files)
	require.NoError(t, err)
	again, err := pack("folder", date, []file{files[1], files[0]})
	require.NoError(t, err)
	require.Equal(t, archive, again, "order")
	z, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	require.True(t, z.ModTime.IsZero())
	r := tar.NewReader(z)
	for _, want := range []file{{"folder/a", 0o755, []byte("one")}, {"folder/b/c", 0o644, []byte("two")}} {
		h, err := r.Next()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, want, file{h.Name, h.Mode, data})
		require.Equal(t, date, h.ModTime.UTC())
		require.Equal(t, []any{0, 0, "", ""}, []any{h.Uid, h.Gid, h.Uname, h.Gname})
	}
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
}

func TestPages(t *testing.T) {
	all, err := pages("v1.2.3", date)
	require.NoError(t, err)
	again, err := pages("v1.2.3", date)
	require.NoError(t, err)
	require.Equal(t, all, again)
	text := map[string]string{}
	for _, f := range all {
		text[f.name] = string(f.data)
	}
	for _, command := range []string{"", "-train", "-sample", "-diagnose", "-mcmc", "-verify", "-info", "-config", "-config-show", "-run", "-report", "-reproduce", "-bench", "-completion"} {
		page := text["man/man1/revgen"+command+".1"]
		require.Contains(t, page, `"1" "Nov 2026" "revgen v1.2.3" "RevGen"`, command)
		require.Contains(t, page, ".SH DESCRIPTION", command)
		require.NotContains(t, page, "Auto generated")
	}
	train := text["man/man1/revgen-train.1"]
	require.Contains(t, train, "\n  ising    two-dimensional Ising model", "lines that stand as they are")
	require.Contains(t, train, "The run directory holds")
	require.Contains(t, train, `revgen train config.json --max-time 01:50:00 --json > summary.json`)
	for shell, word := range map[string]string{"revgen.bash": "__start_revgen", "_revgen": "#compdef revgen", "revgen.fish": "complete -c revgen"} {
		require.Contains(t, text["completions/"+shell], word)
	}
}

func TestMarkdown(t *testing.T) {
	require.Equal(t, "a\\_b and\nc\n\n\n```\n  x_y  z\n\n```\n\nend", markdown("a_b and\nc\n\n  x_y  z\n\nend"))
	require.Equal(t, "\\<a\\>\n\n```\n  last\n\n```", markdown("<a>\n  last"))
	require.Equal(t, "", markdown(""))
}

// A bill of materials as SPDX 2.3 has it.
type (
	document struct {
		Version       string         `json:"spdxVersion"`
		Licence       string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      creation       `json:"creationInfo"`
		Packages      []material     `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	material struct {
		Name       string      `json:"name"`
		ID         string      `json:"SPDXID"`
		Version    string      `json:"versionInfo"`
		FileName   string      `json:"packageFileName,omitempty"`
		Purpose    string      `json:"primaryPackagePurpose"`
		Location   string      `json:"downloadLocation"`
		Analyzed   bool        `json:"filesAnalyzed"`
		Checksums  []checksum  `json:"checksums,omitempty"`
		Concluded  string      `json:"licenseConcluded"`
		Declared   string      `json:"licenseDeclared"`
		Copyright  string      `json:"copyrightText"`
		Comment    string      `json:"comment,omitempty"`
		References []reference `json:"externalRefs"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

// What SPDX 2.3 asks for, and that nothing of the build's information is left out.
func TestBill(t *testing.T) {
	b := &built{version: "v1.2.3", os: "linux", arch: "arm64", program: []byte("program"), date: date, info: &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "example.org/revgen"},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}},
		Deps: []*debug.Module{
			{Path: "example.org/Some/One", Version: "v0.1.0+meta", Sum: "h1:abc="},
			{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v1.0.1", Sum: "h1:def="}},
		},
	}}
	text, err := b.bill()
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(text, &d))
	require.Equal(t, "SPDX-2.3", d.Version)
	require.Equal(t, "revgen-v1.2.3-linux-arm64", d.Name)
	require.Equal(t, "2026-11-22T06:00:00Z", d.Creation.Created)
	require.Equal(t, []checksum{{"SHA256", "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"}}, d.Packages[0].Checksums)
	var names []string
	ids := map[string]bool{}
	for _, p := range d.Packages {
		names = append(names, p.Name+" "+p.Version+" "+p.References[0].Locator+" "+p.Comment)
		require.Regexp(t, `^SPDXRef-[a-zA-Z0-9.-]+$`, p.ID)
		require.False(t, ids[p.ID])
		ids[p.ID] = true
	}
	require.Equal(t, []string{
		"example.org/revgen v1.2.3 pkg:golang/example.org/revgen@v1.2.3 built by go1.26.8 with CGO_ENABLED=0",
		"stdlib 1.26.8 pkg:golang/stdlib@1.26.8 ",
		"example.org/Some/One v0.1.0+meta pkg:golang/example.org/some/one@v0.1.0%2Bmeta h1:abc=",
		"example.org/new v1.0.1 pkg:golang/example.org/new@v1.0.1 h1:def=",
	}, names)
	related := map[string]bool{}
	for _, r := range d.Relationships {
		related[r.Related] = true
	}
	require.Equal(t, ids, related)
	require.Equal(t, []string{"CC0-1.0", "SPDXRef-DOCUMENT", "https://example.org/revgen/spdx/revgen-v1.2.3-linux-arm64-1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8", "Tool: revgen-dist-v1.2.3"},
		[]string{d.Licence, d.ID, d.Namespace, d.Creation.Creators[0]})
	for i, p := range d.Packages {
		want := []any{"", "LIBRARY", "NOASSERTION", false, "DEPENDS_ON", "SPDXRef-revgen"}
		switch i {
		case 0:
			want = []any{"revgen", "APPLICATION", "Apache-2.0", false, "DESCRIBES", "SPDXRef-DOCUMENT"}
		case 1:
			want[2] = "BSD-3-Clause"
		}
		require.Equal(t, want, []any{p.FileName, p.Purpose, p.Declared, p.Analyzed, d.Relationships[i].Type, d.Relationships[i].Element})
		require.Equal(t, []string{"NOASSERTION", "NOASSERTION", "NOASSERTION", "PACKAGE-MANAGER", "purl"}, []string{p.Location, p.Concluded, p.Copyright, p.References[0].Category, p.References[0].Type})
	}
	b.info.Path = libraryCommand
	text, err = b.bill()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	require.Equal(t, []string{"librevgen.so.1", "LIBRARY"}, []string{d.Packages[0].FileName, d.Packages[0].Purpose})
}

func TestDate(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-22T06:00:00Z"}}}
	for epoch, want := range map[string]time.Time{"": date, "86400": time.Unix(86400, 0).UTC()} {
		got, err := dateOf(info, epoch)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := dateOf(info, "yesterday")
	require.EqualError(t, err, `SOURCE_DATE_EPOCH: "yesterday" is not a number of seconds`)
	_, err = dateOf(&debug.BuildInfo{}, "")
	require.ErrorContains(t, err, "set SOURCE_DATE_EPOCH")
}

func TestLicences(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"LICENSE", "Licence.md", "COPYING", "license.go", "README.md", "NOTICE.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	files, err := licencesIn(dir, "licences/x/")
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	require.Equal(t, "licences/x/COPYING licences/x/LICENSE licences/x/Licence.md licences/x/NOTICE.txt", strings.Join(names, " "))
	_, err = licencesIn(t.TempDir(), "")
	require.ErrorContains(t, err, "holds no licence")
}

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	require.EqualError(t, release(dir, "1.2", nil), `-version: "1.2" is not like v1.2.3`)
	require.EqualError(t, release(dir, "v1.2.3", []string{"linux"}), "linux: a platform is like linux/amd64")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), []byte("abc"), 0o600))
	require.ErrorContains(t, release(dir, "v1.2.3", nil), "is not empty")
	require.NoError(t, writeSums(dir))
	text, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  x\n", string(text))
}
