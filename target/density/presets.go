package density

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/mixed"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/target/density/expression"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best", "moves"}

// ring is the target of a configuration that has none: a ring in the plane.
func ring() RealsTarget {
	return RealsTarget{TargetConfig: TargetConfig{
		Kind: "expression", Dim: 2, Expression: "-(sqrt(sum(x^2)) - radius)^2/(2*width^2)",
		Parameters:     map[string]expression.Parameter{"radius": expression.Number(2), "width": expression.Number(0.4)},
		TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{},
	}, Center: []float64{}, Scale: []float64{}}
}

// wells is the same with modes: a pair of wells in each.
func wells() MixedTarget {
	return MixedTarget{TargetConfig: TargetConfig{
		Kind: "expression", Dim: 1, Expression: "-(x[0]^2 - mu[k])^2",
		Parameters:     map[string]expression.Parameter{"mu": expression.Vector(1, 4, 9)},
		TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{},
	}, Modes: 3, Center: [][]float64{}, Scale: [][]float64{}}
}

// realsPreset returns a fresh copy of a preset of a system over real vectors: the
// kit's, and quick and best, before they are adapted to a target, from moves too.
func realsPreset(of *origin, target RealsTarget, name string) (*RealsConfig, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &RealsConfig{of: of, Target: target, Config: reals.Moves(of.name)}
	switch name {
	case "quick":
		c.Training.Steps, c.Training.EMA = 3000, 0.998
		c.Training.Optimizer.LearningRate = 1e-3
	case "paper":
		c.Config = reals.Paper(of.name)
	}
	c.Preset = name
	c.fit()
	return c, nil
}

// fit chooses what the number of coordinates decides.
func (c *RealsConfig) fit() {
	d := float64(c.Target.Dim)
	if d < 2 { // couplings need two
		c.Generator.Kind = "residual"
	}
	if c.Preset == "paper" || d <= 2 {
		return
	}
	// Steps that are accepted as often, and features that see as far, as in the plane.
	ratio := math.Sqrt(2 / d)
	c.Transition.Sigma = []float64{number.Rounded(0.3*ratio, 3), number.Rounded(ratio, 3), number.Rounded(2*ratio, 3)}
	c.Loss.Witness.Features.Scale = number.Rounded(0.6*ratio, 3)
}

// Adapt implements engine.Adapter: where the target's weight is, if that is not said;
// and for quick and best, the kit's recipe for what the target is like there.
func (c *RealsConfig) Adapt(ctx context.Context) (why string, err error) {
	c.fit()
	if len(c.Target.Center)+len(c.Target.Scale) == 0 {
		if why = c.find(ctx); c.verdict != nil {
			return "", ctx.Err()
		}
	}
	p, err := c.problem(1)
	if err != nil || !p.recipe(c.Preset) {
		return why, nil // validation says what is wrong
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
	chosen, err := c.Recipe(ctx, realsTarget{p.evaluation()}, 0, c.Preset == "quick")
	if err != nil {
		return "", err
	}
	c.verdict = p.Err()
	return and(why, chosen), ctx.Err()
}

// find sets centre and scale of the target by a pilot, and returns what they are.
func (c *RealsConfig) find(ctx context.Context) (why string) {
	p, err := c.problem(1)
	if err != nil {
		return ""
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
	found, err := p.pilot()
	if c.verdict = err; err != nil {
		return ""
	}
	c.Target.Center, c.Target.Scale = found[0].describe()
	return fmt.Sprintf("short chains found the weight about %s with a scale of %s", list(c.Target.Center), list(c.Target.Scale))
}

// Limits of what recipes look at: the numbers of Gaussians with all their correlations
// grow with the square of the coordinates, and each mode is looked at by itself.
const (
	mostLooked      = 64 // coordinates without modes
	mostLookedModes = 16 // modes, and coordinates with them
)

// recipe reports whether a preset is one for its target rather than as it stands.
func (p *problem) recipe(preset string) bool {
	if preset != "quick" && preset != "best" {
		return false
	}
	if p.modes > 0 {
		return p.modes <= mostLookedModes && p.dim <= mostLookedModes
	}
	return p.dim <= mostLooked
}

// and joins what was found and what was chosen.
func and(found, chosen string) string {
	if found == "" {
		return chosen
	}
	return found + "; " + chosen
}

// list writes some numbers.
func list(x []float64) string {
	const shown = 4
	switch {
	case len(x) == 0:
		return "0"
	case len(x) == 1:
		return fmt.Sprint(x[0])
	case len(x) > shown:
		return fmt.Sprintf("%v … %d numbers", x[:shown], len(x))
	}
	return fmt.Sprint(x)
}

// mixedPreset returns a fresh copy of a preset of a system with modes: the kit's, and
// quick and best, before they are adapted to a target, from moves too.
func mixedPreset(of *origin, target MixedTarget, name string) (*MixedConfig, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &MixedConfig{of: of, Target: target, Config: mixed.Moves(of.name)}
	c.Training.ClipNorm, c.Training.Schedule.Final, c.Generator.Gain = 0, 0, 10
	switch name {
	case "quick":
		c.Training.Steps, c.Training.EMA = 5000, 0.998
		c.Training.Optimizer.LearningRate = 3e-3
		c.Loss.Kernel.Bandwidths = []float64{3}
	case "paper":
		c.Config = mixed.Paper(of.name)
	}
	c.Preset = name
	return c, nil
}

// Adapt implements engine.Adapter: where the target's weight is in each mode, if that
// is not said; and for quick and best, the kit's recipe for what the target is like
// there.
func (c *MixedConfig) Adapt(ctx context.Context) (why string, err error) {
	if len(c.Target.Center)+len(c.Target.Scale) == 0 {
		if why = c.find(ctx); c.verdict != nil {
			return "", ctx.Err()
		}
	}
	p, err := c.problem(1)
	if err != nil || !p.recipe(c.Preset) {
		return why, nil // validation says what is wrong
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
	chosen, err := c.Recipe(ctx, mixedTarget{p.evaluation()}, mixed.Seen{}, c.Preset == "quick")
	if err != nil {
		return "", err
	}
	c.verdict = p.Err()
	return and(why, chosen), ctx.Err()
}

// find sets centre and scale of each mode by a pilot, and returns what the first are.
func (c *MixedConfig) find(ctx context.Context) (why string) {
	p, err := c.problem(1)
	if err != nil {
		return ""
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
	found, err := p.pilot()
	if c.verdict = err; err != nil {
		return ""
	}
	c.Target.Center, c.Target.Scale = nil, nil
	for _, f := range found {
		center, scale := f.describe()
		c.Target.Center, c.Target.Scale = append(c.Target.Center, center), append(c.Target.Scale, scale)
	}
	return fmt.Sprintf("short chains found the weight of mode 0 about %s with a scale of %s, and of the others likewise", list(c.Target.Center[0]), list(c.Target.Scale[0]))
}
