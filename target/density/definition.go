package density

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// RealsDefinition registers targets over real vectors that a configuration describes.
var RealsDefinition = definition(&origin{name: "reals"}, "a target of one's own over real vectors: an expression, or a program", ring, realsPreset)

// MixedDefinition registers targets over a mode beside a vector that a configuration
// describes.
var MixedDefinition = definition(&origin{name: "mixed"}, "a target of one's own over a mode and a vector: an expression, or a program", wells, mixedPreset)

// Hints say where a target's weight is. The presets find a center and scale that are left out.
type Hints struct {
	Center, Scale []float64    // for each coordinate, or one number for all
	Support       [][2]float64 // a pair for each coordinate or one for all, infinite where there is no bound
}

// MixedHints are Hints for each mode. All modes have the same support.
type MixedHints struct {
	Center, Scale [][]float64
	Support       [][2]float64
}

// Reals makes a system of a target over real vectors, for cmd.Main or
// catalogue.Systems.
func Reals(name, summary string, t vectors.Target, hints ...Hints) engine.Definition {
	return definition(&origin{name: name, target: t}, summary, func() RealsTarget {
		c := RealsTarget{TargetConfig: newTarget("go", t.Dim()), Center: []float64{}, Scale: []float64{}, Shear: [][]float64{}}
		for _, h := range hints {
			c.Center, c.Scale, c.Support = append(c.Center, h.Center...), append(c.Scale, h.Scale...), append(c.Support, pairs(h.Support)...)
		}
		return c
	}, realsPreset)
}

// Mixed makes a system of a target over a mode beside a vector, for cmd.Main or
// catalogue.Systems.
func Mixed(name, summary string, t vectors.Modal, hints ...MixedHints) engine.Definition {
	return definition(&origin{name: name, target: t}, summary, func() MixedTarget {
		c := MixedTarget{TargetConfig: newTarget("go", t.Dim()), Modes: t.Modes(), Center: [][]float64{}, Scale: [][]float64{}, Shear: [][][]float64{}}
		for _, h := range hints {
			c.Center, c.Scale, c.Support = append(c.Center, h.Center...), append(c.Scale, h.Scale...), append(c.Support, pairs(h.Support)...)
		}
		return c
	}, mixedPreset)
}

// newTarget returns a target's configuration with a kind, a number of coordinates and defaults.
func newTarget(kind string, dim int) TargetConfig {
	return TargetConfig{Kind: kind, Dim: dim, TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{}, Link: "probit"}
}

// pairs returns bounds in the form of a configuration, where nil stands for infinity.
func pairs(support [][2]float64) (bounds [][2]*float64) {
	for _, pair := range support {
		var p [2]*float64
		for i, v := range pair {
			if !math.IsInf(v, 0) {
				p[i] = &v
			}
		}
		bounds = append(bounds, p)
	}
	return bounds
}

// definition registers a system whose configurations preset makes.
func definition[T any, C interface {
	engine.Config
	problem(threads int) (*problem, error)
}](from *origin, summary string, target func() T, preset func(from *origin, target T, name string) C) engine.Definition {
	return engine.Definition{
		Name: from.name, Summary: summary, Presets: Presets,
		Preset: func(name string) (engine.Config, error) {
			if err := conf.OneOf("preset", name, Presets); err != nil {
				return nil, err
			}
			return preset(from, target(), name), nil
		},
		Verify: func(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
			return verify(ctx, preset(from, target(), Presets[0]).problem, workers, emit)
		},
	}
}
