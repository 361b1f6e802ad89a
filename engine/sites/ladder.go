package sites

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
)

// A Ladder is replica exchange of an Ensemble, by the kernel that is best at each
// inverse temperature; the States stir, too.
type Ladder[W uint64 | byte] struct {
	ensemble *Ensemble[W]
	betas    []float64
	kernels  []Kernel[W]
	levels   []Observed[W]
	energies [][]float64 // by level and chain
	rows     int         // of a piece
	draws    []uint32    // of the swaps of a pair
	calls    uint32
	// Swaps of a level with the next.
	accepted, proposed []uint64
}

// Ladder implements chains.Tempered.
func (e *Ensemble[W]) Ladder(betas []float64, n int) (chains.Ladder, error) {
	l := &Ladder[W]{ensemble: e, betas: betas, draws: make([]uint32, 4*rng.Blocks(n)),
		accepted: make([]uint64, len(betas)), proposed: make([]uint64, len(betas))}
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	for k, beta := range betas {
		if k > 0 && !(betas[k-1] < beta) {
			return nil, fmt.Errorf("inverse temperature %v comes after %v; they must ascend", beta, betas[k-1])
		}
		kernel, err := e.Mixing(beta)
		if err != nil {
			return nil, fmt.Errorf("inverse temperature %v: %w", beta, err)
		}
		if err := engine.SampleRange(l.first(k, n), e.States.MaxSamples(), uint64(n), 1, kernel.MaxSteps()); err != nil {
			return nil, err
		}
		level := Observed[W]{Batch: make([]W, n*e.Words()), hi: n, ensemble: e}
		e.States.Disperse(level.Batch, &from, uint64(k*n))
		l.kernels, l.levels, l.energies = append(l.kernels, kernel), append(l.levels, level), append(l.energies, make([]float64, n))
	}
	for _, k := range l.kernels {
		l.rows = max(l.rows, PieceOf(k))
	}
	for k := range l.levels {
		l.levels[k].share(l.rows)
	}
	return l, nil
}

// first returns the number of the first of n chains of a level among all samples that
// draw from a stream.
func (l *Ladder[W]) first(level, n int) uint64 {
	const together = engine.RefineBlock
	return uint64(level) * uint64((n+together-1)/together*together)
}

// Advance implements chains.Ladder.
func (l *Ladder[W]) Advance(ctx context.Context, steps int) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.calls == math.MaxUint32 {
			return fmt.Errorf("the chains' random numbers have come to their end")
		}
		l.step()
	}
	return nil
}

func (l *Ladder[W]) step() {
	e, words, n := l.ensemble, l.ensemble.Words(), len(l.energies[0])
	first, end := l.Own()
	pieces := (end - first + l.rows - 1) / l.rows
	stream := rng.Stream(e.Seed, rng.ChainTransition, l.calls)
	e.Workers.Run(len(l.levels)*pieces, func(piece int) {
		level, lo := piece/pieces, first+piece%pieces*l.rows
		hi, batch := min(end, lo+l.rows), l.levels[level].Batch
		c := stream
		var stats bitspin.Count
		l.kernels[level].Run(nil, batch, batch, lo, hi, 1, &c, l.first(level, n), &stats)
		e.Energy(l.energies[level][lo:hi], batch[lo*words:hi*words])
	})
	for level := int(l.calls & 1); level+1 < len(l.levels); level += 2 {
		l.swap(level)
	}
	l.calls++
	for level := range l.levels {
		e.States.Stir(l.levels[level].Batch, rng.Stream(e.Seed, rng.ChainStart, l.calls), l.first(level, n))
	}
}

// swap swaps states of a level with those of the next, each with probability
// min{1, exp((β − β′)(E − E′))}.
func (l *Ladder[W]) swap(level int) {
	words, difference := l.ensemble.Words(), l.betas[level]-l.betas[level+1]
	c := rng.Stream(l.ensemble.Seed, rng.LadderSwap, l.calls)
	asm.PhiloxBlocks(l.draws, &c, uint64(level)*uint64(len(l.draws)/4))
	x, y := l.energies[level], l.energies[level+1]
	a, b := l.levels[level].Batch, l.levels[level+1].Batch
	lo, hi := l.Own()
	for i := lo; i < hi; i++ {
		if float64(l.draws[i])+0.5 < math.Exp(difference*(x[i]-y[i]))*(1<<32) {
			l.accepted[level]++
			x[i], y[i] = y[i], x[i]
			for w := i * words; w < (i+1)*words; w++ {
				a[w], b[w] = b[w], a[w]
			}
		}
	}
	l.proposed[level] += uint64(hi - lo)
}

// Own returns the chains of each level that are a rank's, as a chains.Walk does.
func (l *Ladder[W]) Own() (lo, hi int) { return l.levels[0].Own() }

// Observe implements chains.Ladder.
func (l *Ladder[W]) Observe(level int, values []float64) { l.levels[level].ObserveUnweighted(values) }

// States implements chains.Ladder.
func (l *Ladder[W]) States(level int, dst []byte, format string) error {
	return l.levels[level].States(dst, format)
}

// Swaps implements chains.Ladder.
func (l *Ladder[W]) Swaps(level int) (accepted, proposed uint64) {
	return l.accepted[level], l.proposed[level]
}

var _ chains.Tempered = (*Ensemble[byte])(nil)
