package graph

import (
	"fmt"
	"sync"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// system is engine.System for spins on a graph.
type system struct {
	*hierarchy.System
	config  *Config
	graph   *spins.Graph
	sweeper *spins.Sweeper
	workers *pool.Pool
	exact   struct {
		sync.Mutex
		*reference
	} // computed when first asked for
}

// law returns the target as the generator takes it.
func (t *TargetConfig) law() hierarchy.Target {
	law := hierarchy.Target{Spins: t.Spins, Fields: t.Fields, Offset: t.Offset, Beta: t.Beta}
	for _, e := range t.Edges {
		law.Bonds = append(law.Bonds, hierarchy.Bond(e))
	}
	return law
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	c = conf.Chosen(c)
	g, err := c.Target.graph()
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	s := &system{config: c, graph: g, workers: workers}
	if s.sweeper, err = spins.NewSweeper(g, c.Target.Beta); err != nil {
		return nil, fmt.Errorf("target.beta: %w", err)
	}
	net, err := hierarchy.NewGraph(hierarchy.Graph{Target: c.Target.law(), Neighbours: c.Generator.Neighbours, Hidden: c.Generator.Units})
	if err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	s.System, err = hierarchy.NewSystem(net, &c.Training, c.annealed, workers)
	return s, err
}

var (
	_ engine.Config    = (*Config)(nil)
	_ engine.Adapter   = (*Config)(nil)
	_ engine.Loader    = (*Config)(nil)
	_ engine.Describer = (*Config)(nil)
	_ engine.System    = (*system)(nil)
	_ engine.Heir      = (*system)(nil)
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
)

// Formats implements engine.Sampler.
func (s *system) Formats() []engine.Format {
	n, words := s.graph.N(), s.graph.Words()
	weighted := s.WeightedFormat(n)
	weighted.Doc += s.order()
	return []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: []int{n}, RowBytes: n, Doc: "spins ±1 as int8" + s.order()},
		{Name: "bits", Descr: "'<u8'", Shape: []int{words}, RowBytes: 8 * words,
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is spin i, 1 for +1; unused high bits are 0" + s.order()},
		weighted,
	}
}

// order says which spin is which.
func (s *system) order() string {
	if s.config.Target.Labels == nil {
		return "; spin i has the number i from 0"
	}
	return "; spin i has the label target.labels[i], the first " + s.graph.Label(0)
}

// Reach implements engine.Sampler.
func (s *system) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, min(hierarchy.MaxSamples, spins.MaxSamples), n, refine, s.mostSweeps())
}

// mostSweeps is how many sweeps every sample has random numbers for.
func (s *system) mostSweeps() int {
	const updates = 1 << 22 // of a block of samples
	return updates/(2*s.graph.N()) - 1
}

// Sample implements engine.Sampler.
func (s *system) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	drawn := func() []uint64 {
		batch := make([]uint64, n*s.graph.Words())
		s.draw(s.NewDraws(params), batch, first, refine)
		return batch
	}
	switch format {
	case "spins":
		spins.WriteSigns(dst, drawn(), s.graph.N())
	case "bits":
		spins.WriteBits(dst, drawn())
	case hierarchy.Weighted:
		return s.SampleWeighted(dst, params, first, n, refine)
	default:
		return fmt.Errorf("format: %q is not spins, bits or %s", format, hierarchy.Weighted)
	}
	return nil
}

// draw fills a batch with samples first, first+1, … after refine sweeps.
func (s *system) draw(d *hierarchy.Draws, batch []uint64, first uint64, refine int) {
	if refine == 0 {
		d.Generate(batch, first)
		return
	}
	// Sweeps take whole blocks, of which some samples may not be asked for.
	words, start := s.graph.Words(), first/spins.Lanes*spins.Lanes
	whole := make([]uint64, int(first-start)*words+len(batch))
	d.Generate(whole, start)
	s.sweep(whole, start, refine, rng.Stream(s.config.Training.Seed, rng.SampleTransition, 0))
	copy(batch, whole[int(first-start)*words:])
}

// sweep takes sweeps with configurations first, first+1, … of a stream, where
// first is the first of a block.
func (s *system) sweep(batch []uint64, first uint64, sweeps int, stream asm.Counter) {
	const rows = 4 * spins.Lanes
	n := len(batch) / s.graph.Words()
	s.workers.Run((n+rows-1)/rows, func(piece int) {
		var stats bitspin.Stats
		c := stream
		s.sweeper.Run(batch, batch, piece*rows, min(n, (piece+1)*rows), sweeps, &c, first, &stats)
	})
}
