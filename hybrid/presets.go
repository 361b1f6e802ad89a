package hybrid

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best"}

// Preset returns a new copy of the named configuration: "paper", the paper's settings; "best", the most
// accurate recipe known; or "quick", a recipe that gives a useful sampler within seconds on two cores.
func Preset(name string) (*Config, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &Config{Target: TargetConfig{Mu: []float64{1, 9, 25}}, ModalConfig: vectors.ModalPaper("hybrid")}
	c.Preset = name
	if _, err := c.Adapt(context.Background()); err != nil {
		return nil, err
	}
	return c, nil
}

// Adapt gives quick and best the recipe for their target.
func (c *Config) Adapt(ctx context.Context) (why string, err error) {
	target, invalid := NewTarget(c.Target.Mu)
	if c.Preset != "best" && c.Preset != "quick" || invalid != nil {
		return "", nil
	}
	var width float64 // mean over modes of about the standard deviation of x in one well
	for k := range target.Modes() {
		width += 1 / math.Sqrt(8*target.Well(k).Mu()+4) / float64(target.Modes())
	}
	return c.Recipe(ctx, newDensity(target), vectors.Seen{Components: 8, Width: width}, c.Preset == "quick")
}
