package cli

import (
	_ "embed"
	"encoding/json"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
)

// fieldDocs are the comments of the fields of configurations, by
// PACKAGE.Type.Field. TestConfigurationDocs writes them.
//
//go:embed configdoc.json
var fieldDocs []byte

func fieldDoc() (func(field string) string, error) {
	var all map[string]string
	if err := json.Unmarshal(fieldDocs, &all); err != nil {
		return nil, err
	}
	return func(field string) string { return all[field] }, nil
}

// configurationSchema returns the JSON Schema of a system's configuration.
func configurationSchema(def *engine.Definition) ([]byte, error) {
	cfg, err := def.Preset(def.Presets[0])
	if err != nil {
		return nil, err
	}
	doc, err := fieldDoc()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(conf.Schema(cfg, def.Name+": "+def.Summary, doc), "", "  ")
	return append(text, '\n'), err
}
