package chains_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/pool"
)

// A law is what all configurations of a small system are like.
type law struct{ energy, magnetisation []float64 }

// lattice is the Ising model on the periodic lattice of side l in a field.
func lattice(l int, h float64) law {
	var all law
	for config := range 1 << (l * l) {
		spin := func(y, x int) float64 { return float64(2*(config>>(y%l*l+x%l)&1) - 1) }
		var e, m float64
		for y := range l {
			for x := range l {
				e -= spin(y, x)*(spin(y+1, x)+spin(y, x+1)) + h*spin(y, x)
				m += spin(y, x)
			}
		}
		all.energy, all.magnetisation = append(all.energy, e), append(all.magnetisation, m/float64(l*l))
	}
	return all
}

// weights are those of Boltzmann's law.
func (l law) weights(beta float64) []float64 {
	lowest, sum := math.Inf(1), 0.0
	for _, e := range l.energy {
		lowest = min(lowest, e)
	}
	w := make([]float64, len(l.energy))
	for i, e := range l.energy {
		w[i] = math.Exp(-beta * (e - lowest))
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

func (l law) mean(beta float64, f func(i int) float64) (sum float64) {
	for i, w := range l.weights(beta) {
		sum += w * f(i)
	}
	return sum
}

// swaps is how many swaps between two temperatures succeed in equilibrium.
func (l law) swaps(a, b float64) (part float64) {
	byEnergy := func(beta float64) map[float64]float64 {
		all := map[float64]float64{}
		for i, w := range l.weights(beta) {
			all[math.Round(1e6*l.energy[i])/1e6] += w
		}
		return all
	}
	hot, cold := byEnergy(a), byEnergy(b)
	var terms []float64
	for e, p := range hot {
		for f, q := range cold {
			terms = append(terms, p*q*min(1, math.Exp((a-b)*(e-f))))
		}
	}
	for _, x := range terms {
		part += x
	}
	return part
}

// All averages of all temperatures, and the part of the swaps that succeeds, are those
// of enumeration.
func TestLadder(t *testing.T) {
	if testing.Short() {
		t.Skip("runs chains for long")
	}
	small := lattice(3, 0)
	large := lattice(4, 0.3)
	var glass law
	edges := [][3]float64{{0, 1, 1}, {1, 2, -1}, {2, 3, 0.5}, {3, 0, 1}, {0, 2, -0.7}, {4, 1, 1.2}, {4, 5, -1}, {5, 3, 0.3}}
	fields := []float64{0.1, 0, -0.2, 0, 0.3, 0}
	text := ""
	for _, e := range edges {
		text += fmt.Sprintf("[%v,%v,%v],", e[0], e[1], e[2])
	}
	for config := range 1 << 6 {
		spin := func(i int) float64 { return float64(2*(config>>i&1) - 1) }
		var e float64
		for _, b := range edges {
			e -= b[2] * spin(int(b[0])) * spin(int(b[1]))
		}
		for i, h := range fields {
			e -= h * spin(i)
		}
		glass.energy = append(glass.energy, e)
		glass.magnetisation = append(glass.magnetisation, float64(2*bits.OnesCount(uint(config))-6)/6)
	}
	for _, x := range []struct {
		law    law
		system string
		betas  []float64
		set    []string
	}{
		{small, "ising", []float64{0.1, 0.3, 0.6}, []string{"target.l=3"}},
		{large, "ising", []float64{0.1, 0.2, 0.3, 0.38}, []string{"target.l=4", "target.h=0.3"}},
		{glass, "spins", []float64{0, 0.7, 1.5}, []string{"target.spins=6", "target.edges=[" + text[:len(text)-1] + "]", "target.fields=[0.1, 0, -0.2, 0, 0.3, 0]"}},
	} {
		t.Run(fmt.Sprintf("%s %v", x.system, x.betas), func(t *testing.T) {
			o := chains.Options{Chains: 200, Draws: 500, BurnIn: 100, Spacing: 1, Ladder: x.betas}
			r := runAll(t, o, 2, x.system, x.set...)
			require.Len(t, r.Levels, len(x.betas))
			for k, beta := range x.betas {
				l := &r.Levels[k]
				requireMean(t, l, "energy", x.law.mean(beta, func(i int) float64 { return x.law.energy[i] }))
				requireMean(t, l, "magnetisation", x.law.mean(beta, func(i int) float64 { return x.law.magnetisation[i] }))
				requireMean(t, l, "abs_magnetisation", x.law.mean(beta, func(i int) float64 { return math.Abs(x.law.magnetisation[i]) }))
				if k == len(x.betas)-1 {
					require.Nil(t, l.Swaps())
					break
				}
				// Every other round; as many ladders as chains, each of whose swaps are
				// no more than ten times as correlated as independent ones would be.
				require.EqualValues(t, o.Chains*o.Draws/2, l.Proposed)
				p := x.law.swaps(beta, x.betas[k+1])
				require.InDelta(t, p, *l.Swaps(), beyond*math.Sqrt(10*p*(1-p)/float64(l.Proposed)), "between %v and %v", beta, x.betas[k+1])
			}
			o.Draws = 50
			two, three := runAll(t, o, 2, x.system, x.set...), runAll(t, o, 3, x.system, x.set...)
			for k := range r.Levels {
				require.Equal(t, two.Levels[k].Values, three.Levels[k].Values)
				require.Equal(t, two.Levels[k].Accepted, three.Levels[k].Accepted)
			}
		})
	}
}

// Chains that would never leave the phase they began in do by way of hotter ones.
func TestLadderCrosses(t *testing.T) {
	if testing.Short() {
		t.Skip("runs chains for long")
	}
	set := []string{"target.l=8", "target.beta=0.8", "target.h=0.0005"}
	o := chains.Options{Chains: 64, Draws: 200, BurnIn: 400, Spacing: 4}
	alone := run(t, o, 2, "ising", set...)
	require.Greater(t, alone.Observables[1].RHat, 1.5, "%+v", alone.Observables[1])
	o.Ladder = []float64{0.3, 0.36, 0.42, 0.48, 0.56, 0.66, 0.8}
	r := runAll(t, o, 2, "ising", set...)
	cold := r.Levels[len(r.Levels)-1].Observables[1]
	require.Equal(t, "magnetisation", cold.Name)
	require.Less(t, cold.RHat, 1.1, "%+v", cold)
}

// States are those whose observables are told, whatever their format.
func TestStates(t *testing.T) {
	for _, x := range []struct {
		system, format string
		ladder         []float64
		set            []string
		// observe returns observable 0 of a state.
		observe func(row []byte) float64
	}{
		{"ising", "spins", nil, []string{"target.l=4", "target.beta=0.4"}, latticeEnergy},
		{"ising", "spins", []float64{0.1, 0.4}, []string{"target.l=4"}, latticeEnergy},
		{"ising", "bits", nil, []string{"target.l=4", "target.beta=0.4"}, func(row []byte) float64 {
			spins := make([]byte, 16)
			for i := range spins {
				spins[i] = 2*(row[i/8]>>(i%8)&1) - 1
			}
			return latticeEnergy(spins)
		}},
		{"gmm", "states", nil, nil, func(row []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
		}},
		{"hybrid", "states", nil, nil, func(row []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
		}},
		{"reals", "states", nil, []string{"target.dim=2", `target.expression=-x[0]^2 - x[1]^2`}, func(row []byte) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
		}},
	} {
		t.Run(x.system+" "+x.format, func(t *testing.T) {
			o := chains.Options{Chains: 5, Draws: 7, BurnIn: 3, Spacing: 2, Ladder: x.ladder, States: x.format}
			r := runAll(t, o, 2, x.system, x.set...)
			row := r.Format.RowBytes
			for _, l := range r.Levels {
				first := 0
				for x.system == "hybrid" && l.Observables[first].Name != "x0" {
					first++
				}
				require.Len(t, l.States, 35*row)
				distinct := map[string]bool{}
				for c := range o.Chains {
					for draw := range o.Draws {
						state := l.States[(c*o.Draws+draw)*row:][:row]
						distinct[string(state)] = true
						require.InDelta(t, l.Values[(draw*o.Chains+c)*len(l.Observables)+first], x.observe(state), 1e-5)
					}
				}
				require.Greater(t, len(distinct), 10)
			}
		})
	}
}

func latticeEnergy(row []byte) (e float64) {
	spin := func(y, x int) float64 { return float64(int8(row[y%4*4+x%4])) }
	for y := range 4 {
		for x := range 4 {
			e -= spin(y, x) * (spin(y+1, x) + spin(y, x+1))
		}
	}
	return e
}

// The automatic spacing makes draws all but independent, and no further apart
// than that.
func TestAutoSpacing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs chains for long")
	}
	o := chains.Options{Chains: 64, Draws: 400, BurnIn: chains.HalfBurnIn, Spacing: chains.AutoSpacing}
	hot := runAll(t, o, 2, "ising", "target.l=8", "target.beta=0.1", "target.h=0.1")
	require.LessOrEqual(t, hot.Spacing, 2)
	require.Equal(t, 512+200*hot.Spacing, hot.BurnedIn)
	r := runAll(t, o, 2, "ising", "target.l=6", "target.beta=0.42", "target.h=0.001")
	require.Zero(t, r.Unresolved)
	require.Greater(t, r.Spacing, 20)
	for _, x := range r.Levels[0].Observables {
		require.Less(t, x.Time, 1.3, "%+v", x)
	}
	o.Spacing = r.Spacing / 8
	longest := 0.0
	for _, x := range run(t, o, 2, "ising", "target.l=6", "target.beta=0.42", "target.h=0.001").Observables {
		longest = max(longest, x.Time)
	}
	require.Greater(t, longest, 1.6)

	// Two phases that nothing leads between.
	o.Draws, o.Spacing = 20, chains.AutoSpacing
	cold := runAll(t, o, 2, "ising", "target.l=4", "target.beta=1.5", "target.h=0.0001")
	require.Greater(t, cold.Unresolved, 16*256)
}

func TestBadOptions(t *testing.T) {
	cfg, _, err := root.Systems().Resolve(context.Background(), catalogue.Source{System: "gmm"})
	require.NoError(t, err)
	workers := pool.New(1)
	defer workers.Close()
	s, err := cfg.New(workers)
	require.NoError(t, err)
	defer engine.Release(s)
	good := chains.Options{Chains: 1, Draws: 4, Spacing: 1}
	o := good
	o.Ladder = []float64{0.1, 0.2}
	_, err = chains.Run(context.Background(), s, o, nil)
	require.ErrorIs(t, err, chains.ErrNone)
	require.ErrorContains(t, err, "leave out the ladder")
	o = good
	o.States = "bits"
	_, err = chains.Run(context.Background(), s, o, nil)
	var option *chains.OptionError
	require.True(t, errors.As(err, &option))
	require.EqualError(t, err, `format: "bits" is not one of states`)
}
