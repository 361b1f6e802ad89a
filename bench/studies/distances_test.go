package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// pooled returns the pool of 4×4 configurations given by a function of row and column.
func pooled(t *testing.T, states ...func(r, c int) int8) *Pool {
	p := NewPool(4, 2)
	for _, s := range states {
		state := make([]byte, 16)
		for i := range state {
			state[i] = byte(s(i/4, i%4))
		}
		require.NoError(t, p.Add("spins", state, nil))
	}
	return p
}

// TestPoolsByHand: distances of pools of one or two states from all spins up.
func TestPoolsByHand(t *testing.T) {
	up, down := func(_, _ int) int8 { return 1 }, func(_, _ int) int8 { return -1 }
	rows := func(r, _ int) int8 { return int8(1 - 2*(r%2)) }
	columns := func(_, c int) int8 { return int8(1 - 2*(c%2)) }
	corner := func(r, c int) int8 {
		if r+c == 0 {
			return -1
		}
		return 1
	}
	for name, c := range map[string]struct {
		pool *Pool
		want Distances
	}{
		"itself": {pooled(t, up, up), Distances{}},
		"down":   {pooled(t, down), Distances{2, 0, math.Ln2, 0, 0}},
		// Half of either: all covariances are 1, and the fractions of up spins (½, ½)
		// and (0, 1), whose mean is (¼, ¾).
		"either": {pooled(t, up, down), Distances{1, 8, 0.5*(0.5*math.Log(2)+0.5*math.Log(2./3)) + 0.5*math.Log(4./3), 0, 0}},
		// G(r) is ±1 in turn, and the energy 0.
		"rows":    {pooled(t, rows), Distances{1, 0, math.Ln2, math.Ln2, 1}},
		"columns": {pooled(t, columns), Distances{1, 0, math.Ln2, math.Ln2, 0}},
		// One of four spins of the first row and column is down; of 16 products at
		// r ≠ 0 two are. 15 spins up fall in another bin than 16 do not: the last holds both.
		"corner": {pooled(t, corner), Distances{0.125, 0, 0, math.Ln2, 0.1875}},
	} {
		got := c.pool.Distances(pooled(t, up))
		for k, want := range c.want {
			require.InDelta(t, want, got[k], 1e-14, "%s: %s", name, DistanceNames[k])
		}
	}
}

// TestPoolsBySite holds distances of weighted pools of odd and even sides against sums
// over sites, and merged pools against whole ones.
func TestPoolsBySite(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range []int{3, 4, 9} {
		n := l * l
		var pools [2]*Pool
		var states [2][][]float64
		var weights [2][]float64
		for k := range pools {
			pools[k] = NewPool(l, 2)
			bias := 0.3 + 0.2*float64(k)
			for range 7 {
				state, signs := make([]float64, n), make([]byte, n)
				for i := range state {
					state[i] = 1
					if r.Float64() < bias {
						state[i] = -1
					}
					signs[i] = byte(int8(state[i]))
				}
				w := r.Float64()
				states[k], weights[k] = append(states[k], state), append(weights[k], w)
				part := NewPool(l, 2)
				require.NoError(t, part.Add("spins", signs, []float64{w}))
				pools[k].Merge(part)
			}
		}
		mean := func(k int, f func(s []float64) float64) (value float64) {
			var sum float64
			for i, s := range states[k] {
				value += weights[k][i] * f(s)
				sum += weights[k][i]
			}
			return value / sum
		}
		difference := func(f func(s []float64) float64) float64 { return math.Abs(mean(0, f) - mean(1, f)) }
		var want Distances
		at := func(line, i int, axis int) int {
			if axis == 0 {
				return line*l + i
			}
			return i*l + line
		}
		for axis := range 2 {
			for a := range l {
				want[0] += difference(func(s []float64) (m float64) {
					for i := range l {
						m += s[at(a, i, axis)] / float64(l)
					}
					return m
				}) / float64(2*l)
				for b := range l {
					var c [2]float64
					for k := range c {
						for i := range l {
							x, y := at(a, i, axis), at(b, i, axis)
							c[k] += mean(k, func(s []float64) float64 { return s[x] * s[y] }) -
								mean(k, func(s []float64) float64 { return s[x] })*mean(k, func(s []float64) float64 { return s[y] })
						}
					}
					want[1] += math.Abs(c[0]-c[1]) / float64(n)
				}
			}
		}
		for d := -(l / 2); d < l-l/2; d++ {
			want[4] += difference(func(s []float64) (g float64) {
				for i := range n {
					g += s[i] * s[((i/l+d+l)%l)*l+i%l] / float64(n)
				}
				return g
			}) / float64(l)
		}
		law := func(of func(s []float64) float64, low, high float64) (js float64) {
			var p, q, m float64
			for bin := range n {
				in := func(s []float64) float64 {
					if at := math.Floor((of(s)-low)/(high-low)*float64(n) + 1e-9); int(min(at, float64(n-1))) == bin {
						return 1
					}
					return 0
				}
				p, q = mean(0, in), mean(1, in)
				m = (p + q) / 2
				if p > 0 {
					js += p * math.Log(p/m) / 2
				}
				if q > 0 {
					js += q * math.Log(q/m) / 2
				}
			}
			return js
		}
		want[2] = law(func(s []float64) (ups float64) {
			for _, v := range s {
				ups += (1 + v) / 2 / float64(n)
			}
			return ups
		}, 0, 1)
		want[3] = law(func(s []float64) (e float64) {
			for i, v := range s {
				e -= v * (s[i/l*l+(i+1)%l] + s[(i+l)%n]) / float64(n)
			}
			return e
		}, -2, 2)
		got := pools[0].Distances(pools[1])
		for k := range want {
			require.InDelta(t, want[k], got[k], 1e-12, "%s, L = %d", DistanceNames[k], l)
		}
	}
	require.Error(t, NewPool(4, 2).Add("spins", make([]byte, 16), nil))
	require.Error(t, NewPool(4, 2).Add("bits", make([]byte, 16), []float64{1}))
}

// TestPoolsOfStates holds the distances of sites of three states that are sums of products
// against the corners of a triangle, which have these products.
func TestPoolsOfStates(t *testing.T) {
	const l, n, states, q = 4, 16, 9, 3
	r := rand.New(rand.NewPCG(3, 4))
	corner := [q][2]float64{{1, 0}, {-0.5, math.Sqrt(3) / 2}, {-0.5, -math.Sqrt(3) / 2}}
	var pools [2]*Pool
	var mean [2][n][2]float64
	var product [2][n][n]float64
	for k := range pools {
		pools[k] = NewPool(l, q)
		for range states {
			s := make([]byte, n)
			for i := range s {
				s[i] = byte(r.IntN(q))
			}
			require.NoError(t, pools[k].Add("states", s, nil))
			for i, a := range s {
				for x := range 2 {
					mean[k][i][x] += corner[a][x] / states
					for j, b := range s {
						product[k][i][j] += corner[a][x] * corner[b][x] / states
					}
				}
			}
		}
	}
	covariance := func(k, i, j int) float64 {
		return product[k][i][j] - mean[k][i][0]*mean[k][j][0] - mean[k][i][1]*mean[k][j][1]
	}
	var want, curve float64
	for d := range l {
		var g float64
		for i := range n {
			j := (i + d*l) % n
			g += (product[0][i][j] - product[1][i][j]) / n
		}
		curve += math.Abs(g) / l
	}
	for a := range l {
		for b := range l {
			var rows, cols float64
			for c := range l {
				rows += covariance(0, a*l+c, b*l+c) - covariance(1, a*l+c, b*l+c)
				cols += covariance(0, c*l+a, c*l+b) - covariance(1, c*l+a, c*l+b)
			}
			want += (math.Abs(rows) + math.Abs(cols)) / n
		}
	}
	got := pools[0].Distances(pools[1])
	require.InDelta(t, want, got[correlationDistance], 1e-12)
	require.InDelta(t, curve, got[curveDistance], 1e-12)
}
