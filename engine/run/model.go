package run

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
)

// A Model is a trained generator as a file holds it.
type Model struct {
	System string          // name of its system
	Config json.RawMessage // configuration of the run that trained it
	Params []float32       // θ
	Step   int             // steps that trained it
	Path   string          // kernel path that computed it
}

// ReadModel reads a model file, or the model of a run directory.
func ReadModel(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = modelFile(path)
	}
	h, data, err := readFile(path, "model")
	if err != nil {
		return nil, err
	}
	if len(h.Sections) != 1 {
		return nil, fileErrorf(path, "a model has one section, not %d", len(h.Sections))
	}
	m := &Model{System: h.System, Config: h.Config, Step: h.Step, Path: h.Path, Params: make([]float32, h.Sections[0].Len)}
	return m, fill(path, h, data, []engine.Section{{Name: "params", Float32: m.Params}})
}

// Read reads the model of a run directory or a model file with the configuration
// that trained it, of one of the systems.
func Read(s catalogue.Systems, path string) (*Model, engine.Config, error) {
	model, err := ReadModel(path)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := DecodeConfig(s, model.Config, path)
	return model, cfg, err
}

// Hash returns a hash of the configuration, which has the target, and of the parameters. They
// determine the model's samples.
func (m *Model) Hash() string {
	text := []byte(m.Config)
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a float64 would take seeds above 2⁵³ for their neighbours
	if d.Decode(&v) == nil {
		text, _ = json.Marshal(v) // so that spaces and escapes of a file do not count
	}
	return hashOf(append(bytes.Clone(text), 0), m.Params)
}

// Write writes a model file, as a run leaves it in its directory.
func (m *Model) Write(path string) error {
	h := header{Kind: "model", System: m.System, Step: m.Step, Path: m.Path, Config: m.Config}
	return writeFile(path, h, []engine.Section{{Name: "params", Float32: m.Params}})
}

// NewModel returns the model of a run's result; cfg is the run's configuration.
func NewModel(cfg engine.Config, r *Result) (*Model, error) {
	text, err := catalogue.EncodeConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Model{System: cfg.Shared().System, Config: text, Params: r.Params, Step: r.Steps, Path: activePath()}, nil
}
