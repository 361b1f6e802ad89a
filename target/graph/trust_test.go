package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// toroidal writes a periodic lattice with weights ±1 as the G-set has them: a line
// "n m" and lines "i j w", numbered from 1.
func toroidal(seed uint64, width, height int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	fmt.Fprintf(&text, "%d %d\n", width*height, 2*width*height)
	for i := range width * height {
		x, y := i%width, i/width
		for _, j := range [2]int{y*width + (x+1)%width, (y+1)%height*width + x} {
			fmt.Fprintln(&text, min(i, j)+1, max(i, j)+1, 2*r.IntN(2)-1)
		}
	}
	return text.String()
}

// TestDiagnosisAgreesWithTempering trains on files of glasses, diagnoses what was
// trained, which its chains by parallel tempering confirm, and holds the averages of
// samples against those of parallel tempering and of the exact reference.
func TestDiagnosisAgreesWithTempering(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on glasses")
	}
	workers := pool.New(2)
	defer workers.Close()
	asJSON := func(seed uint64, sides ...int) string {
		text, err := json.Marshal(glass(seed, sides...))
		require.NoError(t, err)
		return string(text)
	}
	for _, file := range []struct {
		name, text string
		beta       float64
		steps      int
		exact      bool // a transfer matrix is the reference
		long       bool
	}{
		{"4×4×4", asJSON(11, 4, 4, 4), 0.6, 600, false, true},
		{"10×10", asJSON(12, 10, 10), 0.6, 600, true, true},
		{"toroidal, of the G-set's form", toroidal(13, 6, 8), 0.6, 400, true, false},
	} {
		t.Run(file.name, func(t *testing.T) {
			if file.long {
				long.Only(t)
			}
			c, err := resolve(write(t, "glass", file.text), fmt.Sprintf("target.beta=%v", file.beta))
			require.NoError(t, err)
			c.Training.Steps, c.Evaluation.Samples = file.steps, 20_000
			result, err := run.Train(context.Background(), c, workers, run.Options{})
			require.NoError(t, err)
			agrees(t, result.Evaluation, 0.8)

			s := as[*hierarchical](t, c, workers)
			o := diagnose.Full()
			o.Samples, o.Refine, o.Chains, o.Time = 1<<12, 1<<5, 128, 0
			report, err := diagnose.Run(context.Background(), s, result.Params, o)
			require.NoError(t, err)
			t.Log(report.Sentence)
			require.Contains(t, []diagnose.Verdict{diagnose.Trustworthy, diagnose.Refine}, report.Verdict, report.Sentence)
			require.True(t, report.Chains.Mixed)

			tempered, err := s.temperingReference(context.Background())
			require.NoError(t, err)
			for _, o := range report.Observables {
				var want, uncertainty float64
				switch o.Name {
				case "energy":
					want, uncertainty = tempered.Energy, tempered.uncertainty.energy
				case "abs_magnetisation":
					want, uncertainty = tempered.AbsMagnetisation, tempered.uncertainty.absMagnetisation
				default:
					continue
				}
				const far = 5.4 // once in 10⁷
				// By weights the generator's own error does not count.
				sigma := math.Hypot(o.WeightedError, uncertainty)
				require.InDelta(t, want, *o.Weighted, far*sigma, o.Name)
				require.Less(t, math.Abs(o.Chains.Z), far, o.Name)
			}
			for _, m := range result.Evaluation.Metrics {
				want, uncertainty := tempered.Energy, tempered.uncertainty.energy
				switch m.Name {
				case "energy":
					m.Uncertainty *= math.Abs(m.Exact)
				case "log_z":
					want, uncertainty = tempered.logZ, tempered.logZError
				default:
					continue
				}
				require.Equal(t, file.exact, m.Uncertainty == 0, m.Name)
				require.InDelta(t, want, m.Exact, 6*math.Hypot(uncertainty, m.Uncertainty), m.Name)
			}
		})
	}
}
