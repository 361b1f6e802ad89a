package answer

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestVectorDensities holds the targets' densities, up to a constant, against products of those
// of named laws.
func TestVectorDensities(t *testing.T) {
	normal := func(x, mu, sigma float64) float64 { return distuv.Normal{Mu: mu, Sigma: sigma}.LogProb(x) }
	standard := func(x []float64) (sum float64) {
		for _, v := range x {
			sum += normal(v, 0, 1)
		}
		return sum
	}
	phi4 := func(side int) func(x []float64) float64 {
		return func(x []float64) (sum float64) {
			for i := range side {
				for j := range side {
					v := x[side*i+j]
					for _, next := range []float64{x[side*((i+1)%side)+j], x[side*i+(j+1)%side]} {
						sum += 2 * 0.2 * v * next
					}
					sum -= v*v + 0.02*math.Pow(v*v-1, 2)
				}
			}
			return sum
		}
	}
	design, outcomes := simulateLogistic(10, 200)
	for name, want := range map[string]func(x []float64) float64{
		"logistic": func(x []float64) (sum float64) {
			for _, v := range x {
				sum += normal(v, 0, 2.5)
			}
			for i, y := range outcomes {
				sum += math.Log(distuv.Logistic{S: 1}.CDF(y * floats.Dot(x, design[10*i:10*i+10])))
			}
			return sum
		},
		// Rubin's estimates and their standard errors.
		"schools": func(x []float64) float64 {
			tau := math.Exp(x[1])
			sum := normal(x[0], 0, 5) - math.Log(1+tau*tau/25) + x[1] + standard(x[2:]) // half-Cauchy, with |dτ/dx₁|
			for i, c := range [8][2]float64{{28, 15}, {8, 10}, {-3, 16}, {7, 11}, {-1, 9}, {1, 11}, {18, 10}, {12, 18}} {
				sum += normal(c[0], x[0]+tau*x[2+i], c[1])
			}
			return sum
		},
		"funnel": func(x []float64) float64 {
			sum := normal(x[0], 0, 3)
			for _, v := range x[1:] {
				sum += normal(v, 0, math.Exp(x[0]/2))
			}
			return sum
		},
		"banana": func(x []float64) float64 { return normal(x[0], 0, 1) + normal(x[1], x[0]*x[0], 0.3) },
		"two_modes": func(x []float64) float64 {
			return math.Log(0.7*math.Exp(normal(x[0], 0, 1))+0.3*math.Exp(normal(x[0], 8, 1))) + standard(x[1:])
		},
		"phi4": phi4(8), "phi4-16": phi4(16),
	} {
		t.Run(name, func(t *testing.T) {
			logPi, dim := ofVectors(t, name)
			random := rand.New(rand.NewPCG(7, 8))
			var off []float64
			for range 20 {
				x := make([]float64, dim)
				for i := range x {
					x[i] = float64(float32(2 * random.NormFloat64()))
				}
				off = append(off, want(x)-logPi(x))
			}
			require.Less(t, floats.Max(off)-floats.Min(off), 1e-6*math.Abs(floats.Max(off))+1e-3) // of float32
		})
	}
}

// TestFieldMeans holds the fields' means against sweeps of Metropolis moves, by differences of ln π
// of a site, whose blocks tell their errors.
func TestFieldMeans(t *testing.T) {
	for _, p := range vectorProblems() {
		_, dim := ofVectors(t, p.name)
		side := int(math.Sqrt(float64(dim)))
		if !strings.HasPrefix(p.name, "phi4") {
			continue
		}
		const blocks, sweeps, kappa, lambda = 40, 1000, 0.2, 0.02
		random := rand.New(rand.NewPCG(3, uint64(side)))
		phi, row := make([]float64, dim), make([]float64, 2*len(p.observables))
		means := make([]stat.Mean, len(row))
		for b := range blocks + 1 {
			block := make([]float64, len(row))
			for range sweeps {
				for i, old := range phi {
					y, x := i/side, i%side
					near := phi[y*side+(x+1)%side] + phi[y*side+(x+side-1)%side] + phi[(y+1)%side*side+x] + phi[(y+side-1)%side*side+x]
					log := func(v float64) float64 { return 2*kappa*v*near - v*v - lambda*(v*v-1)*(v*v-1) }
					v := old + 3*(random.Float64()-0.5)
					if math.Log(random.Float64()) < log(v)-log(old) {
						phi[i] = v
					}
				}
				state := make([]byte, 4*dim)
				for i, v := range phi {
					binary.LittleEndian.PutUint32(state[4*i:], math.Float32bits(float32(v)))
				}
				p.ours.observe(row, state)
				floats.AddScaled(block, 1.0/sweeps, row)
			}
			for i := range means {
				if b > 0 { // the first is not in equilibrium
					means[i].Add(block[i])
				}
			}
		}
		for i, o := range p.observables {
			m := means[2*i]
			require.InDelta(t, o.exact, m.Value(), 4.5*m.StandardError(), "%s %s", p.name, o.name)
			require.Less(t, m.StandardError(), 0.05*math.Sqrt(means[2*i+1].Value()-m.Value()*m.Value()))
		}
	}
}

// TestVectorMeans integrates what is said to be exact.
func TestVectorMeans(t *testing.T) {
	gauss := func(mu, sigma float64, f func(x float64) float64) float64 {
		return quad.Fixed(func(x float64) float64 { return f(x) * distuv.Normal{Mu: mu, Sigma: sigma}.Prob(x) }, mu-9*sigma, mu+9*sigma, 200, nil, 0)
	}
	one := func(x float64) float64 { return x }
	two := func(x float64) float64 { return x * x }
	apart := func(f func(x float64) float64) float64 { return 0.7*gauss(0, 1, f) + 0.3*gauss(8, 1, f) }
	want := map[string][]float64{
		"funnel": {0, gauss(0, 3, two), 0},
		// x₁ is x₀² and a deviate.
		"banana":    {0, gauss(0, 1, two), gauss(0, 1, two), gauss(0, 1, func(x float64) float64 { return x * x * x * x }) + 0.3*0.3},
		"two_modes": {apart(one), apart(two), 0, 1},
	}
	for _, p := range vectorProblems() {
		for i, exact := range want[p.name] {
			require.InDelta(t, exact, p.observables[i].exact, 1e-8, "%s %s", p.name, p.observables[i].name)
		}
		// A mean's unit is the function's standard deviation.
		m := make([]float64, 2*len(p.observables))
		for i, o := range p.observables {
			m[2*i], m[2*i+1] = 3, 9+float64(i*i)
			require.InDelta(t, float64(i), o.unit(m), 1e-12)
		}
	}
}

// TestRegression: outcomes follow the logistic law of the coefficients that are drawn first.
func TestRegression(t *testing.T) {
	const d, n = 3, 5000
	design, outcomes := simulateLogistic(d, n)
	random := rand.New(rand.NewPCG(1, 2))
	truth := []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
	require.Len(t, outcomes, n)
	var score, information [d]float64
	for i, y := range outcomes {
		row := design[d*i : d*i+d]
		require.Equal(t, 1.0, y*y)
		p := distuv.Logistic{S: 1}.CDF(floats.Dot(row, truth))
		for j, v := range row {
			score[j] += ((y+1)/2 - p) * v
			information[j] += p * (1 - p) * v * v
		}
	}
	for j := range d {
		require.Less(t, math.Abs(score[j]), 5*math.Sqrt(information[j])) // 6·10⁻⁷ each
		require.Greater(t, information[j], 0.05*n)
	}
}

// ofVectors is the density of a target as the system of that name has it.
func ofVectors(t *testing.T, name string) (logPi func(x []float64) float64, dim int) {
	t.Helper()
	for _, p := range vectorProblems() {
		if p.name != name {
			continue
		}
		cfg, err := p.ours.system.Preset("quick")
		require.NoError(t, err)
		workers := pool.New(1)
		t.Cleanup(workers.Close)
		system, err := cfg.New(workers)
		require.NoError(t, err)
		scorer := system.(engine.Scorer)
		format := system.(engine.Sampler).Formats()[0]
		return func(x []float64) float64 {
			var state []byte
			for _, v := range x {
				state = binary.LittleEndian.AppendUint32(state, math.Float32bits(float32(v)))
			}
			e := make([]float64, 1)
			_, err := scorer.Energies(e, format.Name, state)
			require.NoError(t, err)
			return -e[0]
		}, format.RowBytes / 4
	}
	t.Fatal(name)
	return nil, 0
}
