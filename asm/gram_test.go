package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A radialCase is a kernel with its exact values and the bounds that radial.go
// states.
type radialCase struct {
	name          string
	gaussians     []Gaussian
	multiquadrics []Multiquadric
	materns       []Matern
}

var radialCases = []radialCase{
	{"paper", []Gaussian{{50, 1}, {2, 1}, {.5, 1}, {.125, 1}, {.02, 1}}, []Multiquadric{{1.96, .5, 1}}, nil},
	{"gaussian", []Gaussian{{.7, 1}}, nil, nil},
	{"weights", []Gaussian{{2, .3}, {.5, 4}, {.4, 1}}, nil, nil},
	{"ladder", []Gaussian{{.01, 1}, {.02, 1}, {.08, 1}, {.64, 1}, {1.28, 1}, {20.48, 1}}, nil, nil},
	{"repeated", []Gaussian{{1, 1}, {1, 1}, {1, .5}}, nil, nil},
	{"roots", nil, []Multiquadric{{.04, 1.5, 1}, {1, .5, 1}, {2, 1, .5}, {3, 8, 1000}}, nil},
	{"powers", nil, []Multiquadric{{.3, .2, 1}, {2, 3.3, 5}, {1, 9, 1}}, nil},
	{"laplacian", nil, nil, []Matern{{0, .7, 1}}},
	{"matern 3/2", nil, nil, []Matern{{1, 2, 1}}},
	{"matern 5/2", nil, nil, []Matern{{2, .3, .5}}},
	{"all", []Gaussian{{.3, 1}, {.3e-3, 2}}, []Multiquadric{{.01, .5, 1}, {1, .75, 1}}, []Matern{{1, .2, 3}, {2, 4, 1}}},
}

func (c *radialCase) radial() *Radial { return NewRadial(c.gaussians, c.multiquadrics, c.materns) }

// exact returns k(d²), k′(d²) and the bounds on their errors: 2·2^−23 for each
// evaluation, 16 times that after four doublings, and what the rounding of an
// exponent or a logarithm costs.
func (c *radialCase) exact(d2 float64) (value, derivative, valueBound, derivativeBound float64) {
	const eps = 2 * 0x1p-23
	add := func(z, dz, relative float64) {
		value, derivative = value+z, derivative+dz
		valueBound += math.Abs(z) * relative
		derivativeBound += math.Abs(dz) * relative
	}
	doublings := 16. // of a ladder, at most
	if len(c.gaussians) == 1 {
		doublings = 1
	}
	for _, g := range c.gaussians {
		z := g.Weight * math.Exp(-g.Exponent*d2)
		add(z, -g.Exponent*z, (doublings+g.Exponent*d2)*eps)
		derivativeBound += g.Exponent * g.Weight * 1e-37 // the smallest normal numbers
		valueBound += g.Weight * 1e-37
	}
	for _, m := range c.multiquadrics {
		x := m.C2 + d2
		z := m.Weight * math.Pow(x, -m.Beta)
		add(z, -m.Beta*z/x, (2+2*m.Beta+m.Beta*math.Abs(math.Log2(x)))*eps)
		valueBound += m.Weight * 1e-37
		derivativeBound += m.Weight * 1e-37
	}
	for _, m := range c.materns {
		square := float64(2*m.Order+1) / (m.Length * m.Length)
		a := min(math.Sqrt(square*d2), 126*math.Ln2)
		e := m.Weight * math.Exp(-a)
		switch m.Order {
		case 0:
			add(e, -square/2*e/max(a, 0x1p-20*math.Ln2), (4+a)*eps)
		case 1:
			add(e*(1+a), -square/2*e, (4+a)*eps)
		case 2:
			add(e*(1+a+a*a/3), -square/6*e*(1+a), (4+a)*eps)
		}
		derivativeBound += square * m.Weight * 1e-37
		valueBound += m.Weight * 1e-37
	}
	return value, derivative, valueBound + eps*value, derivativeBound - eps*derivative
}

func TestRadialValues(t *testing.T) {
	var d2 []float32
	for e := -30.; e < 60; e += 1. / 64 {
		d2 = append(d2, float32(math.Exp2(e)))
	}
	d2 = append(d2, 0, math.MaxFloat32, float32(math.Inf(1)), 1e38)
	forEachPath(t, func(t *testing.T, path Path) {
		for _, c := range radialCases {
			value, derivative := make([]float32, len(d2)), make([]float32, len(d2))
			RadialValues(c.radial(), value, derivative, d2)
			for i, d := range d2 {
				d = min(d, 1e38) // where the tails of multiquadrics are cut
				v, dv, bv, bdv := c.exact(float64(d))
				if d < 1e38 {
					require.InDelta(t, v, float64(value[i]), bv, "%s(%v)", c.name, d)
					require.InDelta(t, dv, float64(derivative[i]), bdv, "%s′(%v)", c.name, d)
				} else {
					require.InDelta(t, v, float64(value[i]), 1e-6, "%s(%v)", c.name, d2[i])
					require.InDelta(t, 0, float64(derivative[i]), 1e-30, "%s′(%v)", c.name, d2[i])
				}
			}
			nan := []float32{float32(math.NaN())}
			RadialValues(c.radial(), nan, make([]float32, 1), nan)
			require.True(t, nan[0] != nan[0], "%s(NaN)", c.name)
		}
	})
}

func TestRadialValuesAtEveryLength(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		atEnd := endOfPage[float32](t, 200)
		k := radialCases[0].radial()
		for n := range 140 {
			d2 := guardedCopy(randomPoints(rand.New(rand.NewPCG(1, uint64(n))), n))
			for i, v := range d2.data {
				d2.data[i] = v * v
			}
			value, derivative := newGuarded[float32](n), newGuarded[float32](n)
			RadialValues(k, value.data, derivative.data, d2.data)
			value.check(t)
			derivative.check(t)
			for i := range n {
				var v, dv [1]float32
				RadialValues(k, v[:], dv[:], d2.data[i:i+1])
				require.Equal(t, v[0], value.data[i])
				require.Equal(t, dv[0], derivative.data[i])
			}
			in := atEnd(n)
			copy(in, d2.data)
			RadialValues(k, in, d2.data, d2.data)
			d2.check(t)
			require.Equal(t, append([]float32{}, value.data...), append([]float32{}, in...))
			require.Equal(t, append([]float32{}, derivative.data...), append([]float32{}, d2.data...))
		}
	})
}

func TestNewRadialBuildsLadders(t *testing.T) {
	kinds := func(c radialCase) (s string) {
		for _, step := range c.radial().steps {
			s += fmt.Sprintf("%d/%d ", step.kind, step.count)
		}
		return s
	}
	require.Equal(t, "0/0 0/0 1/2 1/2 0/0 2/1 ", kinds(radialCases[0]), "50 = 400·0.125 is no power of two away")
	require.Equal(t, "0/0 1/1 1/2 0/0 1/4 ", kinds(radialCase{gaussians: []Gaussian{{1, 1}, {2, 1}, {8, 1}, {64, 1}, {1024, 1}}}),
		"more than four doublings start a new ladder")
	require.Equal(t, "0/0 1/1 0/0 1/1 ", kinds(radialCase{gaussians: []Gaussian{{3, 1}, {2, 1}, {1.5, 1}, {1, 1}}}), "ladders that stand between each other's rungs")
	require.Equal(t, "0/0 1/4 0/0 ", kinds(radialCase{gaussians: []Gaussian{{1, 1}, {16, 1}, {16 * 1.000001, 1}}}))
	require.Equal(t, "2/16 3/0 ", kinds(radialCase{multiquadrics: []Multiquadric{{1, 8, 1}, {1, 8.5, 1}}}))
	require.Equal(t, "0/0 1/0 0/0 ", kinds(radialCase{gaussians: []Gaussian{{1, 1}, {1, 2}, {3, 1}}}))
	require.Equal(t, "2/3 3/0 3/0 ", kinds(radialCase{multiquadrics: []Multiquadric{{1, 1.5, 1}, {1, .7, 1}, {1, 9, 1}}}))
}

func randomPoints(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// newGramBatch returns the planes of n random pairs, some of them coincident or
// each other's reverse, in a buffer that ends with the last plane.
func newGramBatch(r *rand.Rand, n, dim int, spread float64) *GramBatch {
	stride := (n + GramPad - 1) / GramPad * GramPad
	x := &GramBatch{Planes: make([]float32, 3*dim*stride), Stride: stride, Dim: dim, N: n}
	for i := range x.Planes {
		x.Planes[i] = float32(spread * r.NormFloat64()) // what is past n must not matter
	}
	for i := range stride {
		for c := range dim {
			a, b := r.NormFloat64()*spread, r.NormFloat64()*spread
			u, v, w := (a+b)*math.Sqrt2/2, (a-b)*math.Sqrt2/2, a*math.Sqrt2/2
			if i > 0 && i%7 == 0 { // the pair before, or its reverse
				u = float64(x.Planes[c*stride+i-1])
				v = float64(x.Planes[(dim+c)*stride+i-1])
				if i%2 == 0 {
					v = -v
				}
				w = (u + v) / 2
			}
			if i < n {
				x.Planes[c*stride+i] = float32(u)
				x.Planes[(dim+c)*stride+i] = float32(v)
				x.Planes[(2*dim+c)*stride+i] = float32(w)
			}
		}
	}
	return x
}

// exactTile is GramTile in float64, with the sums of the terms' sizes.
func exactTile(c *radialCase, x *GramBatch, t GramRange) (loss, size float64, rows, cols []float64, reach float64) {
	dim, nr, nc := x.Dim, t.Row1-t.Row0, t.Col1-t.Col0
	rows, cols = make([]float64, dim*nr), make([]float64, dim*nc)
	at := func(p, i int) float64 { return float64(x.Planes[p*x.Stride+i]) }
	for i := t.Row0; i < min(t.Row1, x.N); i++ {
		for j := max(t.Col0, i+1); j < min(t.Col1, x.N); j++ {
			var xx, xy float64
			for p := range dim {
				du, minus, plus := at(p, i)-at(p, j), at(dim+p, i)-at(dim+p, j), at(dim+p, i)+at(dim+p, j)
				xx += du*du + minus*minus
				xy += du*du + plus*plus
			}
			kxx, p, bxx, _ := c.exact(xx)
			kxy, q, bxy, _ := c.exact(xy)
			loss += kxx - kxy
			// Distances are rounded too: relative (dim+3)·2^−24.
			rounding := float64(dim+3) * 0x1p-24
			size += bxx + bxy - rounding*(p*xx+q*xy)
			for d := range dim {
				dw := at(2*dim+d, i) - at(2*dim+d, j)
				rows[d*nr+i-t.Row0] += (p-q)*dw - q*at(dim+d, j)
				cols[d*nc+j-t.Col0] += -(p-q)*dw - q*at(dim+d, i)
				reach = max(reach, math.Abs(dw)+math.Abs(at(dim+d, i))+math.Abs(at(dim+d, j)))
			}
		}
	}
	return loss, size, rows, cols, reach
}

// steepest returns a bound on |k′|, that at the origin.
func (c *radialCase) steepest() float64 {
	_, p, _, _ := c.exact(0)
	return -p
}

func requireTile(t *testing.T, c *radialCase, x *GramBatch, r GramRange, loss float64, rows, cols []float32, msg string) {
	t.Helper()
	wantLoss, bound, wantRows, wantCols, reach := exactTile(c, x, r)
	require.InDelta(t, wantLoss, loss, bound+1e-30, "loss: %s", msg)
	worst := func(want []float64, got []float32) (d float64) {
		for i := range want {
			if e := math.Abs(want[i] - float64(got[i])); !(e <= d) {
				d = e
			}
		}
		return d
	}
	// Every term may be off by a few ulp of the steepest one.
	tolerance := 40 * 0x1p-23 * c.steepest() * reach
	require.False(t, slices.ContainsFunc(append(rows, cols...), func(v float32) bool { return v != v }), "NaN: %s", msg)
	require.LessOrEqual(t, worst(wantRows, rows), tolerance*math.Sqrt(float64(r.Col1-r.Col0))+1e-30, "rows: %s", msg)
	require.LessOrEqual(t, worst(wantCols, cols), tolerance*math.Sqrt(float64(r.Row1-r.Row0))+1e-30, "columns: %s", msg)
}

func TestGramTileAgainstExact(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(11, 12))
		for ci := range radialCases {
			c := &radialCases[ci]
			k := c.radial()
			for n := 1; n <= 70; n++ {
				if ci > 0 && n%9 != 1 {
					continue
				}
				dim := 1 + n%5
				x := newGramBatch(r, n, dim, []float64{1, .1, 10}[n%3])
				for _, tile := range []GramRange{
					{0, x.Stride, 0, x.Stride}, {0, 16, 0, 16}, {0, 16, min(16, x.Stride), x.Stride},
					{min(16, x.Stride), x.Stride, 0, x.Stride}, {0, x.Stride, x.Stride - 16, x.Stride},
				} {
					rows := newGuarded[float32](dim * (tile.Row1 - tile.Row0))
					cols := newGuarded[float32](dim * (tile.Col1 - tile.Col0))
					scratch := newGuarded[float32](GramScratch(dim))
					loss := GramTile(k, x, tile, rows.data, cols.data, scratch.data)
					rows.check(t)
					cols.check(t)
					scratch.check(t)
					requireTile(t, c, x, tile, loss, rows.data, cols.data, fmt.Sprintf("%s n=%d dim=%d %v", c.name, n, dim, tile))
				}
			}
		}
	})
}

// Large tiles are cut into several assembly calls.
func TestGramTileLarge(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(13, 14))
		c := &radialCases[0]
		const n, dim = 530, 2
		x := newGramBatch(r, n, dim, 1)
		tile := GramRange{0, x.Stride, 0, x.Stride}
		rows, cols := make([]float32, dim*x.Stride), make([]float32, dim*x.Stride)
		loss := GramTile(c.radial(), x, tile, rows, cols, make([]float32, GramScratch(dim)))
		requireTile(t, c, x, tile, loss, rows, cols, "530")
	})
}

func TestGramTileSpecialInputs(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		c := &radialCases[0]
		k := c.radial()
		const n, dim = 40, 2
		r := rand.New(rand.NewPCG(15, 16))
		sums := func(x *GramBatch) (float64, []float32, []float32) {
			rows, cols := make([]float32, dim*x.Stride), make([]float32, dim*x.Stride)
			loss := GramTile(k, x, GramRange{0, x.Stride, 0, x.Stride}, rows, cols, make([]float32, GramScratch(dim)))
			return loss, rows, cols
		}

		t.Run("NaN", func(t *testing.T) {
			for i := range n {
				for p := range 2 * dim {
					x := newGramBatch(r, n, dim, 1)
					x.Planes[p*x.Stride+i] = float32(math.NaN())
					loss, _, _ := sums(x)
					require.True(t, math.IsNaN(loss), "plane %d of pair %d", p, i)
				}
			}
		})
		t.Run("far apart", func(t *testing.T) {
			for _, spread := range []float64{1e5, 1e10, 1e18} {
				x := newGramBatch(r, n, dim, spread)
				for i := range n { // no coincident pairs
					x.Planes[i] = float32(float64(i) * spread)
				}
				loss, rows, cols := sums(x)
				require.InDelta(t, 0, loss, 1e-2*1e5/spread)
				for _, s := range append(rows, cols...) {
					require.InDelta(t, 0, float64(s), 1e-4)
				}
			}
		})
		t.Run("one point", func(t *testing.T) {
			x := newGramBatch(r, n, dim, 1)
			for i := range x.Planes {
				x.Planes[i] = x.Planes[i/x.Stride*x.Stride]
			}
			tile := GramRange{0, x.Stride, 0, x.Stride}
			loss, rows, cols := sums(x)
			requireTile(t, c, x, tile, loss, rows, cols, "coincident pairs")
		})
		t.Run("moves undone", func(t *testing.T) {
			x := newGramBatch(r, n, dim, 1)
			clear(x.Planes[dim*x.Stride : 2*dim*x.Stride])
			loss, rows, cols := sums(x)
			require.Zero(t, loss, "d²_xx = d²_xy")
			for _, s := range append(rows, cols...) {
				require.Zero(t, s)
			}
		})
	})
}

func TestKernelSumsAgainstExact(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(17, 18))
		xAtEnd, yAtEnd := endOfPage[float32](t, 1000), endOfPage[float32](t, 1000)
		for ci := range radialCases {
			c := &radialCases[ci]
			k := c.radial()
			for _, rows := range []int{1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 63, 65, 70} {
				for cols := 1; cols <= 13; cols++ {
					if ci > 0 && (rows+cols)%11 != 0 {
						continue
					}
					dim := 1 + (rows+cols)%5
					gradDim := min(dim, (rows+2*cols)%6)
					xStride, yStride, gradStride := rows+rows%3, cols+cols%4, rows+cols%2
					x, y := xAtEnd((dim-1)*xStride+rows), yAtEnd((dim-1)*yStride+cols)
					copy(x, randomPoints(r, len(x)))
					copy(y, randomPoints(r, len(y)))
					before := randomPoints(r, rows+dim*gradStride)
					value := guardedCopy(before[:rows])
					grad := guardedCopy(before[rows:][:max(0, (gradDim-1)*gradStride+rows)])
					scratch := newGuarded[float32](GramScratch(dim))
					KernelSums(k, value.data, grad.data, gradStride, x, xStride, rows, y, yStride, cols, dim, gradDim, scratch.data)
					value.check(t)
					grad.check(t)
					scratch.check(t)

					for i := range rows {
						want, bound := float64(before[i]), 1e-6
						wantGrad := make([]float64, dim)
						var size float64
						for j := range cols {
							var d2 float64
							for p := range dim {
								d2 += math.Pow(float64(x[p*xStride+i])-float64(y[p*yStride+j]), 2)
							}
							v, dv, b, _ := c.exact(d2)
							want += v
							bound += b - float64(dim+8)*0x1p-23*dv*d2 + 1e-6*v
							for p := range dim {
								e := float64(x[p*xStride+i]) - float64(y[p*yStride+j])
								wantGrad[p] += dv * e
								size = max(size, math.Abs(e))
							}
						}
						require.InDelta(t, want, float64(value.data[i]), bound, "%s: value %d of %d×%d", c.name, i, rows, cols)
						for p := range gradDim {
							require.InDelta(t, float64(before[rows+p*gradStride+i])+wantGrad[p], float64(grad.data[p*gradStride+i]),
								1e-6+40*0x1p-23*c.steepest()*size*math.Sqrt(float64(cols)), "%s: gradient %d of %d×%d", c.name, i, rows, cols)
						}
					}
				}
			}
		}
	})
}

func TestKernelSumsLarge(t *testing.T) {
	forEachPath(t, func(t *testing.T, path Path) {
		r := rand.New(rand.NewPCG(19, 20))
		c := radialCases[1]
		const rows, cols = 5, 20011
		x, y := randomPoints(r, rows), randomPoints(r, cols)
		value, grad := make([]float32, rows), make([]float32, rows)
		KernelSums(c.radial(), value, grad, rows, x, rows, rows, y, cols, cols, 1, 1, make([]float32, GramScratch(1)))
		for i := range rows {
			var want, wantGrad float64
			for j := range cols {
				e := float64(x[i]) - float64(y[j])
				v, dv, _, _ := c.exact(e * e)
				want += v
				wantGrad += dv * e
			}
			require.InEpsilon(t, want, float64(value[i]), 3e-6)
			require.InDelta(t, wantGrad, float64(grad[i]), 3e-6*cols)
		}
	})
}

func TestGramPanicsOnMismatch(t *testing.T) {
	k := radialCases[0].radial()
	x := newGramBatch(rand.New(rand.NewPCG(1, 1)), 20, 2, 1)
	s := func(n int) []float32 { return make([]float32, n) }
	requireRefusal(t, func() { GramTile(k, x, GramRange{0, 32, 0, 32}, s(63), s(64), s(1000)) })
	requireRefusal(t, func() { GramTile(k, x, GramRange{0, 32, 0, 48}, s(64), s(96), s(1000)) })
	requireRefusal(t, func() { GramTile(k, x, GramRange{0, 8, 0, 32}, s(16), s(64), s(1000)) })
	requireRefusal(t, func() { GramTile(k, x, GramRange{0, 32, 0, 32}, s(64), s(64), s(10)) })
	requireRefusal(t, func() { KernelSums(k, s(3), s(4), 4, s(4), 4, 4, s(4), 4, 4, 1, 1, s(1000)) })
	requireRefusal(t, func() { KernelSums(k, s(4), s(4), 4, s(4), 4, 4, s(3), 4, 4, 1, 1, s(1000)) })
	requireRefusal(t, func() { RadialValues(k, s(3), s(4), s(4)) })
}

// TestWrongShapesOfGram: each part of what is asked of arguments is looked at, and what is just
// enough is enough.
func TestWrongShapesOfGram(t *testing.T) {
	k := radialCases[0].radial()
	f := func(n int) []float32 { return make([]float32, n) }
	type tile struct {
		stride, n, planes   int
		at                  GramRange
		rows, cols, scratch int
	}
	for want, wrong := range map[string][]func(*tile){
		"": {func(*tile) {}, func(c *tile) { c.n = 3 }, func(c *tile) { c.at, c.rows = GramRange{16, 16, 0, 32}, 0 }, func(c *tile) { c.at, c.cols = GramRange{0, 32, 32, 32}, 0 }, func(c *tile) { c.scratch++ }},
		"asm: mismatched lengths in GramTile: planes": {
			func(c *tile) {
				c.stride, c.planes, c.n, c.at, c.rows, c.cols = 24, 144, 16, GramRange{0, 16, 0, 16}, 32, 32
			},
			func(c *tile) { c.n++ }, func(c *tile) { c.planes++ }, func(c *tile) { c.planes-- },
		},
		"asm: mismatched lengths in GramTile: range": {
			func(c *tile) { c.at.Row0, c.rows = 8, 48 }, func(c *tile) { c.at.Row1, c.rows = 24, 48 }, func(c *tile) { c.at.Col0, c.cols = 8, 48 }, func(c *tile) { c.at.Col1, c.cols = 24, 48 },
			func(c *tile) { c.at.Row0, c.rows = -16, 96 }, func(c *tile) { c.at.Col0, c.cols = -16, 96 }, func(c *tile) { c.at.Row1, c.rows = 48, 96 }, func(c *tile) { c.at.Col1, c.cols = 48, 96 },
			func(c *tile) { c.at.Row0, c.at.Row1, c.rows = 16, 0, 0 }, func(c *tile) { c.at.Col0, c.at.Col1, c.cols = 16, 0, 0 },
		},
		"asm: mismatched lengths in GramTile: sums": {
			func(c *tile) { c.rows++ }, func(c *tile) { c.rows-- }, func(c *tile) { c.cols++ }, func(c *tile) { c.cols-- }, func(c *tile) { c.scratch-- },
		},
	} {
		for i, change := range wrong {
			c := tile{32, 32, 192, GramRange{0, 32, 0, 32}, 64, 64, GramScratch(2)}
			change(&c)
			call := func() {
				GramTile(k, &GramBatch{f(c.planes), c.stride, 2, c.n}, c.at, f(c.rows), f(c.cols), f(c.scratch))
			}
			if want == "" {
				require.NotPanics(t, call, i)
				continue
			}
			require.PanicsWithValue(t, want, call, "%d", i)
		}
	}

	type sums struct{ value, grad, gradStride, x, xStride, rows, y, yStride, cols, gradDim, scratch int }
	for want, wrong := range map[string][]func(*sums){
		"": {func(*sums) {}, func(c *sums) { c.gradDim, c.grad = 0, 0 }, func(c *sums) { c.gradDim, c.grad = 1, 5 }, func(c *sums) { c.value, c.scratch = 6, c.scratch+1 }, func(c *sums) { c.rows = 0 }},
		"asm: mismatched lengths in KernelSums: rows":    {func(c *sums) { c.value-- }, func(c *sums) { c.x-- }, func(c *sums) { c.rows = -1 }, func(c *sums) { c.xStride, c.x = 4, 20 }},
		"asm: mismatched lengths in KernelSums: columns": {func(c *sums) { c.y-- }, func(c *sums) { c.cols = -1 }, func(c *sums) { c.yStride, c.y = 3, 20 }},
		"asm: mismatched lengths in KernelSums: gradients": {
			func(c *sums) { c.grad-- }, func(c *sums) { c.gradDim = -1 }, func(c *sums) { c.gradDim, c.grad = 4, 99 }, func(c *sums) { c.gradStride, c.grad = 4, 99 },
		},
		"asm: mismatched lengths in KernelSums: scratch": {func(c *sums) { c.scratch-- }},
	} {
		for i, change := range wrong {
			c := sums{5, 2*6 + 5, 6, 2*7 + 5, 7, 5, 2*8 + 4, 8, 4, 3, GramScratch(3)}
			change(&c)
			call := func() {
				KernelSums(k, f(c.value), f(c.grad), c.gradStride, f(c.x), c.xStride, c.rows, f(c.y), c.yStride, c.cols, 3, c.gradDim, f(c.scratch))
			}
			if want == "" {
				require.NotPanics(t, call, i)
				continue
			}
			require.PanicsWithValue(t, want, call, "%d", i)
		}
	}
	require.PanicsWithValue(t, "asm: mismatched lengths in RadialValues", func() { RadialValues(k, f(4), f(3), f(4)) })
}

func FuzzGramTile(f *testing.F) {
	f.Add(uint64(1), uint8(20), uint8(2), uint8(0), 1.)
	f.Add(uint64(2), uint8(70), uint8(1), uint8(5), .01)
	before, why, _ := Active()
	f.Cleanup(func() { activate(before, why) })
	f.Fuzz(func(t *testing.T, seed uint64, size, dims, kernel uint8, spread float64) {
		if !(math.Abs(spread) < 1e6) {
			return
		}
		n, dim := 1+int(size)%80, 1+int(dims)%6
		c := &radialCases[int(kernel)%len(radialCases)]
		x := newGramBatch(rand.New(rand.NewPCG(seed, 1)), n, dim, spread)
		tile := GramRange{0, x.Stride, 0, x.Stride}
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			rows, cols := make([]float32, dim*x.Stride), make([]float32, dim*x.Stride)
			loss := GramTile(c.radial(), x, tile, rows, cols, make([]float32, GramScratch(dim)))
			requireTile(t, c, x, tile, loss, rows, cols, fmt.Sprintf("%v %s n=%d dim=%d spread=%v", path, c.name, n, dim, spread))
		}
	})
}

// BenchmarkGramTile reports the time of one pair of pairs, of which each costs
// two kernel values, two derivatives and two gradients.
func BenchmarkGramTile(b *testing.B) {
	benchEachPath(b, func(b *testing.B, path Path) {
		for _, c := range radialCases[:2] {
			for _, dim := range []int{1, 2, 8} {
				b.Run(fmt.Sprintf("kernel=%s/dim=%d", c.name, dim), func(b *testing.B) {
					x := newGramBatch(rand.New(rand.NewPCG(1, 2)), 1024, dim, 1)
					k, tile := c.radial(), GramRange{0, 128, 512, 1024}
					rows, cols := make([]float32, dim*128), make([]float32, dim*512)
					scratch := make([]float32, GramScratch(dim))
					for b.Loop() {
						GramTile(k, x, tile, rows, cols, scratch)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(128*512), "ns/pair")
				})
			}
		}
	})
}

func BenchmarkKernelSums(b *testing.B) {
	benchEachPath(b, func(b *testing.B, path Path) {
		const rows, cols, dim = 128, 1024, 2
		r := rand.New(rand.NewPCG(3, 4))
		x, y := randomPoints(r, dim*rows), randomPoints(r, dim*cols)
		value, grad, scratch := make([]float32, rows), make([]float32, dim*rows), make([]float32, GramScratch(dim))
		k := radialCases[0].radial()
		for b.Loop() {
			KernelSums(k, value, grad, rows, x, rows, rows, y, cols, cols, dim, dim, scratch)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*cols), "ns/pair")
	})
}
