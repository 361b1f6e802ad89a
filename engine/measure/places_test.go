package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
)

// TestUnseenBias: three chains, of which two are in one well and the third in another, have the
// integrals of two wells, in units of Z, times the squared distance if that is more than one.
func TestUnseenBias(t *testing.T) {
	const d, n, logZ = 3, 400, 5.0
	random := rand.New(rand.NewPCG(1, 2))
	place := func(at, weight, away float64) (p measure.Place) {
		for range n {
			squares := 0.0
			for range d {
				u := random.NormFloat64()
				p.X, squares = append(p.X, at+u), squares+u*u
			}
			p.LogPi = append(p.LogPi, logZ+math.Log(weight)-squares/2-d/2.*math.Log(2*math.Pi))
		}
		p.Away = away
		return p
	}
	w := measure.Weights{LogZ: logZ}
	places := []measure.Place{place(0, 1e-4, 0.5), place(20, 2e-5, 10), place(0, 1e-4, 0.5)}
	lack := w.UnseenBias(places)
	require.InEpsilon(t, 1e-4+2e-5*100, lack, 0.15)
	require.True(t, measure.Negligible(lack, 200_000) && !measure.Negligible(lack, 300_000))
	require.Zero(t, w.UnseenBias(nil))
	require.InEpsilon(t, 1e-4, w.UnseenBias(places[:1]), 0.15, "within a deviation")
	places[0].X, places[0].LogPi = places[0].X[:d*4], places[0].LogPi[:4]
	require.InEpsilon(t, 1e-4+2e-5*100, w.UnseenBias(places), 0.15, "four states do not tell, but are where others do")
	require.True(t, math.IsNaN(w.UnseenBias(places[:2])))
	require.False(t, measure.Negligible(math.NaN(), 1))
	require.True(t, math.IsNaN(w.UnseenBias([]measure.Place{{}})))
	require.True(t, math.IsNaN(w.UnseenBias([]measure.Place{places[1], {}})), "at no place")
	// As wide as a hundred times the samples, of a density e^(ln 1e-6 − 3 ln 100 − ln 100) of theirs or less,
	// ten deviations away, it lacks no more than a millionth.
	most := math.Log(1e-6) - d*math.Log(100) - math.Log(100)
	for above, silent := range map[float64]bool{most + 0.01: true, most - 0.01: false} {
		p := measure.Place{X: make([]float64, d), LogPi: make([]float64, 1), Away: 10, Above: above}
		require.Equal(t, silent, math.IsNaN(w.UnseenBias([]measure.Place{p})), above)
	}
}
