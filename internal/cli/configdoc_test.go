package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
)

var update = flag.Bool("update", false, "rewrite configdoc.json and docs/configuration.md")

// comments returns the comments of the struct fields that configurations have.
func comments(t *testing.T) map[string]string {
	wanted, packages := map[string]bool{}, map[string]bool{}
	for i := range systems {
		cfg, err := systems[i].Preset(systems[i].Presets[0])
		require.NoError(t, err)
		for _, k := range conf.Describe(cfg) {
			wanted[k.Field] = true
			at := strings.LastIndex(k.Field, "/")
			packages[k.Field[:at+strings.Index(k.Field[at:], ".")]] = true
		}
	}
	all := map[string]string{}
	for pkg := range packages {
		files, err := filepath.Glob(filepath.Join("..", "..", strings.TrimPrefix(pkg, "github.com/revgen/revgen/"), "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, pkg)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				s, ok := spec.Type.(*ast.StructType)
				if !ok {
					return true
				}
				for _, f := range s.Fields.List {
					text := f.Doc.Text()
					if text == "" {
						text = f.Comment.Text()
					}
					for _, name := range f.Names {
						if key := path.Clean(pkg) + "." + spec.Name.Name + "." + name.Name; wanted[key] && text != "" {
							all[key] = strings.Join(strings.Fields(text), " ")
						}
					}
				}
				return true
			})
		}
	}
	return all
}

// TestConfigurationDocs: what the schema and docs/configuration.md say is what the
// comments in the sources say.
func TestConfigurationDocs(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	all := comments(t)
	for i := range systems {
		cfg, err := systems[i].Preset(systems[i].Presets[0])
		require.NoError(t, err)
		for _, k := range conf.Describe(cfg) {
			require.NotEmpty(t, all[k.Field], "%s: %s has no comment", k.Path, k.Field)
		}
	}
	require.NoError(t, enc.Encode(all))
	page := filepath.Join("..", "..", "docs", "configuration.md")
	if *update {
		require.NoError(t, os.WriteFile("configdoc.json", b.Bytes(), 0o600))
		fieldDocs = b.Bytes()
		text, err := configurationPage(systems)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	}
	require.Equal(t, b.String(), string(fieldDocs), "go test ./internal/cli -run ConfigurationDocs -update writes it")
	want, err := configurationPage(systems)
	require.NoError(t, err)
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "go test ./internal/cli -run ConfigurationDocs -update writes it")
}

// configurationPage is docs/configuration.md: a table for each part of a configuration, where a
// key that several systems have stands once.
func configurationPage(systems catalogue.Systems) (string, error) {
	doc := fieldDoc()
	var b strings.Builder
	b.WriteString(`# Configurations

Written from the program's own types and comments; ` + "`revgen config schema SYSTEM`" + ` prints
one system's keys as a JSON Schema, and ` + "`revgen config show`" + ` a complete configuration.
A key that comes with a choice is there only where that choice is made: given
elsewhere it is refused, and it is not written. Values that go with other choices
alone say so after a semicolon. Where no systems are named, all have the key.

| system | what it is | presets |
|---|---|---|
`)
	type row struct{ key, rest string }
	var parts []string          // in the order of the systems' own keys
	rows := map[string][]row{}  // of a part
	named := map[row][]string{} // the systems that have one
	for i := range systems {
		def := &systems[i]
		cfg, err := def.Preset(def.Presets[0])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", def.Name, def.Summary, strings.Join(def.Presets, ", "))
		for _, k := range conf.Describe(cfg) {
			value := k.Type
			if k.Enum != nil {
				value = strings.Join(k.Enum, ", ")
			}
			if k.Only != "" {
				value += "; " + k.Only
			}
			part, _, nested := strings.Cut(k.Path, ".")
			if !nested {
				part = "system"
			}
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
			r := row{k.Path, fmt.Sprintf("%s | %s | %s", value, k.When, strings.ReplaceAll(doc(k.Field), "|", `\|`))}
			if named[r] == nil { // beside others of its key
				at := len(rows[part])
				for i, other := range rows[part] {
					if other.key == r.key {
						at = i + 1
					}
				}
				rows[part] = slices.Insert(rows[part], at, r)
			}
			named[r] = append(named[r], def.Name)
		}
	}
	for _, part := range parts {
		fmt.Fprintf(&b, "\n## %s\n\n| key | systems | value | comes with | meaning |\n|---|---|---|---|---|\n", part)
		for _, r := range rows[part] {
			of := named[r]
			if len(of) == len(systems) {
				of = nil
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.key, strings.Join(of, ", "), r.rest)
		}
	}
	return b.String(), nil
}
