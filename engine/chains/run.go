package chains

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/stat"
)

// A run is chains under way.
type run struct {
	Options
	ctx      context.Context
	advance  func(ctx context.Context, steps int) error
	level    func(level int) Observed // of a ladder, or a walk as its only one
	swaps    func(level int) (accepted, proposed uint64)
	fallible engine.Fallible // or nil
	ends     []int           // of each rank's chains, nil where none are shared
	columns  []int           // of the system's observables, those that are kept
	row      []float64       // of what a level's chains show
	state    []byte          // of a level's chains, if they are kept
	result   Result
}

func newRun(ctx context.Context, system engine.System, o Options) (*run, error) {
	observer, ok := system.(Observer)
	if !ok {
		return nil, ErrNone
	}
	r := &run{Options: o, ctx: ctx}
	r.fallible, _ = system.(engine.Fallible)
	all := observer.Observables()
	var names []Observable
	for j, name := range all {
		if name != engine.LogWeight {
			r.columns = append(r.columns, j)
			names = append(names, Observable{Name: name})
		}
	}
	if len(names) == 0 {
		return nil, ErrNone
	}
	levels := max(1, len(o.Ladder))
	if err := r.keep(system, levels); err != nil {
		return nil, err
	}
	if len(o.Ladder) > 0 {
		tempered, ok := system.(Tempered)
		if !ok {
			return nil, fmt.Errorf("%w at other temperatures than the target's; leave out the ladder", ErrNone)
		}
		l, err := tempered.Ladder(o.Ladder, o.Chains)
		if err != nil {
			return nil, &OptionError{fmt.Errorf("ladder: %w", err)}
		}
		r.advance, r.level, r.swaps = l.Advance, l.Level, l.Swaps
	} else {
		params := make([]float32, system.NumParams()) // on which chains do not depend
		start := observer.Chains
		if o.Start != nil {
			start = o.Start
		}
		w, err := start(params, o.Chains)
		if err != nil {
			return nil, err
		}
		r.advance, r.level = w.Advance, func(int) Observed { return w }
		r.swaps = func(int) (accepted, proposed uint64) { return 0, 0 }
	}
	r.row = make([]float64, o.Chains*len(all))
	for range levels {
		r.result.Levels = append(r.result.Levels, Level{Observables: slices.Clone(names)})
	}
	return r, nil
}

// allocate makes room for the draws, of states for those of the rank's own chains.
func (r *run) allocate() {
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		l.Values = make([]float64, 0, r.Draws*r.Chains*len(l.Observables))
		if r.result.Format != nil {
			l.States = make([]byte, r.Draws*(r.result.Hi-r.result.Lo)*r.result.Format.RowBytes)
		}
	}
}

// keep finds the format of the states that are kept, and whether there is room.
func (r *run) keep(system engine.System, levels int) error {
	if r.States == "" {
		return nil
	}
	s, ok := system.(engine.Sampler)
	if !ok {
		return fmt.Errorf("%w that give their states", ErrNone)
	}
	var known []string
	for _, f := range s.Formats() {
		if f.Unrefined {
			continue
		}
		if known = append(known, f.Name); f.Name == r.States {
			r.result.Format = &f
		}
	}
	if r.result.Format == nil {
		return &OptionError{fmt.Errorf("format: %q is not one of %s", r.States, strings.Join(known, ", "))}
	}
	states := float64(levels) * float64(r.Draws) * float64(r.Chains)
	if bytes, limit := states*float64(r.result.Format.RowBytes), memory.Limit(); bytes > 0.5*limit {
		return &OptionError{fmt.Errorf("draws: %.0f states take %.3g GiB, and there are %.3g; take fewer, or a larger spacing", states, bytes/(1<<30), limit/(1<<30))}
	}
	r.state = make([]byte, r.Chains*r.result.Format.RowBytes)
	return nil
}

// burn takes steps that are no draws.
func (r *run) burn(steps int) error {
	r.result.BurnedIn += steps
	return r.advance(r.ctx, steps)
}

// burnIn takes the steps before the first draw, and chooses what was left open.
func (r *run) burnIn() error {
	if r.BurnIn != HalfBurnIn {
		if err := r.agree(r.burn(r.BurnIn)); err != nil {
			return err
		}
	}
	if r.Spacing == AutoSpacing {
		if err := r.pilot(); err != nil {
			return err
		}
	}
	r.result.Spacing = r.Spacing
	if r.BurnIn == HalfBurnIn {
		return r.agree(r.burn(int(min(float64(r.Draws)*float64(r.Spacing)/2, MaxSteps))))
	}
	return nil
}

// The pilot that measures autocorrelation times: stages of draws, each spaced four times
// as far as the one before, until the time is a fraction of the stage.
const (
	pilotDraws = 256
	longTime   = pilotDraws / 16
	pilotMost  = 1 << 8 // spacing
)

// independent returns the spacing at which draws are all but independent, if those at a
// spacing have an integrated autocorrelation time τ and correlations that decay
// exponentially: where ρ = (τ−1)/(τ+1) has become e⁻⁴, which is after 2τ if that is long.
func independent(time float64, spacing int) int {
	if time <= 1 {
		return spacing
	}
	return max(1, int(math.Ceil(min(4*float64(spacing)/math.Log((time+1)/(time-1)), MaxSteps))))
}

// pilot sets the spacing by the longest of the observables' autocorrelation times.
func (r *run) pilot() error {
	for spacing := 1; ; spacing *= 4 {
		values := make([][]float64, len(r.result.Levels))
		if err := r.agree(r.stage(values, spacing)); err != nil {
			return err
		}
		for _, v := range values {
			r.collectValues(v)
		}
		longest := 1.0
		for _, v := range values {
			for _, s := range stat.Columns(v, r.Chains, len(r.columns)) {
				longest = max(longest, s.Time)
			}
		}
		if longest > longTime && spacing < pilotMost {
			continue
		}
		if longest > longTime {
			r.result.Unresolved = int(longest) * spacing
		}
		r.Spacing = independent(longest, spacing)
		return nil
	}
}

// stage makes the pilot's draws at a spacing.
func (r *run) stage(values [][]float64, spacing int) error {
	// The first half brings the chains nearer to their law.
	if err := r.burn(pilotDraws * spacing); err != nil {
		return err
	}
	for range pilotDraws {
		if err := r.burn(spacing); err != nil {
			return err
		}
		for level := range values {
			var err error
			if values[level], err = r.observe(values[level], r.level(level)); err != nil {
				return err
			}
		}
	}
	return nil
}

// observe appends what a level's chains show.
func (r *run) observe(values []float64, level Observed) ([]float64, error) {
	level.ObserveUnweighted(r.row)
	if r.fallible != nil {
		if err := r.fallible.Err(); err != nil {
			return nil, err
		}
	}
	width := len(r.row) / r.Chains
	for c := range r.Chains {
		for _, j := range r.columns {
			values = append(values, r.row[c*width+j])
		}
	}
	return values, nil
}

// draw makes the draws.
func (r *run) draw(progress func(draws int)) error {
	levels := r.result.Levels
	for k := range levels {
		levels[k].Accepted, levels[k].Proposed = r.swaps(k)
	}
	for t := range r.Draws {
		if err := r.advance(r.ctx, r.Spacing); err != nil {
			return err
		}
		for k := range levels {
			l, level := &levels[k], r.level(k)
			var err error
			if l.Values, err = r.observe(l.Values, level); err != nil {
				return err
			}
			if l.States == nil {
				continue
			}
			if err := level.States(r.state, r.States); err != nil {
				return err
			}
			row := r.result.Format.RowBytes
			for c := r.result.Lo; c < r.result.Hi; c++ {
				copy(l.States[((c-r.result.Lo)*r.Draws+t)*row:][:row], r.state[c*row:])
			}
		}
		if progress != nil {
			progress(t + 1)
		}
	}
	for k := range levels {
		accepted, proposed := r.swaps(k)
		levels[k].Accepted, levels[k].Proposed = accepted-levels[k].Accepted, proposed-levels[k].Proposed
	}
	return nil
}

func (r *run) summarize() {
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		for j, s := range stat.Columns(l.Values, r.Chains, len(r.columns)) {
			l.Observables[j].ChainSummary = s
			l.Observables[j].SecondsPerEffective = r.result.Seconds / s.EffectiveSize
		}
	}
}
