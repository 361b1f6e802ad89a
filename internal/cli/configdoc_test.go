package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

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

// TestSchema holds presets and what differs from them against the schema, by
// another program's reading of it.
func TestSchema(t *testing.T) {
	dir := t.TempDir()
	for i := range systems {
		def := &systems[i]
		o := revgen(t, dir, "config", "schema", def.Name)
		require.Zero(t, o.code, o.stderr)
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(o.stdout))
		require.NoError(t, err)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource("schema.json", parsed))
		schema, err := compiler.Compile("schema.json")
		require.NoError(t, err)
		valid := func(text string) error {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			require.NoError(t, err)
			return schema.Validate(v)
		}
		for _, preset := range def.Presets {
			cfg, err := def.Preset(preset)
			require.NoError(t, err)
			text, err := conf.Encode(cfg)
			require.NoError(t, err)
			require.NoError(t, valid(string(text)), "%s %s", def.Name, preset)
		}
		require.NoError(t, valid(`{"training": {"steps": 5}}`), "what is missing comes from the preset")
		require.Error(t, valid(`{"training": {"stpes": 5}}`))
		require.Error(t, valid(`{"training": {"steps": "5"}}`))
		require.Error(t, valid(`{"training": {"method": "gradient", "evolution": {"pairs": 3}}}`), "a key of another choice")
		for kind, loss := range map[string]string{"hierarchy": "mmd", "perceptron": "divergence", "mixture": "mmd", "residual": "balance"} {
			require.Error(t, valid(`{"generator": {"kind": "`+kind+`"}, "loss": {"kind": "`+loss+`"}}`), "what does not go together, or is not there")
		}
		if def.Name == "spins" {
			require.NoError(t, valid(`{"target": {"spins": 2, "edges": [[0, 1, 1.5]]}}`))
		}
		if def.Name == "spins" || def.Name == "ising" || def.Name == "potts" {
			continue // their loss is the divergence
		}
		require.Error(t, valid(`{"loss": {"kind": "kfd", "kernel": {"bandwidths": [1]}}}`))
		require.NoError(t, valid(`{"loss": {"kind": "mmd", "kernel": {"bandwidths": [1]}}}`))
	}
	require.Equal(t, exitUsage, revgen(t, dir, "config", "schema", "heisenberg").code)
}
