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

// ring is the target of a configuration that has none: a ring in the plane.
func ring() RealsTarget {
	t := newTarget("expression", 2)
	t.Expression = "-(sqrt(sum(x^2)) - radius)^2/(2*width^2)"
	t.Parameters = map[string]expression.Parameter{"radius": expression.Number(2), "width": expression.Number(0.4)}
	return RealsTarget{TargetConfig: t, Center: []float64{}, Scale: []float64{}, Shear: [][]float64{}}
}

// wells is the same with modes: a pair of wells in each.
func wells() MixedTarget {
	t := newTarget("expression", 1)
	t.Expression, t.Parameters = "-(x[0]^2 - mu[k])^2", map[string]expression.Parameter{"mu": expression.Vector(1, 4, 9)}
	return MixedTarget{TargetConfig: t, Modes: 3, Center: [][]float64{}, Scale: [][]float64{}, Shear: [][][]float64{}}
}

// realsPreset returns a fresh copy of a preset of a system over real vectors: the
// kit's, and quick and best before they are adapted to a target.
func realsPreset(of *origin, target RealsTarget, name string) *RealsConfig {
	c := &RealsConfig{of: of, Target: target, Config: vectors.Ours(of.name, name)}
	switch name {
	case "paper":
		c.Config = vectors.Paper(of.name)
	case "quick":
		c.Evaluation.Samples = fewSamples
	}
	c.fit()
	return c
}

// fit chooses what the number of coordinates decides.
func (c *RealsConfig) fit() {
	if c.Preset == "paper" && c.Target.Dim < 2 { // couplings need two
		c.Generator.Kind = "residual"
	}
}

// Adapt implements engine.Adapter: where the target's weight is, if that is not said;
// and for quick and best, the kit's recipe for what the target is like there.
func (c *RealsConfig) Adapt(ctx context.Context) (why string, err error) {
	c.fit()
	t := &c.Target
	find := func(found []place) string {
		t.Center, t.Scale = found[0].describe()
		t.Shear = append(t.Shear, found[0].shear...)
		return fmt.Sprintf("short chains found the probability mass around %s, with scale %s%s", list(t.Center), list(t.Scale), found[0].ridge())
	}
	if len(t.Center)+len(t.Scale)+len(t.Shear) > 0 {
		find = nil
	}
	return adapt(ctx, c.Preset, c.problem, &c.verdict, &c.Loss.Economy, find, func(ctx context.Context, e *evaluation, quick bool) (string, error) {
		if e == nil {
			c.Flow(c.Target.Dim, quick)
			return "a RealNVP", nil
		}
		return c.Recipe(ctx, realsTarget{e}, vectors.Seen{}, quick)
	})
}

// quick spends evaluations of ln π by need, since one may be another program's work: a batch
// serves four steps, and training ends when the weights of samples are level. fewSamples
// weights tell an effective size to its third digit.
const (
	fewSamples = 20_000
	level      = 0.998
)

// adapt tells find, unless it is nil, where a pilot finds the weight of each mode, lets
// choose take a recipe for a target that a preset has one for, or one without looking where
// the target is too large, and returns what was found and chosen. The verdict is what the target has failed with.
func adapt(ctx context.Context, preset string, problemOf func(threads int) (*problem, error), verdict *error, economy *vectors.Economy,
	find func([]place) string, choose func(ctx context.Context, e *evaluation, quick bool) (string, error)) (why string, err error) {
	with := func(use func(p *problem)) {
		if p, err := problemOf(1); err == nil { // or validation says what is wrong
			defer p.Close()
			p.Count(engine.TallyOf(ctx))
			defer context.AfterFunc(ctx, func() { p.Interrupt(ctx.Err()) })()
			use(p)
		}
	}
	if find != nil {
		with(func(p *problem) {
			var found []place
			if err = ctx.Err(); err != nil {
				return // without a look
			}
			if found, *verdict = p.pilot(notes.Unless(ctx, p.Err), preset == "quick" && vectors.Dear(p)); *verdict == nil {
				why = find(found)
			}
		})
		if *verdict != nil || err != nil {
			return "", ctx.Err()
		}
	}
	with(func(p *problem) {
		switch limit := p.limit(); {
		case preset != "quick" && preset != "best":
		case limit != "":
			var chosen string
			chosen, err = choose(ctx, nil, preset == "quick")
			why = and(why, chosen+", because "+limit)
		case ctx.Err() != nil:
			err = ctx.Err()
		default:
			if preset == "quick" {
				economy.Thrift(level)
			}
			var chosen string
			chosen, err = choose(notes.Unless(ctx, p.Err), p.evaluation(), preset == "quick")
			if err == nil {
				*verdict = p.Err()
				why, err = and(why, chosen), ctx.Err()
			}
		}
	})
	return why, err
}

// Limits of what recipes look at: the numbers of a Gaussian with all its correlations
// grow with the square of the coordinates, and a step's work for it with the cube.
const (
	mostLooked = 512                                      // coordinates
	mostWork   = 4 * mostLooked * mostLooked * mostLooked // Σ d³ of all modes
)

// limit says why quick and best are for their target as they stand, "" if a recipe is for
// the target.
func (p *problem) limit() string {
	d := p.dim
	switch most := mostWork / (d * d * d); {
	case d > mostLooked:
		return fmt.Sprintf("a mixture is learned in up to %d coordinates", mostLooked)
	case p.modes > most:
		return fmt.Sprintf("in %d coordinates a mixture is learned of up to %d modes", d, most)
	}
	return ""
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

// mixedPreset returns a fresh copy of a preset of a system with modes: the paper's, and
// quick and best before they are adapted to a target.
func mixedPreset(of *origin, target MixedTarget, name string) *MixedConfig {
	c := &MixedConfig{of: of, Target: target, ModalConfig: vectors.ModalPaper(of.name)}
	if name == "quick" {
		c.Training.Steps, c.Training.Optimizer.LearningRate = 5000, 3e-3
		c.Evaluation.Samples = fewSamples
	}
	c.Preset = name
	return c
}

// Adapt implements engine.Adapter: where the target's weight is in each mode, if that
// is not said; and for quick and best, the kit's recipe for what the target is like
// there.
func (c *MixedConfig) Adapt(ctx context.Context) (why string, err error) {
	t := &c.Target
	find := func(found []place) string {
		t.Center, t.Scale, t.Shear = nil, nil, t.Shear[:0]
		ridges := false
		for _, f := range found {
			center, scale := f.describe()
			t.Center, t.Scale, t.Shear = append(t.Center, center), append(t.Scale, scale), append(t.Shear, append([][]float64{}, f.shear...))
			ridges = ridges || f.shear != nil
		}
		if !ridges {
			t.Shear = t.Shear[:0]
		}
		return fmt.Sprintf("short chains found the probability mass of each mode (mode 0 around %s, with scale %s%s)", list(t.Center[0]), list(t.Scale[0]), found[0].ridge())
	}
	if len(t.Center)+len(t.Scale)+len(t.Shear) > 0 {
		find = nil
	}
	return adapt(ctx, c.Preset, c.problem, &c.verdict, &c.Loss.Economy, find, func(ctx context.Context, e *evaluation, quick bool) (string, error) {
		if e == nil {
			return "the paper's settings", nil
		}
		return c.Recipe(ctx, mixedTarget{realsTarget{e}}, vectors.Seen{}, quick)
	})
}
