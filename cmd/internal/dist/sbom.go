package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/lists"
)

// A bill of materials, as SPDX 2.3 names things.
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

const (
	unsaid = "NOASSERTION" // licences of modules are in the archive, as their authors wrote them
	itself = "SPDXRef-revgen"
)

// bill returns what the program is made of, by what its linker wrote into it: the
// modules whose packages are in it, with their sums as in go.sum, and Go.
func (b *built) bill() ([]byte, error) {
	sum := sha256.Sum256(b.program)
	program := newMaterial(itself, b.info.Main.Path, b.version)
	program.FileName, program.Purpose, program.Declared = "revgen", "APPLICATION", "Apache-2.0"
	if b.info.Path == libraryCommand {
		program.FileName, program.Purpose = libraryName, "LIBRARY"
	}
	program.Checksums = []checksum{{"SHA256", fmt.Sprintf("%x", sum)}}
	settings := lists.Map(b.info.Settings, func(s debug.BuildSetting) string { return s.Key + "=" + s.Value })
	program.Comment = "built by " + b.info.GoVersion + " with " + strings.Join(settings, " ")
	d := document{
		Version: "SPDX-2.3", Licence: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: b.name(),
		Namespace:     fmt.Sprintf("https://%s/spdx/%s-%x", b.info.Main.Path, url.PathEscape(b.name()), sum),
		Creation:      creation{b.date.UTC().Format(time.RFC3339), []string{"Tool: revgen-dist-" + b.version}},
		Packages:      []material{program},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", itself}},
	}
	add := func(m material) {
		d.Packages = append(d.Packages, m)
		d.Relationships = append(d.Relationships, relationship{itself, "DEPENDS_ON", m.ID})
	}
	standard := newMaterial("SPDXRef-go", "stdlib", strings.TrimPrefix(b.info.GoVersion, "go"))
	standard.Declared = "BSD-3-Clause"
	add(standard)
	for i, m := range b.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := newMaterial(fmt.Sprintf("SPDXRef-module-%d", i+1), m.Path, m.Version)
		p.Comment = m.Sum
		add(p)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

func newMaterial(id, path, version string) material {
	// A purl has lower-case names; the type golang has no others.
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return material{
		Name: path, ID: id, Version: version, Purpose: "LIBRARY", Location: unsaid, Concluded: unsaid, Declared: unsaid, Copyright: unsaid,
		References: []reference{{"PACKAGE-MANAGER", "purl", purl}},
	}
}
