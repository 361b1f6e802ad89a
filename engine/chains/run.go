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
	ctx        context.Context
	advance    func(ctx context.Context, steps int) error
	states     func(level int) Observed // the chains of a ladder's level, or of the walk
	swaps      func(level int) (accepted, proposed uint64)
	fallible   engine.Fallible // nil where the system cannot fail
	rankEnds   []int           // where the chains of each rank end; nil where ranks share none
	indices    []int           // of the observables that are kept, among the system's
	observed   []float64       // all observables of a level's chains, [chains][observables]
	stateBytes []byte          // a level's states, nil where they are not kept
	result     Result
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
			r.indices = append(r.indices, j)
			names = append(names, Observable{Name: name})
		}
	}
	if len(names) == 0 {
		return nil, ErrNone
	}
	levels := max(1, len(o.Ladder))
	if err := r.chooseFormat(system, levels); err != nil {
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
		r.advance, r.states, r.swaps = l.Advance, l.Level, l.Swaps
	} else {
		params := make([]float32, system.NumParams()) // chains do not depend on them
		start := observer.Chains
		if o.Start != nil {
			start = o.Start
		}
		w, err := start(params, o.Chains)
		if err != nil {
			return nil, err
		}
		r.advance, r.states = w.Advance, func(int) Observed { return w }
		r.swaps = func(int) (accepted, proposed uint64) { return 0, 0 }
	}
	r.observed = make([]float64, o.Chains*len(all))
	for range levels {
		r.result.Levels = append(r.result.Levels, Level{Observables: slices.Clone(names)})
	}
	return r, nil
}

// allocate makes room for the values of all draws, and for the states of the rank's own chains.
func (r *run) allocate() {
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		l.Values = make([]float64, 0, r.Draws*r.Chains*len(l.Observables))
		if r.result.Format != nil {
			l.States = make([]byte, r.Draws*(r.result.Hi-r.result.Lo)*r.result.Format.RowBytes)
		}
	}
}

// chooseFormat finds the format in which states are kept, and checks that memory suffices.
func (r *run) chooseFormat(system engine.System, levels int) error {
	if r.States == "" {
		return nil
	}
	s, ok := system.(engine.Sampler)
	if !ok {
		return fmt.Errorf("%w that give their states", ErrNone)
	}
	var names []string
	for _, f := range s.Formats() {
		if f.Unrefined {
			continue
		}
		if names = append(names, f.Name); f.Name == r.States {
			r.result.Format = &f
		}
	}
	if r.result.Format == nil {
		return &OptionError{fmt.Errorf("format: %q is not one of %s", r.States, strings.Join(names, ", "))}
	}
	n := float64(levels) * float64(r.Draws) * float64(r.Chains)
	if bytes, limit := n*float64(r.result.Format.RowBytes), memory.Limit(); bytes > 0.5*limit {
		return &OptionError{fmt.Errorf("draws: %.0f states take %.3g GiB, and there are %.3g; take fewer, or a larger spacing", n, bytes/(1<<30), limit/(1<<30))}
	}
	r.stateBytes = make([]byte, r.Chains*r.result.Format.RowBytes)
	return nil
}

// burn takes steps without drawing.
func (r *run) burn(steps int) error {
	r.result.BurnedIn += steps
	return r.advance(r.ctx, steps)
}

// burnIn takes the steps before the first draw, and chooses the spacing if that was left open.
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

// A pilot measures autocorrelation times by stages of draws. Each stage has four times the spacing
// of the one before, until a stage is long against the time that it shows.
const (
	pilotDraws      = 256 // of a stage
	maxPilotTime    = pilotDraws / 16
	maxPilotSpacing = 1 << 8
)

// independentSpacing returns the spacing at which draws are all but independent: where their
// correlation has fallen to e⁻⁴. It takes the correlation at the given spacing for
// ρ = (τ−1)/(τ+1), with τ the integrated autocorrelation time, and lets it decay exponentially.
func independentSpacing(time float64, spacing int) int {
	if time <= 1 {
		return spacing
	}
	return max(1, int(math.Ceil(min(4*float64(spacing)/math.Log((time+1)/(time-1)), MaxSteps))))
}

// pilot sets the spacing by the longest of the observables' autocorrelation times.
func (r *run) pilot() error {
	for spacing := 1; ; spacing *= 4 {
		values := make([][]float64, len(r.result.Levels))
		if err := r.agree(r.pilotStage(values, spacing)); err != nil {
			return err
		}
		for _, v := range values {
			r.gatherValues(v)
		}
		longest := 1.0
		for _, v := range values {
			for _, s := range stat.Columns(v, r.Chains, len(r.indices)) {
				longest = max(longest, s.Time)
			}
		}
		if longest > maxPilotTime && spacing < maxPilotSpacing {
			continue
		}
		if longest > maxPilotTime {
			r.result.Unresolved = int(longest) * spacing
		}
		r.Spacing = independentSpacing(longest, spacing)
		return nil
	}
}

// pilotStage appends the draws of a stage to each level's values.
func (r *run) pilotStage(values [][]float64, spacing int) error {
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
			if values[level], err = r.observe(values[level], r.states(level)); err != nil {
				return err
			}
		}
	}
	return nil
}

// observe appends the kept observables of a level's chains, [chains][indices].
func (r *run) observe(values []float64, w Observed) ([]float64, error) {
	w.ObserveUnweighted(r.observed)
	if r.fallible != nil {
		if err := r.fallible.Err(); err != nil {
			return nil, err
		}
	}
	width := len(r.observed) / r.Chains
	for c := range r.Chains {
		for _, j := range r.indices {
			values = append(values, r.observed[c*width+j])
		}
	}
	return values, nil
}

// draw takes the draws, with their states if these are kept, and counts the swaps among them.
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
			l, w := &levels[k], r.states(k)
			var err error
			if l.Values, err = r.observe(l.Values, w); err != nil {
				return err
			}
			if l.States == nil {
				continue
			}
			if err := w.States(r.stateBytes, r.States); err != nil {
				return err
			}
			row := r.result.Format.RowBytes
			for c := r.result.Lo; c < r.result.Hi; c++ {
				copy(l.States[((c-r.result.Lo)*r.Draws+t)*row:][:row], r.stateBytes[c*row:])
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
		for j, s := range stat.Columns(l.Values, r.Chains, len(r.indices)) {
			l.Observables[j].ChainSummary = s
			l.Observables[j].SecondsPerEffective = r.result.Seconds / s.EffectiveSize
		}
	}
}
