package run

import (
	"bytes"
	"encoding/json"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
)

// Hash names a model by what its samples are made of: the configuration, which has the
// target, and the parameters, if there are any.
func (m *Model) Hash() string {
	text := []byte(m.Config)
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 would take seeds above 2⁵³ for their neighbours
	if d.Decode(&v) == nil {
		text, _ = json.Marshal(v) // the same from a file, which has other spaces and escapes
	}
	return hashOf(append(bytes.Clone(text), 0), m.Params)
}

// Write writes a model file, as a run leaves it in its directory.
func (m *Model) Write(path string) error {
	h := header{Kind: "model", System: m.System, Step: m.Step, Path: m.Path, Config: m.Config}
	return writeFile(path, h, []engine.Section{{Name: "params", Float32: m.Params}})
}

// NewModel returns the model that a result of training under a configuration is.
func NewModel(cfg engine.Config, r *Result) (*Model, error) {
	text, err := catalogue.EncodeConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Model{System: cfg.Shared().System, Config: text, Params: r.Params, Step: r.Steps, Path: activePath()}, nil
}
