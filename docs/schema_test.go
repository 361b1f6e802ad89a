package docs_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
)

// TestSchema holds presets and what differs from them against the schema, by
// another program's reading of it.
func TestSchema(t *testing.T) {
	long.SkipShort(t)
	program := build(t)
	systems := root.Systems()
	for i := range systems {
		def := &systems[i]
		out, err := exec.Command(program, "config", "schema", def.Name).Output()
		require.NoError(t, err)
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
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
			continue // whose states have no distances in space
		}
		require.Error(t, valid(`{"loss": {"kind": "kfd", "kernel": {"bandwidths": [1]}}}`))
		require.NoError(t, valid(`{"loss": {"kind": "mmd", "kernel": {"bandwidths": [1]}}}`))
	}
	require.Error(t, exec.Command(program, "config", "schema", "heisenberg").Run())
}
