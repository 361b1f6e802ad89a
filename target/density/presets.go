package density

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/target/density/expression"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best"}

// ring is the target of a new configuration: a ring in the plane.
func ring() RealsTarget {
	t := newTarget("expression", 2)
	t.Expression = "-(sqrt(sum(x^2)) - radius)^2/(2*width^2)"
	t.Parameters = map[string]expression.Parameter{"radius": expression.Number(2), "width": expression.Number(0.4)}
	return RealsTarget{TargetConfig: t, Center: []float64{}, Scale: []float64{}, Shear: [][]float64{}}
}

// wells is the target of a new configuration with modes: a pair of wells in each mode.
func wells() MixedTarget {
	t := newTarget("expression", 1)
	t.Expression, t.Parameters = "-(x[0]^2 - mu[k])^2", map[string]expression.Parameter{"mu": expression.Vector(1, 4, 9)}
	return MixedTarget{TargetConfig: t, Modes: 3, Center: [][]float64{}, Scale: [][]float64{}, Shear: [][][]float64{}}
}

// realsPreset returns a fresh copy of a preset of a system over real vectors. quick and best are
// yet to be adapted to the target.
func realsPreset(from *origin, target RealsTarget, name string) *RealsConfig {
	c := &RealsConfig{origin: from, Target: target, Config: vectors.Ours(from.name, name)}
	switch name {
	case "paper":
		c.Config = vectors.Paper(from.name)
	case "quick":
		c.Evaluation.Samples = quickSamples
	}
	c.chooseGenerator()
	return c
}

// chooseGenerator replaces a generator that the number of coordinates does not allow.
func (c *RealsConfig) chooseGenerator() {
	if c.Preset == "paper" && c.Target.Dim < 2 { // couplings need two
		c.Generator.Kind = "residual"
	}
}

// Adapt implements engine.Adapter. It finds where the target's weight is, unless the configuration
// says it. For quick and best it then takes the kit's recipe for the target.
func (c *RealsConfig) Adapt(ctx context.Context) (why string, err error) {
	c.chooseGenerator()
	t := &c.Target
	setWeight := func(found []location) string {
		t.Center, t.Scale = found[0].rounded()
		t.Shear = append(t.Shear, found[0].shear...)
		return fmt.Sprintf("short chains found the probability mass around %s, with scale %s%s", listText(t.Center), listText(t.Scale), found[0].ridgeNote())
	}
	if len(t.Center)+len(t.Scale)+len(t.Shear) > 0 {
		setWeight = nil
	}
	return adapt(ctx, c.Preset, c.problem, &c.failure, &c.Loss.Economy, setWeight, func(ctx context.Context, e *evaluation, quick bool) (string, error) {
		if e == nil {
			c.Flow(c.Target.Dim, quick)
			return "a RealNVP", nil
		}
		return c.Recipe(ctx, realsTarget{e}, vectors.Seen{}, quick)
	})
}

// quick saves evaluations of ln π, since each may be another program's work: a batch serves four
// steps, and training ends at a sufficient effective sample size.
const (
	quickSamples = 20_000 // weights, which determine an effective size to its third digit
	enoughESS    = 0.998
)

// adapt runs a pilot and passes the weight of each mode that it finds to setWeight, unless that is
// nil. For presets that have a recipe, it then calls recipe with the target, or with a nil
// evaluation where the target is too large to look at. It returns what was found and chosen, and
// sets failure to the failure of the target.
func adapt(ctx context.Context, preset string, problemOf func(threads int) (*problem, error), failure *error, economy *vectors.Economy,
	setWeight func([]location) string, recipe func(ctx context.Context, e *evaluation, quick bool) (string, error)) (why string, err error) {
	withProblem := func(use func(p *problem)) {
		if p, err := problemOf(1); err == nil { // or validation says what is wrong
			defer p.Close()
			p.Count(engine.TallyOf(ctx))
			defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
			use(p)
		}
	}
	if setWeight != nil {
		withProblem(func(p *problem) {
			var found []location
			if err = ctx.Err(); err != nil {
				return
			}
			if found, *failure = p.pilot(notes.Unless(ctx, p.Err), preset == "quick" && vectors.Dear(p)); *failure == nil {
				why = setWeight(found)
			}
		})
		if *failure != nil || err != nil {
			return "", ctx.Err()
		}
	}
	withProblem(func(p *problem) {
		switch limit := p.recipeLimit(); {
		case preset != "quick" && preset != "best":
		case limit != "":
			var chosen string
			chosen, err = recipe(ctx, nil, preset == "quick")
			why = join(why, chosen+", because "+limit)
		case ctx.Err() != nil:
			err = ctx.Err()
		default:
			if preset == "quick" {
				economy.Thrift(enoughESS)
			}
			var chosen string
			chosen, err = recipe(notes.Unless(ctx, p.Err), p.evaluation(), preset == "quick")
			if err == nil {
				*failure = p.Err()
				why, err = join(why, chosen), ctx.Err()
			}
		}
	})
	return why, err
}

// Limits of targets that recipes look at: the size of a Gaussian with all its correlations
// grows with the square of the number of coordinates, and the work of a step with the cube.
const (
	maxRecipeDim  = 512                                            // coordinates
	maxRecipeWork = 4 * maxRecipeDim * maxRecipeDim * maxRecipeDim // Σ d³ of all modes
)

// recipeLimit says why the target is too large for a recipe to look at, "" if it is not.
func (p *problem) recipeLimit() string {
	d := p.dim
	switch maxModes := maxRecipeWork / (d * d * d); {
	case d > maxRecipeDim:
		return fmt.Sprintf("a mixture is learned in up to %d coordinates", maxRecipeDim)
	case p.modes > maxModes:
		return fmt.Sprintf("in %d coordinates a mixture is learned of up to %d modes", d, maxModes)
	}
	return ""
}

// join returns one sentence of what was found, which may be empty, and what was chosen.
func join(found, chosen string) string {
	if found == "" {
		return chosen
	}
	return found + "; " + chosen
}

// listText writes some numbers for a message.
func listText(x []float64) string {
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

// mixedPreset returns a fresh copy of a preset of a system with modes. quick and best are yet to
// be adapted to the target.
func mixedPreset(from *origin, target MixedTarget, name string) *MixedConfig {
	c := &MixedConfig{origin: from, Target: target, ModalConfig: vectors.ModalPaper(from.name)}
	if name == "quick" {
		c.Training.Steps, c.Training.Optimizer.LearningRate = 5000, 3e-3
		c.Evaluation.Samples = quickSamples
	}
	c.Preset = name
	return c
}

// Adapt implements engine.Adapter as that of RealsConfig does, for each mode.
func (c *MixedConfig) Adapt(ctx context.Context) (why string, err error) {
	t := &c.Target
	setWeight := func(found []location) string {
		t.Center, t.Scale, t.Shear = nil, nil, t.Shear[:0]
		ridges := false
		for _, f := range found {
			center, scale := f.rounded()
			t.Center, t.Scale, t.Shear = append(t.Center, center), append(t.Scale, scale), append(t.Shear, append([][]float64{}, f.shear...))
			ridges = ridges || f.shear != nil
		}
		if !ridges {
			t.Shear = t.Shear[:0]
		}
		return fmt.Sprintf("short chains found the probability mass of each mode (mode 0 around %s, with scale %s%s)", listText(t.Center[0]), listText(t.Scale[0]), found[0].ridgeNote())
	}
	if len(t.Center)+len(t.Scale)+len(t.Shear) > 0 {
		setWeight = nil
	}
	return adapt(ctx, c.Preset, c.problem, &c.failure, &c.Loss.Economy, setWeight, func(ctx context.Context, e *evaluation, quick bool) (string, error) {
		if e == nil {
			return "the paper's settings", nil
		}
		return c.Recipe(ctx, mixedTarget{realsTarget{e}}, vectors.Seen{}, quick)
	})
}
