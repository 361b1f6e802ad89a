package spins

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive sums over all configurations by the definitions.
func naive(h *Hamiltonian, beta float64) (logZ float64, p []float64, energies []float64) {
	n := h.Spins
	energies = make([]float64, 1<<n)
	p = make([]float64, 1<<n)
	s := make([]int, n)
	least := math.Inf(1)
	for x := range energies {
		for i := range s {
			s[i] = 2*(x>>i&1) - 1
		}
		energies[x] = energyOf(h, s)
		least = min(least, energies[x])
	}
	var z float64
	for x, e := range energies {
		p[x] = math.Exp(-beta * (e - least))
		z += p[x]
	}
	for x := range p {
		p[x] /= z
	}
	return math.Log(z) - beta*least, p, energies
}

func enumerable() map[string]Hamiltonian {
	field := sparse(11, 20, 5, someSign)
	for i := range field.Spins {
		field.Fields = append(field.Fields, float64(i%3-1))
	}
	field.Offset = -3.5
	many := sparse(9, 15, 6, func(r *rand.Rand) float64 { return float64(r.IntN(1e6)) })
	return map[string]Hamiltonian{
		"one spin":       {Spins: 1, Fields: []float64{0.7}, Offset: 2},
		"free spins":     {Spins: 3},
		"ring":           ring(10, 1),
		"triangle":       ring(3, -2),
		"glass, field":   field,
		"all to all":     sherringtonKirkpatrick(12, 1),
		"many levels":    many,
		"one spin apart": sparse(7, 6, 2, normal),
	}
}

// TestEnumerateAgreesWithTheDefinitions at several temperatures.
func TestEnumerateAgreesWithTheDefinitions(t *testing.T) {
	for name, h := range enumerable() {
		g := build(t, h)
		for _, beta := range []float64{0, 0.3, 2, 30} {
			if name == "many levels" {
				beta *= 1e-5
			}
			logZ, p, energies := naive(&h, beta)
			x, err := Enumerate(t.Context(), g, beta, 1)
			require.NoError(t, err)
			n := float64(g.N())
			var e, e2, a, a2 float64
			least := math.Inf(1)
			correlations := make([][]float64, g.N())
			for i := range correlations {
				correlations[i] = make([]float64, g.N())
			}
			magnetisations := make([]float64, g.N())
			for s, p := range p {
				m := 0.0
				for i := range g.N() {
					m += float64(2*(s>>i&1) - 1)
					magnetisations[i] += p * float64(2*(s>>i&1)-1)
					for j := range g.N() {
						correlations[i][j] += p * float64((2*(s>>i&1)-1)*(2*(s>>j&1)-1))
					}
				}
				e += p * energies[s]
				a += p * math.Abs(m/n)
				least = min(least, energies[s])
			}
			var q float64
			for s, p := range p {
				m := 0.0
				for i := range g.N() {
					m += float64(2*(s>>i&1) - 1)
				}
				e2 += p * (energies[s] - e) * (energies[s] - e)
				a2 += p * (math.Abs(m/n) - a) * (math.Abs(m/n) - a)
			}
			for i := range correlations {
				for _, c := range correlations[i] {
					q += c * c / (n * n)
				}
			}
			scale := 1 + g.EnergyBound()
			require.InDelta(t, logZ, x.LogZ, 1e-12*(1+beta*scale+n), name)
			require.InDelta(t, e, x.Energy, 1e-12*scale, name)
			require.InDelta(t, least, x.GroundEnergy, 1e-12*scale, name)
			require.InDelta(t, beta*beta*e2, x.SpecificHeat, 1e-11*(1+beta*beta*scale*scale), name)
			require.InDelta(t, a, x.AbsMagnetisation, 1e-12, name)
			require.InDelta(t, beta*n*a2, x.Susceptibility, 1e-11*(1+beta*n), name)
			require.InDelta(t, q, x.OverlapSquare, 1e-12, name)
			for i := range magnetisations {
				require.InDelta(t, magnetisations[i], x.Magnetisations[i], 1e-12, name)
			}
			require.Len(t, x.EdgeCorrelations, len(g.Edges()))
			for k, edge := range g.Edges() {
				require.InDelta(t, correlations[edge.I][edge.J], x.EdgeCorrelations[k], 1e-12, name)
			}
			// The law of the energy.
			mass, mean := 0.0, 0.0
			for k, m := range x.Law.Mass {
				mass += m
				mean += m * x.Law.Energies[k]
			}
			require.InDelta(t, 1, mass, 1e-12)
			require.InDelta(t, e, mean, 1e-11*scale, name)
			if x.Law.Width == 0 {
				levels := map[float64]float64{}
				for s, p := range p {
					levels[energies[s]] += p
				}
				require.Len(t, x.Law.Energies, len(levels), name)
				for k, e := range x.Law.Energies {
					require.InDelta(t, levels[e], x.Law.Mass[k], 1e-12, name)
				}
			} else {
				require.LessOrEqual(t, len(x.Law.Energies), lawBins)
			}
		}
	}
}

// TestEnumerateRing compares with the transfer matrix, and the pieces of several
// threads with those of one.
func TestEnumerateRing(t *testing.T) {
	const n, j, field, beta = 19, 0.8, 0.15, 0.9
	h := ring(n, j)
	for range n {
		h.Fields = append(h.Fields, field)
	}
	g := build(t, h)
	x, err := Enumerate(t.Context(), g, beta, 1)
	require.NoError(t, err)
	a := math.Exp(beta*j) * math.Cosh(beta*field)
	b := math.Sqrt(math.Exp(2*beta*j)*math.Pow(math.Sinh(beta*field), 2) + math.Exp(-2*beta*j))
	require.InDelta(t, math.Log(math.Pow(a+b, n)+math.Pow(a-b, n)), x.LogZ, 1e-11)
	y, err := Enumerate(t.Context(), g, beta, 3)
	require.NoError(t, err)
	require.Equal(t, x, y)
}

func TestEnumerateErrors(t *testing.T) {
	_, err := Enumerate(t.Context(), build(t, ring(26, 1)), 1, 1)
	require.EqualError(t, err, "26 spins are too many to enumerate; at most 25 can be")
	for beta, want := range map[float64]string{
		-1:         "inverse temperature β = -1 is not a finite number ≥ 0",
		math.NaN(): "inverse temperature β = NaN is not a finite number ≥ 0",
		1e9:        "β·E reaches 4e+09; β, J and h must keep it below 1e9",
	} {
		_, err = Enumerate(t.Context(), build(t, ring(4, 1)), beta, 1)
		require.EqualError(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Enumerate(ctx, build(t, ring(25, 1)), 1, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkEnumerate(b *testing.B) {
	g, err := NewGraph(sherringtonKirkpatrick(20, 1))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Enumerate(b.Context(), g, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/(1<<20)*1e9, "ns/state")
}
