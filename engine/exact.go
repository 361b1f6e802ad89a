package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
)

// Weighted is the name of the format of samples with their weights, which a Sampler
// has whose generator's density q is known: what the default format holds of a sample,
// and after it ln w = ln π − ln q as a little-endian float64.
const Weighted = "weighted"

// noDensity is why there is no such format.
const noDensity = "the density of this generator is not known, and so neither are the weights of its samples; the presets quick and best train generators with a density, of lattices from 4×4 on"

// Every chain of an Exact stream takes ExactBurnIn proposals that give no draw, and
// ExactDraws that give one each.
const (
	ExactBurnIn = 1 << 12
	ExactDraws  = 1<<16 - ExactBurnIn
)

// An Exact is the stream of asymptotically exact draws that belongs to a generator
// with a density and a seed: independence Metropolis, whose proposals are the samples
// of the Stream. Chain c begins at sample c·(ExactBurnIn + ExactDraws), goes to each
// of the samples after it with the probability min(1, w′/w) of their weights
// w = π/q, and after ExactBurnIn of them gives draw c·ExactDraws and those after it.
// Draw i thus depends on the generator, the seed and i alone. Draws of one chain are
// in order and not independent: a sample that is not accepted repeats the one before.
// Chains are independent of each other.
type Exact struct {
	stream           *Stream
	format, weighted Format

	next  uint64  // number of the next proposal
	state []byte  // where the chain is, in the default format
	log   float64 // its ln w
	stay  uint64  // draws since it came there

	proposals []byte // of a part, with weights
	states    []byte // a part's draws in the default format, where that is not the draws' own
	convert   Scorer // from there
	words     []uint32
	inverted  bool // a test's mistake

	seen                     []float64 // R of the first proposals
	draws, squares           float64   // of the runs of equal draws that ended
	longest, proposed, taken uint64
}

// Exact returns the stream of exact draws in a format of Formats.
func (s *Stream) Exact(f Format) (*Exact, error) {
	weighted, err := s.Format(Weighted)
	if err != nil {
		return nil, errors.New("exact: " + noDensity)
	}
	if f.Unrefined {
		return nil, fmt.Errorf("format: exact draws have no weights; take another format than %s", f.Name)
	}
	whole := s.Formats()[0]
	if weighted.RowBytes != whole.RowBytes+8 {
		panic(fmt.Sprintf("a row of %d bytes has not the weight of one of %d", weighted.RowBytes, whole.RowBytes))
	}
	rows := s.partRows(weighted)
	e := &Exact{stream: s, format: f, weighted: weighted, state: make([]byte, whole.RowBytes), proposals: make([]byte, rows*weighted.RowBytes), words: make([]uint32, 4*rows)}
	if f.Name != whole.Name {
		var ok bool
		if e.convert, ok = s.sampler.(Scorer); !ok {
			return nil, fmt.Errorf("format: exact draws of this system are in the format %s", whole.Name)
		}
		e.states = make([]byte, rows*whole.RowBytes)
	}
	return e, nil
}

// Reach reports why draws first … first+n−1 cannot be had.
func (e *Exact) Reach(first, n uint64) error {
	const most = math.MaxUint64 / (ExactBurnIn + ExactDraws) * ExactDraws
	if first > most || n > most-first {
		return fmt.Errorf("number: draws %d and %d after it are beyond any stream", first, n)
	}
	last := first + max(n, 1) - 1
	return e.stream.Reach(last/ExactDraws*(ExactBurnIn+ExactDraws), ExactBurnIn+last%ExactDraws+1, 0)
}

// Write writes draws first … first+n−1 to w, as Stream.Write does samples.
func (e *Exact) Write(ctx context.Context, w io.Writer, first, n uint64, progress func(done uint64)) error {
	if err := e.Reach(first, n); err != nil {
		return err
	}
	return e.stream.write(ctx, w, e.format, n, progress, func(part []byte, done uint64) error {
		return e.Fill(ctx, part, first+done)
	})
}

// Fill sets dst to draws first, first+1, …. Where first does not follow upon the call
// before, the chain of draw first is run from its beginning. When ctx is cancelled it
// returns ctx's error, and dst holds some of the draws.
func (e *Exact) Fill(ctx context.Context, dst []byte, first uint64) error {
	row := e.format.RowBytes
	if err := e.Reach(first, uint64(len(dst)/row)); err != nil {
		return err
	}
	for len(dst) > 0 {
		begin := first / ExactDraws * (ExactBurnIn + ExactDraws)
		want := begin + ExactBurnIn + first%ExactDraws // the proposal that gives draw first
		if e.next < begin || e.next > want {
			e.next = begin
		}
		count := min(want-e.next+uint64(len(dst)/row), begin+ExactBurnIn+ExactDraws-e.next, uint64(len(e.words)/4))
		if err := ctx.Err(); err != nil {
			return err
		}
		written, err := e.advance(ctx, dst, int(count), want)
		if err != nil {
			return err
		}
		dst, first = dst[written*row:], first+uint64(written)
	}
	return nil
}

// advance takes a number of proposals of one chain, and sets dst to the draws that
// those from number want on give.
func (e *Exact) advance(ctx context.Context, dst []byte, count int, want uint64) (written int, err error) {
	s, row, whole := e.stream, e.weighted.RowBytes, len(e.state)
	proposals := e.proposals[:count*row]
	if err := heeded(ctx, s.sampler.Sample(proposals, e.weighted.Name, s.params, e.next, count, 0)); err != nil {
		return 0, err
	}
	draws := dst
	if e.convert != nil {
		draws = e.states
	}
	decisions := rng.Stream(s.seed, rng.SampleAcceptance, 0)
	asm.PhiloxBlocks(e.words[:4*count], &decisions, e.next)
	for i := range count {
		log := math.Float64frombits(binary.LittleEndian.Uint64(proposals[(i+1)*row-8:]))
		if math.IsNaN(log) || math.IsInf(log, 1) {
			return 0, fmt.Errorf("ln w of sample %d of the generator is %v: its density cannot be computed there", e.next, log)
		}
		if len(e.seen) < ExactBurnIn+ExactDraws {
			e.seen = append(e.seen, -log)
		}
		starts := e.next%(ExactBurnIn+ExactDraws) == 0
		accepted := starts || e.accepts(log, float64(e.words[4*i])+0x1p-32*float64(e.words[4*i+1]))
		if accepted {
			e.leave()
			copy(e.state, proposals[i*row:])
			e.log = log
		}
		if e.next >= want {
			if math.IsInf(e.log, -1) {
				return 0, fmt.Errorf("none of the first %d samples of a chain of the generator is where π does not vanish", e.next%(ExactBurnIn+ExactDraws)+1)
			}
			copy(draws[written*whole:][:whole], e.state)
			written++
			e.stay++
			e.proposed++
			if accepted {
				e.taken++
			}
		}
		e.next++
	}
	if e.convert != nil && written > 0 {
		err = e.convert.Convert(dst[:written*e.format.RowBytes], e.format.Name, draws[:written*whole])
	}
	return written, err
}

// accepts decides on a proposal by a uniform number of 2³².
func (e *Exact) accepts(log, uniform float64) bool {
	// +Inf if only the present state has no weight; NaN, which accepts nothing, if neither has any.
	ratio := log - e.log
	if e.inverted {
		ratio = -ratio
	}
	return uniform < 0x1p32*math.Exp(min(0, ratio))
}

// leave ends a run of equal draws.
func (e *Exact) leave() {
	stay := float64(e.stay)
	e.draws += stay
	e.squares += stay * stay
	e.longest = max(e.longest, e.stay)
	e.stay = 0
}

// An Exactness is what is known of the error of exact draws.
type Exactness struct {
	// BurnIn of every Length proposals of a chain give no draw.
	BurnIn int `json:"burn_in"`
	Length int `json:"length"`
	// Acceptance is the fraction of the proposals that were accepted.
	Acceptance float64 `json:"acceptance"`
	// Time is the integrated autocorrelation time 1 + 2Σρ, in draws, of functions
	// that do not follow the weight: ρ at lag t is the probability that t proposals in
	// succession are rejected, and Time is Σℓ²/Σℓ of the lengths ℓ of runs of equal
	// draws. So many draws tell as much as one that is independent.
	Time float64 `json:"autocorrelation_time"`
	// AtLeast says that Time is a lower bound: one run makes more than a tenth of it, so that
	// more draws show longer ones.
	AtLeast bool `json:"autocorrelation_time_at_least,omitempty"`
	// Longest is the longest such run.
	Longest uint64 `json:"longest_run"`
	// Weights are those of the first proposals, up to a chain's.
	Weights measure.Weights `json:"weights"`
	// Bias bounds the total variation of a chain's first draw from the target,
	// (1 − 1/w)^BurnIn with w the largest weight in units of the mean. It is judged by
	// the weights seen.
	Bias float64 `json:"bias"`
	// Warning says why the draws may not be trusted, "" if nothing was seen.
	Warning string `json:"warning,omitempty"`
}

// Exactness sums up the draws so far.
func (e *Exact) Exactness() Exactness {
	x := Exactness{BurnIn: ExactBurnIn, Length: ExactBurnIn + ExactDraws, Longest: max(e.longest, e.stay)}
	stay := float64(e.stay)
	x.Acceptance = float64(e.taken) / float64(max(1, e.proposed))
	x.Time = (e.squares + stay*stay) / max(1, e.draws+stay)
	const part = 0.1
	x.AtLeast = x.Longest > 1 && float64(x.Longest)*float64(x.Longest) > part*(e.squares+stay*stay)
	x.Weights = measure.NewWeights(e.seen)
	x.Bias = math.Exp(ExactBurnIn * math.Log1p(-1/max(1, x.Weights.Largest)))
	const most = 1e-3
	switch {
	case !x.Weights.Trusted():
		x.Warning = x.Weights.Warning
	case x.Bias > most:
		x.Warning = fmt.Sprintf("a proposal has %.3g times the mean weight, for which %d discarded draws are too few: the chains' starts may leave a bias", x.Weights.Largest, ExactBurnIn)
	case x.Longest > ExactBurnIn/8:
		x.Warning = fmt.Sprintf("a chain stayed at one state for %d draws, for which %d discarded ones are few: the chains' starts may leave a bias", x.Longest, ExactBurnIn)
	}
	return x
}
