package engine

import (
	"fmt"
	"reflect"
)

// Write writes a model file, as a run leaves it in its directory.
func (m *Model) Write(path string) error {
	h := header{Kind: "model", System: m.System, Step: m.Step, Path: m.Path, Config: m.Config}
	return writeFile(path, h, []Section{{Name: "params", Float32: m.Params}})
}

// NewModel returns the model that a result of training under a configuration is.
func NewModel(cfg Config, r *Result) (*Model, error) {
	text, err := EncodeConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Model{System: cfg.Shared().System, Config: text, Params: r.Params, Step: r.Steps, Path: activePath()}, nil
}

// Reseeded returns a configuration that differs by its seed alone.
func Reseeded(cfg Config, seed uint64) (Config, error) {
	v := reflect.ValueOf(cfg)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, fmt.Errorf("a configuration is a pointer to a struct, not a %T", cfg)
	}
	copied := reflect.New(v.Elem().Type())
	copied.Elem().Set(v.Elem())
	other := copied.Interface().(Config)
	if other.Shared() == cfg.Shared() {
		return nil, fmt.Errorf("%T: engine.Common is embedded as a pointer; embed it as a value", cfg)
	}
	other.Shared().Training.Seed = seed
	return other, nil
}
