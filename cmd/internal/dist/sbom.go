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

// An object is one of JSON.
type object = map[string]any

const (
	noAssertion = "NOASSERTION" // licences of modules are in the archive, as their authors wrote them
	programID   = "SPDXRef-revgen"
)

// bill returns the bill of materials in SPDX 2.3, from what the linker wrote into the program: Go,
// and the modules whose packages are in it, with their checksums as in go.sum.
func (b *built) bill() ([]byte, error) {
	sum := sha256.Sum256(b.program)
	program := newMaterial(programID, b.info.Main.Path, b.version)
	program["packageFileName"], program["primaryPackagePurpose"], program["licenseDeclared"] = "revgen", "APPLICATION", "Apache-2.0"
	if b.info.Path == libraryCommand {
		program["packageFileName"], program["primaryPackagePurpose"] = libraryName, "LIBRARY"
	}
	program["checksums"] = []object{{"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sum)}}
	settings := lists.Map(b.info.Settings, func(s debug.BuildSetting) string { return s.Key + "=" + s.Value })
	program["comment"] = "built by " + b.info.GoVersion + " with " + strings.Join(settings, " ")
	standard := newMaterial("SPDXRef-go", "stdlib", strings.TrimPrefix(b.info.GoVersion, "go"))
	standard["licenseDeclared"] = "BSD-3-Clause"
	packages := []object{program, standard}
	for i, m := range b.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := newMaterial(fmt.Sprintf("SPDXRef-module-%d", i+1), m.Path, m.Version)
		p["comment"] = m.Sum
		packages = append(packages, p)
	}
	relationships := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": programID}}
	for _, p := range packages[1:] {
		relationships = append(relationships, object{"spdxElementId": programID, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": p["SPDXID"]})
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": b.name(),
		"documentNamespace": fmt.Sprintf("https://%s/spdx/%s-%x", b.info.Main.Path, url.PathEscape(b.name()), sum),
		"creationInfo":      object{"created": b.date.UTC().Format(time.RFC3339), "creators": []string{"Tool: revgen-dist-" + b.version}},
		"packages":          packages, "relationships": relationships,
	})
	return text.Bytes(), err
}

func newMaterial(id, path, version string) object {
	// A purl has lower-case names; the type golang has no others.
	purl := "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
	return object{
		"name": path, "SPDXID": id, "versionInfo": version, "primaryPackagePurpose": "LIBRARY", "downloadLocation": noAssertion, "filesAnalyzed": false,
		"licenseConcluded": noAssertion, "licenseDeclared": noAssertion, "copyrightText": noAssertion,
		"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}},
	}
}
