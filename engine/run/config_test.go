package run_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/density"
	"github.com/revgen/revgen/target/graph"
)

// Configurations as former versions have written them, but for small sizes.
const (
	formerTraining = `"training": {"seed": 1, "steps": 0, "batch": 64, "method": "gradient",
		"optimizer": {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-12, "weight_decay": 0},
		"schedule": {"kind": "cosine", "final": 0.001, "warmup": 0}, "clip_norm": 0, "ema": 0, "start": "",
		"checkpoint_every": 200, "log_every": 10}, "evaluation": {"samples": 500, "every": 0}`
	formerPlane = `"target": {"components": [{"weight": 0.6, "mean": [1, 1], "covariance": [[0.5, 0.2], [0.2, 0.5]]},
		{"weight": 0.4, "mean": [-1, -1], "covariance": [[0.5, -0.2], [-0.2, 0.5]]}]}`
	formerMoves = `"transition": {"sigma": [0.3, 1, 2], "steps": 3, "anneal": 0, "anneal_from": 0},
		"generator": {"kind": "realnvp", "depth": 2, "hidden": [8], "slope": 0.01, "gain": 1, "partition": "parity", "clamp": 1}`
	formerBoundary = `"boundary": {"weight": 0, "sharpness": 1, "radius": 5, "center": []}`
	formerWitness  = `"loss": {"kind": "kfd", "witness": {"ridge": 1e-5, "memory": 0.99, "every": 8,
		"features": {"number": 32, "scale": 0.6, "range": 1.5}}, ` + formerBoundary + `}`
	formerKernel    = `"kernel": {"bandwidths": [0.3], "imq": [{"c": 1, "beta": 0.5, "weight": 1}]}, "statistic": "V", "gradient": "surrogate"`
	formerHierarchy = `"transition": {"proposal": "sweep", "steps": 1, "anneal": 0.5, "anneal_from": 0}`
)

// TestFormerConfigurations: what former versions have trained samples again, by a
// configuration of today, which reads back as it is.
func TestFormerConfigurations(t *testing.T) {
	systems := catalogue.Systems{ising.Definition, gmm.Definition, graph.Definition, density.RealsDefinition}
	for name, c := range map[string]struct {
		text, preset, kind string
		partners           any
	}{
		"a mixture by its divergence": {`{"schema": 2, "system": "reals", "preset": "best", ` + formerTraining + `,
			"transition": {"sigma": [0.14, 0.36, 0.86], "steps": 20, "anneal": 0, "anneal_from": 1},
			"generator": {"kind": "mixture", "base": "joint", "components": 3, "bent": false, "scout": {"population": 64, "moves": 2},
				"depth": 0, "hidden": [32, 32], "slope": 0.01, "gain": 0.01, "partition": "parity", "clamp": 2},
			"loss": {"kind": "divergence", "forward": 0},
			"target": {"kind": "expression", "dim": 2, "expression": "-(sqrt(sum(x^2)) - radius)^2/(2*width^2)",
				"parameters": {"radius": 2, "width": 0.4}, "support": [], "center": [], "scale": [1]}}`, "best", "balance", 1.0},
		"a flow by a witness": {`{"schema": 2, "system": "gmm", "preset": "moves", ` + formerTraining + `, ` + formerMoves + `, ` + formerWitness + `, ` + formerPlane + `}`, "best", "mmd", nil},
		"a flow by stationarity": {`{"schema": 2, "system": "gmm", "preset": "paper", ` + formerTraining + `, ` + formerMoves + `,
			"loss": {"kind": "stationarity", ` + formerKernel + `, "density_weight": 0.002, ` + formerBoundary + `}, ` + formerPlane + `}`, "paper", "mmd", nil},
		"a target of one's own by moves": {`{"schema": 2, "system": "reals", "preset": "moves", ` + formerTraining + `, ` + formerMoves + `, ` + formerWitness + `,
			"target": {"kind": "expression", "dim": 2, "expression": "-sum(x^2)/2", "parameters": {}, "support": [], "center": [], "scale": [1]}}`, "best", "mmd", nil},
		"the paper's": {`{"schema": 2, "system": "gmm", "preset": "paper", ` + formerTraining + `, ` + formerMoves + `,
			"loss": {"kind": "mmd", ` + formerKernel + `, ` + formerBoundary + `}, ` + formerPlane + `}`, "paper", "mmd", nil},
		"a glass with samples of its own energies": {`{"schema": 2, "system": "spins", "preset": "best", ` + formerTraining + `, ` + formerHierarchy + `,
			"generator": {"kind": "hierarchy", "neighbours": 24, "inputs": "reached", "units": 4}, "loss": {"kind": "divergence", "forward": 0.2},
			"target": {"beta": 1, "spins": 3, "edges": [[0, 1, -1], [1, 2, 1]], "fields": null, "offset": 0, "labels": null}}`, "best", "balance", 1.0},
		"a lattice": {`{"schema": 2, "system": "ising", "preset": "best", ` + formerTraining + `, ` + formerHierarchy + `,
			"generator": {"kind": "hierarchy", "neighbours": 24, "units": 6, "from": "scratch"}, "loss": {"kind": "divergence", "forward": 0},
			"target": {"l": 3, "beta": 0.2, "j": 1, "h": 0}}`, "best", "balance", 1.0},
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, json.Valid([]byte(c.text)), c.text)
			cfg, err := run.DecodeConfig(systems, []byte(c.text), "model.rvg")
			require.NoError(t, err)
			require.Equal(t, c.preset, cfg.Shared().Preset)
			text, err := catalogue.EncodeConfig(cfg)
			require.NoError(t, err)
			var now struct {
				Loss map[string]any `json:"loss"`
			}
			require.NoError(t, json.Unmarshal(text, &now))
			require.Equal(t, c.kind, now.Loss["kind"])
			require.Equal(t, c.partners, now.Loss["partners"])
			again, err := run.DecodeConfig(systems, text, "model.rvg")
			require.NoError(t, err)
			require.Equal(t, cfg, again)

			workers := pool.New(1)
			defer workers.Close()
			system, err := cfg.New(workers)
			require.NoError(t, err)
			params := make([]float32, system.NumParams())
			system.Initialize(params)
			sampler := system.(engine.Sampler)
			format := sampler.Formats()[0]
			require.NoError(t, sampler.Sample(make([]byte, 10*format.RowBytes), format.Name, params, 0, 10, 0))
		})
	}
}

// TestModels: a model's file is that which a run leaves, and its hash is one of its
// configuration, however that is spaced, and of its parameters.
func TestModels(t *testing.T) {
	systems := catalogue.Systems{ising.Definition}
	cfg := config(t)
	dir := t.TempDir()
	result, err := train(t, t.Context(), cfg, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	left, read, err := run.Read(systems, dir)
	require.NoError(t, err)
	require.Equal(t, cfg, read)
	model, err := run.NewModel(cfg, result)
	require.NoError(t, err)
	require.Equal(t, left.Hash(), model.Hash())
	path := filepath.Join(dir, "again.rvg")
	require.NoError(t, model.Write(path))
	again, err := run.ReadModel(path)
	require.NoError(t, err)
	require.JSONEq(t, string(left.Config), string(again.Config))
	again.Config = left.Config
	require.Equal(t, left, again)
	require.Equal(t, []any{"ising", 12, run.ActivePath(), result.Params}, []any{model.System, model.Step, model.Path, model.Params})

	var text bytes.Buffer
	require.NoError(t, json.Compact(&text, []byte(`{"a": [1, 2.5e3, 12345678901234567890], "b": "é"}`)))
	text.WriteByte(0)
	params := make([]float32, 3000) // several blocks, the last cut
	for i := range params {
		params[i] = float32(i) / 7
	}
	require.NoError(t, binary.Write(&text, binary.LittleEndian, params))
	want := fmt.Sprintf("sha256:%x", sha256.Sum256(text.Bytes()))
	for _, config := range []string{`{"a":[1,2.5e3,12345678901234567890],"b":"é"}`, "{\n \"b\": \"\\u00e9\",\n \"a\": [1, 2.5e3, 12345678901234567890]}"} {
		m := run.Model{Config: json.RawMessage(config), Params: params}
		require.Equal(t, want, m.Hash())
	}
	require.Equal(t, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("{\x00"))), (&run.Model{Config: json.RawMessage("{")}).Hash(), "as it is")

	_, _, err = run.Read(systems, filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, _, err = run.Read(catalogue.Systems{gmm.Definition}, path)
	require.ErrorContains(t, err, path+": its configuration")
	cfg.Training.LogEvery = 0
	invalid, err := catalogue.EncodeConfig(cfg)
	require.NoError(t, err)
	_, err = run.DecodeConfig(systems, invalid, "f")
	require.ErrorContains(t, err, "f: its configuration: training.log_every: ")
}
