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

// noDensity says why a generator has no such format.
const noDensity = "the density of this generator is not known, and so neither are the weights of its samples; the presets quick and best train generators with a density, of lattices from 4×4 on"

// Every chain of an Exact stream takes ExactBurnIn proposals that give no draw, and
// ExactDraws that give one each.
const (
	ExactBurnIn = 1 << 12
	ExactDraws  = 1<<16 - ExactBurnIn

	chainLength = ExactBurnIn + ExactDraws // proposals of a chain
)

// An Exact is the stream of asymptotically exact draws that belongs to a generator
// with a density and a seed: independence Metropolis, whose proposals are the samples
// of the Stream. Chain c begins at sample c·(ExactBurnIn + ExactDraws). It goes to each
// of the samples after it with the probability min(1, w′/w) of their weights
// w = π/q. After ExactBurnIn of them it gives draws c·ExactDraws, c·ExactDraws + 1, ….
// Draw i thus depends on the generator, the seed and i alone. Draws of one chain are
// in order and not independent: if a sample is not accepted, the draw before it is repeated.
// Chains are independent of each other.
type Exact struct {
	stream           *Stream
	format, weighted Format

	next      uint64  // number of the next proposal
	state     []byte  // of the chain, in the default format
	logWeight float64 // ln w of state
	runLength uint64  // draws that gave state so far

	proposals []byte   // of a part, with weights
	states    []byte   // a part's draws in the default format, where that is not the draws' own
	converter Scorer   // from states to the draws' format
	words     []uint32 // random numbers, four a proposal
	inverted  bool     // a test's mistake: accept by w/w′

	firstR                   []float64 // R = −ln w of the first proposals, up to a chain's
	sumRuns, sumSquares      float64   // of the lengths of the runs of equal draws that ended
	longestRun               uint64    // of these
	numProposed, numAccepted uint64    // proposals after burn-in
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
	standard := s.Formats()[0]
	if weighted.RowBytes != standard.RowBytes+8 {
		panic(fmt.Sprintf("a row of %d bytes has not the weight of one of %d", weighted.RowBytes, standard.RowBytes))
	}
	rows := s.partRows(weighted)
	e := &Exact{stream: s, format: f, weighted: weighted, state: make([]byte, standard.RowBytes), proposals: make([]byte, rows*weighted.RowBytes), words: make([]uint32, 4*rows)}
	if f.Name != standard.Name {
		var ok bool
		if e.converter, ok = s.sampler.(Scorer); !ok {
			return nil, fmt.Errorf("format: exact draws of this system are in the format %s", standard.Name)
		}
		e.states = make([]byte, rows*standard.RowBytes)
	}
	return e, nil
}

// Reach returns an error if the stream lacks some of the draws first … first+n−1.
func (e *Exact) Reach(first, n uint64) error {
	const numDraws = math.MaxUint64 / chainLength * ExactDraws // of all chains
	if first > numDraws || n > numDraws-first {
		return fmt.Errorf("number: draws %d and %d after it are beyond any stream", first, n)
	}
	last := first + max(n, 1) - 1
	return e.stream.Reach(last/ExactDraws*chainLength, ExactBurnIn+last%ExactDraws+1, 0)
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
		begin := first / ExactDraws * chainLength
		giving := begin + ExactBurnIn + first%ExactDraws // the proposal that gives draw first
		if e.next < begin || e.next > giving {
			e.next = begin
		}
		count := min(giving-e.next+uint64(len(dst)/row), begin+chainLength-e.next, uint64(len(e.words)/4))
		if err := ctx.Err(); err != nil {
			return err
		}
		written, err := e.advance(ctx, dst, int(count), giving)
		if err != nil {
			return err
		}
		dst, first = dst[written*row:], first+uint64(written)
	}
	return nil
}

// advance makes a number of proposals of one chain. It sets dst to the draws that the
// proposals from number giving on give, and returns how many these are.
func (e *Exact) advance(ctx context.Context, dst []byte, count int, giving uint64) (written int, err error) {
	s, row, stateBytes := e.stream, e.weighted.RowBytes, len(e.state)
	proposals := e.proposals[:count*row]
	if err := contextErrOr(ctx, s.sampler.Sample(proposals, e.weighted.Name, s.params, e.next, count, 0)); err != nil {
		return 0, err
	}
	draws := dst
	if e.converter != nil {
		draws = e.states
	}
	decisions := rng.Stream(s.seed, rng.SampleAcceptance, 0)
	asm.PhiloxBlocks(e.words[:4*count], &decisions, e.next)
	for i := range count {
		logWeight := math.Float64frombits(binary.LittleEndian.Uint64(proposals[(i+1)*row-8:]))
		if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
			return 0, fmt.Errorf("ln w of sample %d of the generator is %v: its density cannot be computed there", e.next, logWeight)
		}
		if len(e.firstR) < chainLength {
			e.firstR = append(e.firstR, -logWeight)
		}
		begins := e.next%chainLength == 0
		accepted := begins || e.accepts(logWeight, float64(e.words[4*i])+0x1p-32*float64(e.words[4*i+1]))
		if accepted {
			e.endRun()
			copy(e.state, proposals[i*row:])
			e.logWeight = logWeight
		}
		if e.next >= giving {
			if math.IsInf(e.logWeight, -1) {
				return 0, fmt.Errorf("none of the first %d samples of a chain of the generator is where π does not vanish", e.next%chainLength+1)
			}
			copy(draws[written*stateBytes:][:stateBytes], e.state)
			written++
			e.runLength++
			e.numProposed++
			if accepted {
				e.numAccepted++
			}
		}
		e.next++
	}
	if e.converter != nil && written > 0 {
		err = e.converter.Convert(dst[:written*e.format.RowBytes], e.format.Name, draws[:written*stateBytes])
	}
	return written, err
}

// accepts decides on a proposal of the given ln w by a number that is uniform in [0, 2³²).
func (e *Exact) accepts(logWeight, uniform float64) bool {
	// +Inf if only the present state has no weight; NaN, which accepts nothing, if neither has any.
	logRatio := logWeight - e.logWeight
	if e.inverted {
		logRatio = -logRatio
	}
	return uniform < 0x1p32*math.Exp(min(0, logRatio))
}

// endRun ends a run of equal draws.
func (e *Exact) endRun() {
	length := float64(e.runLength)
	e.sumRuns += length
	e.sumSquares += length * length
	e.longestRun = max(e.longestRun, e.runLength)
	e.runLength = 0
}

// An Exactness is what is known of the error of exact draws.
type Exactness struct {
	// BurnIn of every Length proposals of a chain give no draw.
	BurnIn int `json:"burn_in"`
	Length int `json:"length"`
	// Acceptance is the fraction of the proposals that were accepted.
	Acceptance float64 `json:"acceptance"`
	// Time is the integrated autocorrelation time 1 + 2Σρ, in draws, of functions
	// that do not depend on the weight: ρ at lag t is the probability that t proposals in
	// succession are rejected, and Time is Σℓ²/Σℓ over the lengths ℓ of the runs of equal
	// draws. Time draws tell as much as one independent sample.
	Time float64 `json:"autocorrelation_time"`
	// AtLeast says that Time is a lower bound: a single run makes more than a tenth of it, so
	// that more draws would show longer runs.
	AtLeast bool `json:"autocorrelation_time_at_least,omitempty"`
	// Longest is the length of the longest run of equal draws.
	Longest uint64 `json:"longest_run"`
	// Weights are those of the first proposals, at most as many as a chain has.
	Weights measure.Weights `json:"weights"`
	// Bias bounds the total variation of a chain's first draw from the target,
	// (1 − 1/w)^BurnIn with w the largest weight in units of the mean, as far as
	// Weights tell.
	Bias float64 `json:"bias"`
	// Warning says why the draws may not be trusted, "" if nothing was seen.
	Warning string `json:"warning,omitempty"`
}

// Exactness sums up the draws so far.
func (e *Exact) Exactness() Exactness {
	x := Exactness{BurnIn: ExactBurnIn, Length: chainLength, Longest: max(e.longestRun, e.runLength)}
	length := float64(e.runLength)
	x.Acceptance = float64(e.numAccepted) / float64(max(1, e.numProposed))
	x.Time = (e.sumSquares + length*length) / max(1, e.sumRuns+length)
	const maxPart, maxBias = 0.1, 1e-3
	x.AtLeast = x.Longest > 1 && float64(x.Longest)*float64(x.Longest) > maxPart*(e.sumSquares+length*length)
	x.Weights = measure.NewWeights(e.firstR)
	x.Bias = math.Exp(ExactBurnIn * math.Log1p(-1/max(1, x.Weights.Largest)))
	switch {
	case !x.Weights.Trusted():
		x.Warning = x.Weights.Warning
	case x.Bias > maxBias:
		x.Warning = fmt.Sprintf("a proposal has %.3g times the mean weight, for which %d discarded draws are too few: the chains' starts may leave a bias", x.Weights.Largest, ExactBurnIn)
	case x.Longest > ExactBurnIn/8:
		x.Warning = fmt.Sprintf("a chain stayed at one state for %d draws, for which %d discarded ones are few: the chains' starts may leave a bias", x.Longest, ExactBurnIn)
	}
	return x
}
