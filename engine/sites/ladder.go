package sites

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
)

// A Ladder is replica exchange of an Ensemble. Each step moves the chains of every level by the
// ensemble's Mixing kernel, swaps neighbouring levels, and stirs.
type Ladder[W uint64 | byte] struct {
	ensemble           *Ensemble[W]
	betas              []float64
	levels             []Level[W]
	observed           []Observed[W] // by level, as they were last read
	energies           [][]float64   // by level and chain
	rows               int           // chains of a piece
	draws              [][]uint32    // by level, for its swaps with the next
	steps              uint32        // taken
	purpose            rng.Purpose   // added to the purposes of all draws
	accepted, proposed []uint64      // swaps of a level with the next
}

// A Level holds the chains of one temperature.
type Level[W uint64 | byte] interface {
	// Advance takes a step with chains lo … hi−1, with the random numbers of samples
	// first+lo, … of the stream, and sets their energies.
	Advance(energies []float64, lo, hi int, c *rng.Counter, first uint64)
	// Exchange swaps chain from + i with that of the other level for each bit i of the mask.
	Exchange(other Level[W], from int, mask uint64)
	// Stir stirs all chains, as States.Stir does.
	Stir(c rng.Counter, first uint64)
	// Read stores the configurations.
	Read(batch []W)
}

// A Holder is a Kernel that keeps the chains of a level in a layout of its own, which is faster.
type Holder[W uint64 | byte] interface {
	Hold(batch []W) Level[W]
}

// A kernelLevel holds the chains of a Kernel that is no Holder.
type kernelLevel[W uint64 | byte] struct {
	ensemble *Ensemble[W]
	kernel   Kernel[W]
	batch    []W
}

func (b *kernelLevel[W]) Advance(energies []float64, lo, hi int, c *rng.Counter, first uint64) {
	var stats bitspin.Count
	b.kernel.Run(nil, b.batch, b.batch, lo, hi, 1, c, first, &stats)
	words := b.ensemble.Words()
	b.ensemble.Energy(energies[lo:hi], b.batch[lo*words:hi*words])
}

func (b *kernelLevel[W]) Exchange(other Level[W], from int, mask uint64) {
	batch, words := other.(*kernelLevel[W]).batch, b.ensemble.Words()
	for ; mask != 0; mask &= mask - 1 {
		i := (from + bits.TrailingZeros64(mask)) * words
		for w := i; w < i+words; w++ {
			b.batch[w], batch[w] = batch[w], b.batch[w]
		}
	}
}

func (b *kernelLevel[W]) Stir(c rng.Counter, first uint64) { b.ensemble.States.Stir(b.batch, c, first) }

func (b *kernelLevel[W]) Read(batch []W) { copy(batch, b.batch) }

// Ladder implements chains.Tempered.
func (e *Ensemble[W]) Ladder(betas []float64, n int) (chains.Ladder, error) {
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	l, err := e.newLadder(betas, n, 0, func(level int, batch []W) { e.States.Disperse(batch, &from, uint64(level*n)) })
	if err != nil {
		return nil, err
	}
	for k := range l.observed {
		l.observed[k].restrictToRank(l.rows)
	}
	return l, nil
}

// newLadder returns a ladder with n chains at each level, whose configurations start sets. Every
// rank has all of the chains.
func (e *Ensemble[W]) newLadder(betas []float64, n int, purpose rng.Purpose, start func(level int, batch []W)) (*Ladder[W], error) {
	l := &Ladder[W]{ensemble: e, betas: betas, purpose: purpose,
		accepted: make([]uint64, len(betas)), proposed: make([]uint64, len(betas))}
	for k, beta := range betas {
		if k > 0 && !(betas[k-1] < beta) {
			return nil, fmt.Errorf("inverse temperature %v comes after %v; they must ascend", beta, betas[k-1])
		}
		kernel, err := e.Mixing(beta)
		if err != nil {
			return nil, fmt.Errorf("inverse temperature %v: %w", beta, err)
		}
		if err := engine.SampleRange(l.firstSample(k, n), e.States.MaxSamples(), uint64(n), 1, kernel.MaxSteps()); err != nil {
			return nil, err
		}
		level := Observed[W]{Batch: make([]W, n*e.Words()), hi: n, ensemble: e}
		start(k, level.Batch)
		if h, ok := kernel.(Holder[W]); ok {
			l.levels, l.rows = append(l.levels, h.Hold(level.Batch)), max(l.rows, kernel.BlockSize())
		} else {
			l.levels, l.rows = append(l.levels, &kernelLevel[W]{e, kernel, level.Batch}), max(l.rows, PieceOf(kernel))
		}
		l.observed, l.energies = append(l.observed, level), append(l.energies, make([]float64, n))
		l.draws = append(l.draws, make([]uint32, 4*rng.Blocks(n)))
	}
	return l, nil
}

// stream returns the draws of a purpose in the step under way.
func (l *Ladder[W]) stream(p rng.Purpose) rng.Counter {
	return rng.Stream(l.ensemble.Seed, p|l.purpose, l.steps)
}

// firstSample returns the sample whose random numbers the first of n chains of a level draws.
func (l *Ladder[W]) firstSample(level, n int) uint64 {
	const block = engine.RefineBlock
	return uint64(level) * uint64((n+block-1)/block*block)
}

// Advance implements chains.Ladder.
func (l *Ladder[W]) Advance(ctx context.Context, steps int) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.steps == math.MaxUint32 {
			return fmt.Errorf("the chains' random numbers have come to their end")
		}
		l.step()
	}
	return nil
}

func (l *Ladder[W]) step() {
	workers, n := l.ensemble.Workers, len(l.energies[0])
	first, end := l.observed[0].Own()
	pieces := (end - first + l.rows - 1) / l.rows
	stream := l.stream(rng.ChainTransition)
	workers.Run(len(l.observed)*pieces, func(piece int) {
		level, lo := piece/pieces, first+piece%pieces*l.rows
		c := stream
		l.levels[level].Advance(l.energies[level], lo, min(end, lo+l.rows), &c, l.firstSample(level, n))
	})
	odd := int(l.steps & 1)
	workers.Run((len(l.observed)-odd)/2, func(pair int) { l.swap(2*pair + odd) })
	l.steps++
	for level := range l.observed {
		l.levels[level].Stir(l.stream(rng.ChainStart), l.firstSample(level, n))
	}
}

// swap swaps chain i of a level with chain i of the next, for each i with probability
// min{1, exp((β − β′)(E − E′))}.
func (l *Ladder[W]) swap(level int) {
	difference, draws := l.betas[level]-l.betas[level+1], l.draws[level]
	c := l.stream(rng.LadderSwap)
	asm.PhiloxBlocks(draws, &c, uint64(level)*uint64(len(draws)/4))
	x, y := l.energies[level], l.energies[level+1]
	lo, hi := l.observed[0].Own()
	for from := lo; from < hi; from += 64 {
		var mask uint64
		for i := from; i < min(hi, from+64); i++ {
			if float64(draws[i])+0.5 < math.Exp(difference*(x[i]-y[i]))*(1<<32) {
				mask |= 1 << (i - from)
				x[i], y[i] = y[i], x[i]
			}
		}
		l.levels[level].Exchange(l.levels[level+1], from, mask)
		l.accepted[level] += uint64(bits.OnesCount64(mask))
	}
	l.proposed[level] += uint64(hi - lo)
}

// Level implements chains.Ladder.
func (l *Ladder[W]) Level(level int) chains.Observed {
	o := &l.observed[level]
	l.levels[level].Read(o.Batch)
	return o
}

// Swaps implements chains.Ladder.
func (l *Ladder[W]) Swaps(level int) (accepted, proposed uint64) {
	return l.accepted[level], l.proposed[level]
}

var _ chains.Tempered = (*Ensemble[byte])(nil)
