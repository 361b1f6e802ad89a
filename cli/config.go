package cli

import (
	"github.com/spf13/cobra"

	"github.com/revgen/revgen/internal/conf"
)

// configCommand shows what a run would take, without taking it.
func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Configurations, resolved without a run"}
	var s source
	show := &cobra.Command{
		Use:   "show [SYSTEM|FILE.json]",
		Short: "Print the configuration that train would take",
		Long: `Print the configuration that train would take: the preset's recipe for the
target, with all that a file and assignments set. It is complete, valid, and what
config.json of the run would hold.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				s.name = args[0]
			}
			cfg, err := s.load(p.beginning(), p.systems)
			if err != nil {
				return err
			}
			p.describeTarget(cfg)
			if cfg.why != "" {
				p.say("%s preset for this target: %s", cfg.Shared().Preset, cfg.why)
			}
			text, err := conf.Encode(cfg.Config)
			if err != nil {
				return err
			}
			_, err = p.stdout.Write(text)
			return err
		},
	}
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
			text, err := configurationSchema(def)
			if err != nil {
				return err
			}
			_, err = p.stdout.Write(text)
			return err
		},
	}
	cmd.AddCommand(show, schema)
	return cmd
}
