package answer

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/version"
)

// maxRows bounds the rows of a series.
const maxRows = 1 << 20

// presets are RevGen's, in the order of outcomes.
var presets = []string{"best", "quick"}

// revgen trains a generator by a preset and draws samples with their weights.
type revgen struct {
	preset      string
	system      engine.Definition
	assignments []string                          // key.path=value, after the preset's values
	observe     func(row []float64, state []byte) // adds functions of a state of the weighted format to zeros
	width       int                               // functions in a row
}

func (o *revgen) name() string { return "revgen, " + o.preset }

func (o *revgen) run(ctx context.Context, _ *peers.Workshop, seconds float64, seed uint64) (*Series, string, error) {
	start := peers.ProcessorTime(0)
	spent := func() float64 { return (peers.ProcessorTime(0) - start).Seconds() }
	tally := new(engine.Tally)
	ctx = engine.WithTally(ctx, tally)
	count := func() float64 { return float64(tally.Evaluations().Total()) }
	cfg, _, err := catalogue.Systems{o.system}.Resolve(ctx, catalogue.Source{
		System: o.system.Name, Preset: o.preset, Set: append(o.assignments, fmt.Sprint("training.seed=", seed)),
	})
	if err != nil {
		return nil, "", err
	}
	workers := pool.New(1)
	defer workers.Close()
	trained, err := run.Train(ctx, cfg, workers, run.Options{Unmeasured: true})
	if err != nil {
		return nil, "", err
	}
	system, err := cfg.New(workers)
	if err != nil {
		return nil, "", err
	}
	if s, ok := system.(engine.Counted); ok {
		s.Count(tally)
	}
	stream, err := engine.StreamOf(system, cfg, trained.Params, workers)
	if err != nil {
		return nil, "", err
	}
	defer stream.Close()
	format, err := stream.Format(engine.Weighted)
	if err != nil {
		return nil, "", err
	}
	s := &Series{width: o.width, Setup: spent(), SetupEvaluations: count()}
	const rows = 8192
	buffer := make([]byte, rows*format.RowBytes)
	largest := math.Inf(-1)
	for first := uint64(0); s.Sampling < seconds && s.n() < maxRows; first += rows {
		fillStart := spent()
		if err := stream.Fill(ctx, buffer, format, first, 0); err != nil {
			return nil, "", err
		}
		s.Sampling += spent() - fillStart
		for r := range rows {
			state := buffer[r*format.RowBytes : (r+1)*format.RowBytes]
			begin := len(s.rows)
			s.rows = append(s.rows, make([]float64, o.width)...)
			end := len(state) - 8 // where the logarithm of the weight is
			o.observe(s.rows[begin:], state[:end])
			w := math.Float64frombits(binary.LittleEndian.Uint64(state[end:]))
			s.weights = append(s.weights, w)
			largest = max(largest, w)
		}
	}
	for r, w := range s.weights {
		s.weights[r] = math.Exp(w - largest)
	}
	s.Evaluations = count() - s.SetupEvaluations
	return s, version.Read().String(), nil
}
