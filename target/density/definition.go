package density

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// RealsDefinition registers targets over real vectors that a configuration describes.
var RealsDefinition = realsDefinition(&origin{name: "reals"}, "a target of one's own over real vectors: an expression, or a program", ring)

// MixedDefinition registers targets over a mode beside a vector that a configuration
// describes.
var MixedDefinition = mixedDefinition(&origin{name: "mixed"}, "a target of one's own over a mode and a vector: an expression, or a program", wells)

// Hints say where a target's weight is: center and scale for each coordinate, or one
// number for all, and its support, a pair for each or one for all, infinite where there
// is no bound. What is left out, the presets find.
type Hints struct {
	Center, Scale []float64
	Support       [][2]float64
}

// MixedHints are Hints for each mode, with the support of all.
type MixedHints struct {
	Center, Scale [][]float64
	Support       [][2]float64
}

// Reals makes a system of a target over real vectors, for cmd.Main or
// catalogue.Systems.
func Reals(name, summary string, t vectors.Target, hints ...Hints) engine.Definition {
	return realsDefinition(&origin{name: name, target: t}, summary, func() RealsTarget {
		c := RealsTarget{TargetConfig: inGo(t.Dim()), Center: []float64{}, Scale: []float64{}}
		for _, h := range hints {
			c.Center, c.Scale, c.Support = append(c.Center, h.Center...), append(c.Scale, h.Scale...), append(c.Support, pairs(h.Support)...)
		}
		return c
	})
}

// Mixed makes a system of a target over a mode beside a vector, for cmd.Main or
// catalogue.Systems.
func Mixed(name, summary string, t vectors.Modal, hints ...MixedHints) engine.Definition {
	return mixedDefinition(&origin{name: name, target: t}, summary, func() MixedTarget {
		c := MixedTarget{TargetConfig: inGo(t.Dim()), Modes: t.Modes(), Center: [][]float64{}, Scale: [][]float64{}}
		for _, h := range hints {
			c.Center, c.Scale, c.Support = append(c.Center, h.Center...), append(c.Scale, h.Scale...), append(c.Support, pairs(h.Support)...)
		}
		return c
	})
}

func inGo(dim int) TargetConfig {
	return TargetConfig{Kind: "go", Dim: dim, TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{}}
}

// pairs writes bounds as a configuration has them.
func pairs(support [][2]float64) (all [][2]*float64) {
	for _, pair := range support {
		var p [2]*float64
		for i, v := range pair {
			if !math.IsInf(v, 0) {
				p[i] = &v
			}
		}
		all = append(all, p)
	}
	return all
}

func realsDefinition(of *origin, summary string, target func() RealsTarget) engine.Definition {
	return engine.Definition{
		Name: of.name, Summary: summary, Presets: Presets,
		Preset: engine.PresetOf(func(name string) (*RealsConfig, error) { return realsPreset(of, target(), name) }),
		Verify: func(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
			c := &RealsConfig{of: of, Target: target()}
			return verify(ctx, c.problem, &c.Target.TargetConfig, workers, emit)
		},
	}
}

func mixedDefinition(of *origin, summary string, target func() MixedTarget) engine.Definition {
	return engine.Definition{
		Name: of.name, Summary: summary, Presets: Presets,
		Preset: engine.PresetOf(func(name string) (*MixedConfig, error) { return mixedPreset(of, target(), name) }),
		Verify: func(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
			c := &MixedConfig{of: of, Target: target()}
			return verify(ctx, c.problem, &c.Target.TargetConfig, workers, emit)
		},
	}
}
