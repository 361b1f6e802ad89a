package cli

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/internal/conf"
)

// configCommand shows configurations and their schema.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the configuration of a run without running it"}
	var s source
	var look bool
	show := &cobra.Command{
		Use:   "show [SYSTEM|FILE.json]",
		Short: "Print the configuration that train would take",
		Long: `Print the configuration that train would use: the preset's recipe for the target,
with the settings of a file and of --set. It is complete and valid, and the same as
config.json of the run.

The recipes for reals and mixed take a first look at the target, which may take
minutes. train always looks; this command does so only with --look, and otherwise
prints the settings before the look.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				s.name = args[0]
			}
			if look {
				return p.runInterruptible(func(ctx context.Context) error { return p.showConfig(s.load(ctx, p.systems)) })
			}
			return p.showConfig(s.loadWithoutLook(p.systems))
		},
	}
	show.Flags().BoolVar(&look, "look", false, "let the preset's recipe take its first look at the target")
	show.Flags().StringVarP(&s.preset, "preset", "p", "", "preset of the system (default the first)")
	show.Flags().StringArrayVarP(&s.assignments, "set", "s", nil, "set a value of the configuration, `key.path=value`; may be repeated")
	schema := &cobra.Command{
		Use:   "schema SYSTEM",
		Short: "Print the JSON Schema of a system's configuration",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			def, err := p.systems.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			cfg, err := def.Preset(def.Presets[0])
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(p.stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(conf.Schema(cfg, def.Name+": "+def.Summary, fieldDoc()))
		},
	}
	cmd.AddCommand(show, schema)
	return cmd
}

func (p *program) showConfig(cfg *resolvedConfig, err error) error {
	if err != nil {
		return err
	}
	p.describeTarget(cfg)
	switch {
	case cfg.needsLook:
		p.say("the %s preset has not looked at this target, though its choices depend on such a look; --look takes it", cfg.Shared().Preset)
	case cfg.reason != "":
		p.say("%s preset for this target: %s", cfg.Shared().Preset, cfg.reason)
	}
	text, err := conf.Encode(cfg.Config)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// fieldDocs are the comments of the fields of configurations as JSON, by PACKAGE.Type.Field.
// TestConfigurationDocs writes them.
//
//go:embed configdoc.json
var fieldDocs []byte

// fieldDoc returns what looks a field up in fieldDocs.
func fieldDoc() func(field string) string {
	var docs map[string]string
	if err := json.Unmarshal(fieldDocs, &docs); err != nil {
		panic(err)
	}
	return func(field string) string { return docs[field] }
}
