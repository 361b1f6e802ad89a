package cli

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
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

// configurationPage is docs/configuration.md.
func configurationPage(systems catalogue.Systems) (string, error) {
	doc, err := fieldDoc()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# Configurations

Written from the program's own types and comments; ` + "`revgen config schema SYSTEM`" + ` is
the same as a JSON Schema, and ` + "`revgen config show`" + ` prints a complete configuration.
A key that comes with a choice is there only where that choice is made: given
elsewhere it is refused, and it is not written. Values that go with other choices
alone say so after a semicolon.
`)
	for i := range systems {
		def := &systems[i]
		cfg, err := def.Preset(def.Presets[0])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s. Presets: %s.\n\n| key | value | comes with | meaning |\n|---|---|---|---|\n",
			def.Name, strings.ToUpper(def.Summary[:1])+def.Summary[1:], strings.Join(def.Presets, ", "))
		for _, k := range conf.Describe(cfg) {
			value := k.Type
			if k.Enum != nil {
				value = strings.Join(k.Enum, ", ")
			}
			if k.Only != "" {
				value += "; " + k.Only
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, value, k.When, strings.ReplaceAll(doc(k.Field), "|", `\|`))
		}
	}
	return b.String(), nil
}
