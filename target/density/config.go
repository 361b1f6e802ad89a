package density

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/target/density/expression"
	"github.com/revgen/revgen/target/density/program"
)

// RealsConfig determines a run on a target over real vectors.
type RealsConfig struct {
	vectors.Config
	Target RealsTarget `json:"target"`

	origin  *origin
	failure error // of the target while Adapt looked at it
}

// MixedConfig determines a run on a target over a mode beside a vector.
type MixedConfig struct {
	vectors.ModalConfig
	Target MixedTarget `json:"target"`

	origin  *origin
	failure error // of the target while Adapt looked at it
}

// An origin is where a configuration's system comes from.
type origin struct {
	name   string
	target vectors.Target // nil unless the target is written in Go
}

// TargetConfig says how ln π is computed.
type TargetConfig struct {
	// Kind is "expression", a formula of the state; "program", another program; or
	// "go", code that this program was built with and that no configuration can
	// choose.
	Kind string `json:"kind" enum:"expression,program,go"`
	Dim  int    `json:"dim"` // number of coordinates of x
	// Expression is ln π up to a constant, of the vector x, the mode k, and the
	// parameters.
	Expression string `json:"expression" when:"kind=expression"`
	// Parameters are constants of the expression by their names: numbers, vectors,
	// and matrices as lists of rows.
	Parameters map[string]expression.Parameter `json:"parameters" when:"kind=expression"`
	// Command is the program that computes ln π, and its arguments. It runs in the
	// directory in which revgen does, once a thread.
	Command []string `json:"command" when:"kind=program"`
	// TimeoutSeconds is how long an answer about at most 256 states may take.
	TimeoutSeconds float64 `json:"timeout_seconds" when:"kind=program"`
	// Support bounds the coordinates: [low, high] for each, or once for all, null
	// where there is no bound; empty for none. ln π is only asked for inside.
	Support [][2]*float64 `json:"support"`
	// Link maps u on the line to a coordinate between two bounds, low + (high − low)·F(u).
	// F is the normal distribution function for "probit", and 1/(1 + exp(−u)) for "logit",
	// the link of all models that name none.
	Link string `json:"link" enum:"probit,logit"`
}

// RealsTarget is a target over real vectors, with where its weight is.
type RealsTarget struct {
	TargetConfig
	// Center is where the weight is, for each coordinate, or once for all; empty for
	// 0. A coordinate with one bound has the centre of ln |x − bound|, a coordinate
	// with two bounds the centre of u, which Link maps to it.
	Center []float64 `json:"center"`
	// Scale is how far the weight reaches about the centre, a standard deviation say;
	// empty for 1. A preset finds both where neither is set.
	Scale []float64 `json:"scale"`
	// Shear is how coordinates depend on each other on a ridge. It has the rows below the
	// diagonal of L in x = center + L (scale·y), where y is about 1 and L is a lower triangle
	// with ones on its diagonal; empty for none. A preset finds it with center and scale.
	Shear [][]float64 `json:"shear"`
}

// MixedTarget is a target over a mode beside a vector, with where its weight is.
type MixedTarget struct {
	TargetConfig
	Modes int `json:"modes"` // M of the mode k = 0 … M−1
	// Center is where the weight is, for each mode a list as in a target over real
	// vectors; empty for 0. Moves between modes keep the place in units of the scale.
	Center [][]float64 `json:"center"`
	// Scale is how far the weight reaches about the centre, likewise; empty for 1. A
	// preset finds both where neither is set.
	Scale [][]float64 `json:"scale"`
	// Shear is how coordinates depend on each other on a ridge, for each mode as in a target
	// over real vectors; empty for none.
	Shear [][][]float64 `json:"shear"`
}

// Limits of a target.
const (
	maxDim     = 1 << 14
	maxSeconds = 1e6
)

// problem returns the target for a number of threads.
func (t *TargetConfig) problem(modes, threads int, from *origin) (*problem, error) {
	if err := conf.First(conf.OneOf("kind", t.Kind, []string{"expression", "program", "go"}), conf.Between("dim", t.Dim, 1, maxDim)); err != nil {
		return nil, err
	}
	p := &problem{config: t, dim: t.Dim, modes: modes, chart: newChart(t.Dim, max(1, modes))}
	if err := p.chart.setBounds(t.Support, t.Link); err != nil {
		return nil, err
	}
	if inGo := from.target != nil; inGo != (t.Kind == "go") {
		if inGo {
			return nil, fmt.Errorf("kind: %s is a target in Go; leave it at go", from.name)
		}
		return nil, fmt.Errorf("kind: this program was built without a target in Go for %s; take expression or program", from.name)
	}
	switch t.Kind {
	case "expression":
		env := expression.Environment{Dim: t.Dim, Modes: modes, Parameters: t.Parameters}
		for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
			if err := conf.First(env.CheckName(name), t.Parameters[name].Validate()); err != nil {
				return nil, fmt.Errorf("parameters.%s: %w", name, err)
			}
		}
		compiled, err := expression.Compile(t.Expression, env)
		if err != nil {
			return nil, fmt.Errorf("expression: %w", err)
		}
		p.key, p.source = "target.expression", newEvaluators(threads, func() evaluator { return compiled.NewEvaluator().Evaluate })
		p.operations = compiled.Operations()
	case "program":
		if len(t.Command) == 0 || t.Command[0] == "" {
			return nil, fmt.Errorf("command: the list is empty; it is the program and its arguments, [\"python3\", \"target.py\"] say")
		}
		if !(t.TimeoutSeconds > 0 && t.TimeoutSeconds <= maxSeconds) {
			return nil, fmt.Errorf("timeout_seconds: %v is not between 0 and %v", t.TimeoutSeconds, float64(maxSeconds))
		}
		p.key, p.operations = "target.command", programOperations
		p.program = program.New(program.Config{
			Command: slices.Clone(t.Command), Dim: t.Dim, Modes: modes, Processes: threads,
			Timeout: time.Duration(t.TimeoutSeconds * float64(time.Second)),
		})
		p.source = p.program
	default:
		dim, haveModes := from.target.Dim(), 0
		if m, ok := from.target.(vectors.Modal); ok {
			haveModes = m.Modes()
		}
		if dim != t.Dim {
			return nil, fmt.Errorf("dim: %d, and the states of %s have %d coordinates", t.Dim, from.name, dim)
		}
		if haveModes != modes {
			return nil, fmt.Errorf("modes: %d, and %s has %d", modes, from.name, haveModes)
		}
		p.key, p.source = "target", newEvaluators(threads, func() evaluator { return vectors.Evaluator(from.target) })
		if l, ok := from.target.(vectors.Laborious); ok {
			p.operations = l.Operations()
		}
	}
	return p, nil
}

// problem returns the target and its coordinates for a number of threads. Errors
// begin with the path of a value.
func (c *RealsConfig) problem(threads int) (*problem, error) {
	t := &c.Target
	p, err := t.TargetConfig.problem(0, threads, c.origin)
	if err == nil {
		err = p.chart.setHints("", 0, t.Center, t.Scale, t.Shear)
	}
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	p.chart.derive()
	return p, nil
}

// problem returns the target and its coordinates for a number of threads.
func (c *MixedConfig) problem(threads int) (*problem, error) {
	t := &c.Target
	if err := conf.Between("target.modes", t.Modes, 1, vectors.MaxModes); err != nil {
		return nil, err
	}
	p, err := t.TargetConfig.problem(t.Modes, threads, c.origin)
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	for i, n := range []int{len(t.Center), len(t.Scale), len(t.Shear)} {
		if n != 0 && n != t.Modes {
			return nil, fmt.Errorf("target.%s: %d lists for %d modes", []string{"center", "scale", "shear"}[i], n, t.Modes)
		}
	}
	for k := range t.Modes {
		if err := p.chart.setHints(fmt.Sprintf("[%d]", k), k, modeRow(t.Center, k), modeRow(t.Scale, k), modeRow(t.Shear, k)); err != nil {
			return nil, fmt.Errorf("target.%w", err)
		}
	}
	p.chart.derive()
	return p, nil
}

// modeRow returns a mode's row of a list, nil if the list is empty.
func modeRow[T any](list [][]T, mode int) []T {
	if len(list) == 0 {
		return nil
	}
	return list[mode]
}

// Validate reports the first value that cannot be used, by its key.
func (c *RealsConfig) Validate() error {
	p, err := c.problem(1)
	if err := conf.First(c.ValidateNames(c.origin.name, Presets), err, c.failure); err != nil {
		return err
	}
	return c.Config.Validate(p.dim, p.demand(&c.Common))
}

// Demands implements engine.Explainer.
func (c *RealsConfig) Demands() []engine.Demand {
	p, err := c.problem(1)
	if err != nil {
		return nil
	}
	return c.Config.Demands(p.dim, p.demand(&c.Common))
}

// Demands implements engine.Explainer.
func (c *MixedConfig) Demands() []engine.Demand {
	p, err := c.problem(1)
	if err != nil {
		return nil
	}
	return c.ModalConfig.Demands(p.dim, p.modes, p.demand(&c.Common))
}

// demand returns an upper bound of the memory that evaluations take, which the kits do not know.
func (p *problem) demand(c *engine.Common) engine.Demand {
	clones, observed := float64(c.Training.Batch/64+64), float64(observeRows+c.Evaluation.Samples/16)
	return engine.Demand{Key: "training.batch", Bytes: clones*blockRows*(8*float64(p.dim)+24) + observed*8*(3*vectors.ObservedCoordinates+24)}
}

// Validate reports the first value that cannot be used, by its key.
func (c *MixedConfig) Validate() error {
	p, err := c.problem(1)
	if err := conf.First(c.ValidateNames(c.origin.name, Presets), err, c.failure); err != nil {
		return err
	}
	return c.ModalConfig.Validate(p.dim, p.modes, p.demand(&c.Common))
}

// New builds the system.
func (c *RealsConfig) New(workers *pool.Pool) (engine.System, error) {
	p, err := c.problem(workers.Threads())
	if err != nil {
		return nil, err
	}
	s := newSystem(&c.Config, realsTarget{p.evaluation()}, p, workers)
	s.frugal = p.program != nil && c.Preset == "quick"
	return s, nil
}

// New builds the system.
func (c *MixedConfig) New(workers *pool.Pool) (engine.System, error) {
	p, err := c.problem(workers.Threads())
	if err != nil {
		return nil, err
	}
	return newSystem(&c.ModalConfig, mixedTarget{realsTarget{p.evaluation()}}, p, workers), nil
}

// Describe implements engine.Explainer.
func (c *RealsConfig) Describe() string { return c.Target.describe(c.origin.name, 0) }

// Describe implements engine.Explainer.
func (c *MixedConfig) Describe() string { return c.Target.describe(c.origin.name, c.Target.Modes) }

func (t *TargetConfig) describe(name string, modes int) string {
	states := fmt.Sprintf("%d coordinates", t.Dim)
	if modes > 0 {
		states += fmt.Sprintf(" and %d modes", modes)
	}
	switch t.Kind {
	case "expression":
		return fmt.Sprintf("ln π of %s = %s", states, t.Expression)
	case "program":
		return fmt.Sprintf("ln π of %s by the program %s", states, strings.Join(t.Command, " "))
	}
	return fmt.Sprintf("%s, ln π of %s in Go", name, states)
}

var (
	_ engine.Explainer = (*RealsConfig)(nil)
	_ engine.Explainer = (*MixedConfig)(nil)
	_ engine.Adapter   = (*RealsConfig)(nil)
	_ engine.Adapter   = (*MixedConfig)(nil)
)
