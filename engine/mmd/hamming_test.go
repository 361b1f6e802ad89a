package mmd

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

var testKernel = Kernel{
	Bandwidths: []float64{0.5, 1, 2.5},
	Weights:    []float64{1, 0.5, 2},
	IMQ:        []IMQ{{C: 1.5, Beta: 0.5, Weight: 0.75}},
}

// batch draws n pairs: rejected moves, single and several flips, global flips
// and unrelated configurations. Few distinct states make for repeated pairs and
// for moves in both directions.
func batch(r *rand.Rand, n, spins, states int) (s, t []uint64) {
	w := (spins + 63) / 64
	mask := func(x []uint64) {
		if spins%64 != 0 {
			x[w-1] &= 1<<(spins%64) - 1
		}
	}
	pool := make([]uint64, states*w)
	for i := range states {
		x := pool[i*w : (i+1)*w]
		for k := range x {
			x[k] = r.Uint64()
		}
		mask(x)
	}
	for range n {
		i := r.IntN(states)
		a := pool[i*w : (i+1)*w]
		b := slices.Clone(a)
		switch r.IntN(5) {
		case 0: // rejected
		case 1:
			for k := range b {
				b[k] = ^b[k]
			}
			mask(b)
		case 2:
			j := r.IntN(states)
			b = pool[j*w : (j+1)*w]
		default:
			for range 1 + r.IntN(3) {
				d := r.IntN(spins)
				b[d/64] ^= 1 << (d % 64)
			}
		}
		s, t = append(s, a...), append(t, b...)
	}
	return s, t
}

func TestHammingAgainstNaive(t *testing.T) {
	long.SkipShort(t)
	path, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(path)) }()
	workers := pool.New(2)
	defer workers.Close()
	for _, spins := range []int{1, 2, 4, 8, 9, 10, 15, 16, 17, 25, 31, 32, 33, 36, 49, 63, 64, 65, 100, 130, 256} {
		for _, n := range []int{1, 2, 5, 31, 32, 33, 70, 130} {
			for _, states := range []int{2, 1000} {
				for _, mode := range []HammingGradient{Surrogate, Difference} {
					for _, stat := range []Statistic{V, U} {
						if stat == U && n < 2 || n*spins > 5000 {
							continue
						}
						name := fmt.Sprintf("spins %d, n %d, states %d, %v, %v", spins, n, states, mode, stat)
						r := rand.New(rand.NewPCG(uint64(spins), uint64(n)))
						s, s1 := batch(r, n, spins, states)
						h := NewHamming(n, spins, testKernel, mode, stat, workers)
						grad := make([]float32, n*spins)
						wantLoss, wantGrad := HammingNaive(s, s1, n, spins, testKernel, mode, stat)
						for _, path := range asm.Supported() {
							require.NoError(t, asm.Use(path))
							for i := range grad {
								grad[i] = float32(math.NaN()) // every element must be written
							}
							loss := h.LossGradient(s, s1, grad)
							// A row averages terms of size k(0) ≤ 4, scaled by at most 8/N.
							require.InDelta(t, wantLoss, loss, 4e-6, "%s, %v", name, path)
							for i, g := range wantGrad {
								if math.Abs(g-float64(grad[i])) > 2e-5/float64(n) || math.IsNaN(float64(grad[i])) {
									require.InDelta(t, g, grad[i], 2e-5/float64(n), "%s, %v, row %d, spin %d", name, path, i/spins, i%spins)
								}
							}
						}
					}
				}
			}
		}
	}
}

// The difference gradient is the change of the loss when one spin is flipped.
func TestHammingDifferenceByFlipping(t *testing.T) {
	for _, stat := range []Statistic{V, U} {
		const n, spins = 12, 6
		s, s1 := batch(rand.New(rand.NewPCG(3, 4)), n, spins, 7)
		before, grad := HammingNaive(s, s1, n, spins, testKernel, Difference, stat)
		for i := range n {
			for d := range spins {
				s[i] ^= 1 << d
				after, _ := HammingNaive(s, s1, n, spins, testKernel, Difference, stat)
				s[i] ^= 1 << d
				require.InDelta(t, after-before, grad[i*spins+d], 1e-14, "%v, sample %d, spin %d", stat, i, d)
			}
		}
	}
}

// The surrogate gradient is the derivative of the loss with spins as real
// numbers and s′ fixed, here by central differences of the double sum.
func TestHammingSurrogateByCentralDifferences(t *testing.T) {
	for _, stat := range []Statistic{V, U} {
		const n, spins, step = 8, 5, 1e-5
		s, s1 := batch(rand.New(rand.NewPCG(5, 6)), n, spins, 6)
		_, grad := HammingNaive(s, s1, n, spins, testKernel, Surrogate, stat)
		a, b := make([]float64, n*spins), make([]float64, n*spins)
		for i := range a {
			a[i] = float64(2*int(s[i/spins]>>(i%spins)&1) - 1)
			b[i] = float64(2*int(s1[i/spins]>>(i%spins)&1) - 1)
		}
		loss := func() (sum float64) {
			d2 := func(x, y []float64, i, j int) (d float64) {
				for e := range spins {
					d += math.Pow(x[i*spins+e]-y[j*spins+e], 2)
				}
				return d
			}
			pairs := float64(n * n)
			if stat == U {
				pairs -= n
			}
			for i := range n {
				for j := range n {
					if i == j && stat == U {
						continue
					}
					sum += 2 / pairs * (testKernel.Value(d2(a, a, i, j)+d2(b, b, i, j)) - testKernel.Value(d2(a, b, i, j)+d2(b, a, i, j)))
				}
			}
			return sum
		}
		for i := range a {
			require.InDelta(t, number.CentralDifference(&a[i], step, loss), grad[i], 1e-9, "%v, element %d", stat, i)
		}
	}
}

func TestHammingSameBitsForAnyNumberOfThreads(t *testing.T) {
	for _, spins := range []int{9, 16, 25, 100} {
		const n = 700
		s, s1 := batch(rand.New(rand.NewPCG(7, uint64(spins))), n, spins, 300)
		var want []float32
		var wantLoss float64
		for _, threads := range []int{1, 2, 3} {
			workers := pool.New(threads)
			h := NewHamming(n, spins, testKernel, Surrogate, V, workers)
			grad := make([]float32, n*spins)
			loss := h.LossGradient(s, s1, grad)
			again := make([]float32, n*spins)
			require.Equal(t, loss, h.LossGradient(s, s1, again))
			require.Equal(t, grad, again)
			if want == nil {
				want, wantLoss = grad, loss
			}
			require.Equal(t, want, grad, "%d threads", threads)
			require.Equal(t, wantLoss, loss, "%d threads", threads)
			workers.Close()
		}
	}
}

func TestHammingVanishes(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	const spins = 9
	// A batch in exact detailed balance: every move also in reverse.
	r := rand.New(rand.NewPCG(8, 9))
	s, s1 := batch(r, 50, spins, 40)
	s, s1 = append(s, s1...), append(s1, s...)
	s1 = s1[:100]
	h := NewHamming(len(s), spins, testKernel, Surrogate, V, workers)
	grad := make([]float32, len(s)*spins)
	require.Zero(t, h.LossGradient(s, s1, grad))
	require.Equal(t, make([]float32, len(grad)), grad)
	s1[0] ^= 1
	require.Positive(t, h.LossGradient(s, s1, grad))
}

func TestHammingDoesNotAllocate(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, spins := range []int{9, 70} {
		const n = 100
		s, s1 := batch(rand.New(rand.NewPCG(1, 1)), n, spins, 1000)
		h := NewHamming(n, spins, testKernel, Difference, V, workers)
		grad := make([]float32, n*spins)
		require.Zero(t, alloctest.PerRun(10, func() { h.LossGradient(s, s1, grad) }))
	}
}

// isingBatch mimics a batch during training at L: weakly ordered spins, one to
// three attempted single-spin moves of which a third are rejected.
func isingBatch(n, spins int, bias float64) (s, t []uint64) {
	r := rand.New(rand.NewPCG(10, uint64(spins)))
	w := (spins + 63) / 64
	s, t = make([]uint64, n*w), make([]uint64, n*w)
	for i := range n {
		p := 0.5 + bias*float64(2*r.IntN(2)-1)
		for d := range spins {
			if r.Float64() < p {
				s[i*w+d/64] |= 1 << (d % 64)
			}
		}
		copy(t[i*w:(i+1)*w], s[i*w:])
		for range 1 + r.IntN(3) {
			if d := r.IntN(spins); r.Float64() < 0.66 {
				t[i*w+d/64] ^= 1 << (d % 64)
			}
		}
	}
	return s, t
}

func BenchmarkHamming(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	for _, spins := range []int{9, 16, 25, 36, 64, 256} {
		for _, mode := range []HammingGradient{Surrogate, Difference} {
			b.Run(fmt.Sprintf("spins=%d/n=2048/%v", spins, mode), func(b *testing.B) {
				const n = 2048
				s, s1 := isingBatch(n, spins, 0.2)
				h := NewHamming(n, spins, testKernel, mode, V, workers)
				grad := make([]float32, n*spins)
				for b.Loop() {
					h.LossGradient(s, s1, grad)
				}
				b.ReportMetric(float64(len(h.fold.sample)), "rows")
				b.ReportMetric(float64(h.columns.Len()), "columns")
			})
		}
	}
}

// TestHammingRefusesBatchesOfTheWrongSize in each of its arguments.
func TestHammingRefusesBatchesOfTheWrongSize(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	h := NewHamming(4, 9, Kernel{Bandwidths: []float64{1}}, Surrogate, V, workers)
	call := func(s, t, grad int) func() {
		return func() { h.LossGradient(make([]uint64, s), make([]uint64, t), make([]float32, grad)) }
	}
	require.NotPanics(t, call(4, 4, 36))
	for _, wrong := range []func(){call(5, 4, 36), call(4, 5, 36), call(4, 4, 37), call(4, 3, 36), call(4, 4, 35)} {
		require.Panics(t, wrong)
	}
}

// TestWitness: the witness of each pair is that of the double sum, its mean twice the loss, and
// every sample has the gradient of its pair, also of one more than are copied at once.
func TestWitness(t *testing.T) {
	const n, spins = 257, 20
	workers := pool.New(2)
	defer workers.Close()
	value := func(a, b uint64) float64 { return testKernel.Value(4 * float64(bits.OnesCount64(a^b))) }
	for _, stat := range []Statistic{V, U} {
		h := NewHamming(n, spins, testKernel, Surrogate, stat, workers)
		s, u := batch(rand.New(rand.NewPCG(1, 2)), n, spins, 5)
		s[n-1], u[n-1] = s[0], u[0]
		grad, witness := make([]float32, n*spins), make([]float32, n)
		loss := h.LossGradient(s, u, grad)
		h.Witness(witness)
		require.Equal(t, grad[:spins], grad[(n-1)*spins:])
		var mean float64
		for i := range n {
			var sum float64
			for j := range n {
				if stat == V || i != j {
					pair, other := s[i]|u[i]<<spins, s[j]|u[j]<<spins
					sum += value(pair, other) - value(pair, u[j]|s[j]<<spins)
				}
			}
			if sum *= 4. / n; stat == U {
				sum *= n / (n - 1.)
			}
			require.InDelta(t, sum, witness[i], 1e-4)
			mean += float64(witness[i]) / n
		}
		require.InDelta(t, 2*loss, mean, 1e-6)
		require.PanicsWithValue(t, "mmd: a witness of the wrong length", func() { h.Witness(make([]float32, n+1)) })
	}
}

// TestFoldProbesOnward: pairs whose slot is taken go to the next one, around the end of the table,
// and pairs that are not there are looked for up to a free slot.
func TestFoldProbesOnward(t *testing.T) {
	for _, spins := range []int{20, 40} {
		const n = 5
		var f fold
		f.init(n, spins)
		last := len(f.table) - 1
		require.Equal(t, 63, last, "eight slots for a pair, up to a power of two")
		begins := func(a uint64) int { // of the pair (a, 1)
			return int((bits.RotateLeft64(a*hashMultiplier, 32) ^ 1) * hashMultiplier >> f.shift)
		}
		var s []uint64
		for a := uint64(2); len(s) < n-1; a++ {
			if begins(a) == last {
				s = append(s, a)
			}
		}
		s = append(s, s[1])
		f.foldPairs(s, []uint64{1, 1, 1, 1, 1})
		require.Equal(t, []int32{1, 2, 3, 4, 0}, []int32{f.table[last], f.table[0], f.table[1], f.table[2], f.table[3]})
		require.Equal(t, []int{0, 1, 2, 3, 1}, f.id)
		require.Equal(t, []int{1, 2, 1, 1}, f.count)
		require.Equal(t, []int{-1, -1, -1, -1}, f.reverse)
	}
}
