package gmm

import (
	"context"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/lists"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best"}

// Preset returns a new copy of the named configuration: "paper", the paper's settings; "best", the most
// accurate recipe known; or "quick", a recipe that gives a useful sampler within seconds on two cores.
func Preset(name string) (*Config, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &Config{Target: paperTarget(), Config: vectors.Paper("gmm")}
	if name != "paper" {
		c.Config = vectors.Ours("gmm", name)
	}
	if _, err := c.Adapt(context.Background()); err != nil {
		return nil, err
	}
	return c, nil
}

// paperTarget is the mixture of the paper's Section "Continuous Validation".
func paperTarget() TargetConfig {
	return TargetConfig{Components: []Component{
		{Weight: 0.6, Mean: []float64{1, 1}, Covariance: [][]float64{{0.5, 0.2}, {0.2, 0.5}}},
		{Weight: 0.4, Mean: []float64{-1, -1}, Covariance: [][]float64{{0.5, -0.2}, {-0.2, 0.5}}},
	}}
}

// Adapt gives quick and best the recipe for their target.
func (c *Config) Adapt(ctx context.Context) (why string, err error) {
	target, invalid := NewTarget(c.Target)
	if c.Preset != "best" && c.Preset != "quick" || invalid != nil {
		return "", nil
	}
	components := lists.Map(target.components, func(g gaussian) mixture.Component {
		return mixture.Component{Weight: g.Weight, Mean: g.Mean, Factor: g.factor}
	})
	return c.Recipe(ctx, newDensity(target), vectors.Seen{Components: len(components), Width: mixture.Width(components)}, c.Preset == "quick")
}
