package asm

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A bitCase is a perceptron over random spins of a block.
type bitCase struct {
	BitPerceptron
	state           []uint64
	sites           []int32
	scale, residual [BitSamples]float32
}

func newBitCase(t testing.TB, r *rand.Rand, hidden, groups int) *bitCase {
	c := &bitCase{
		state: endOfPage[uint64](t, 100)(100),
		sites: endOfPage[int32](t, 4*groups)(4 * groups),
		BitPerceptron: BitPerceptron{
			Tables: endOfPage[float32](t, groups*16*hidden)(groups * 16 * hidden),
			Output: endOfPage[float32](t, hidden)(hidden),
			Bias:   float32(r.NormFloat64()),
		},
	}
	for i := range c.state {
		c.state[i] = r.Uint64()
	}
	for i := range c.sites {
		c.sites[i] = int32(r.IntN(len(c.state)))
	}
	c.sites[0] = int32(len(c.state) - 1)
	for i := range c.Tables {
		c.Tables[i] = float32(r.NormFloat64())
	}
	for i := range c.Output {
		c.Output[i] = float32(r.NormFloat64())
	}
	for i := range c.residual {
		c.residual[i] = float32(r.NormFloat64())
		c.scale[i] = float32(r.NormFloat64())
	}
	return c
}

// hidden returns the inputs of the hidden layer of sample b in float64, and the
// rows they come from.
func (c *bitCase) hidden(b int) (u []float64, rows []int) {
	k := len(c.Output)
	u = make([]float64, k)
	for q := range len(c.sites) / 4 {
		n := 0
		for j, s := range c.sites[4*q : 4*q+4] {
			n |= int(c.state[s]>>b&1) << j
		}
		rows = append(rows, (16*q+n)*k)
		for i := range u {
			u[i] += float64(c.Tables[(16*q+n)*k+i])
		}
	}
	return u, rows
}

func forEachBitCase(t *testing.T, f func(t *testing.T, c *bitCase)) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(1, 2))
		for hidden := BitLanes; hidden <= BitHidden; hidden += BitLanes {
			for _, groups := range []int{1, 2, 3, 6, BitInputs / 4} {
				f(t, newBitCase(t, r, hidden, groups))
			}
		}
	})
}

func TestBitIndices(t *testing.T) {
	forEachBitCase(t, func(t *testing.T, c *bitCase) {
		dst := newGuarded[uint16](len(c.sites) / 4 * BitSamples)
		bitIndices(dst.data, c.state, c.sites, BitHidden)
		dst.check(t)
		for b := range BitSamples {
			_, rows := c.hidden(b)
			for q, row := range rows {
				require.EqualValues(t, BitHidden*(row/len(c.Output)-16*q), dst.data[q*BitSamples+b])
			}
		}
	})
}

func TestBitLogits(t *testing.T) {
	forEachBitCase(t, func(t *testing.T, c *bitCase) {
		// Two blocks, the other with the states of this one inverted.
		dst := newGuarded[float32](2 * BitSamples)
		blocks := unsafe.Slice((*[BitSamples]float32)(dst.data), 2)
		states := slices.Clone(c.state)
		for _, w := range c.state {
			states = append(states, ^w)
		}
		c.Logits(blocks, states, c.sites)
		dst.check(t)
		for i := range blocks {
			c.state = states[i*len(c.state):][:len(c.state)]
			for b, have := range blocks[i] {
				want, scale := float64(c.Bias), 1.0
				u, _ := c.hidden(b)
				for k, v := range c.Output {
					want += float64(v) * u[k] / math.Sqrt(1+u[k]*u[k])
					scale += math.Abs(float64(v))
				}
				require.InDelta(t, want, have, 1e-6*scale, "%d hidden units, %d spins, block %d, sample %d", len(c.Output), len(c.sites), i, b)
			}
		}
	})
}

func TestBitGradient(t *testing.T) {
	forEachBitCase(t, func(t *testing.T, c *bitCase) {
		tables, output := newGuarded[float32](len(c.Tables)), newGuarded[float32](len(c.Output))
		wantTables, wantOutput := make([]float64, len(c.Tables)), make([]float64, len(c.Output))
		for i := range tables.data {
			tables.data[i] = float32(i % 7)
			wantTables[i] = float64(i % 7)
		}
		for i := range output.data {
			output.data[i] = float32(i % 5)
			wantOutput[i] = float64(i % 5)
		}
		c.Gradient(tables.data, output.data, &c.scale, &c.residual, c.state, c.sites)
		tables.check(t)
		output.check(t)
		for b := range c.residual {
			e := c.residual[b] * c.scale[b]
			u, rows := c.hidden(b)
			for k, v := range c.Output {
				root := 1 / math.Sqrt(1+u[k]*u[k])
				wantOutput[k] += float64(e) * u[k] * root
				for _, row := range rows {
					wantTables[row+k] += float64(e) * float64(v) * root * root * root
				}
			}
		}
		for i, want := range wantTables {
			require.InDelta(t, want, tables.data[i], 5e-5, "%d hidden units, %d spins, entry %d", len(c.Output), len(c.sites), i)
		}
		for i, want := range wantOutput {
			require.InDelta(t, want, output.data[i], 1e-4)
		}
	})
}

// TestBitTables compares tables with the definition and folds with the adjoint,
// bit by bit with the generic kernels.
func TestBitTables(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(11, 12))
		for k := BitLanes; k <= BitHidden; k += BitLanes {
			for _, groups := range []int{1, 2, 5} {
				weights := endOfPage[float32](t, 4*groups*k)(4 * groups * k)
				bias := endOfPage[float32](t, k)(k)
				for i := range weights {
					weights[i] = float32(r.NormFloat64())
				}
				for i := range bias {
					bias[i] = float32(r.NormFloat64())
				}
				tables := newGuarded[float32](16 * groups * k)
				BitTables(tables.data, weights, bias)
				tables.check(t)
				want := make([]float32, len(tables.data))
				bitTablesGeneric(want, weights, bias)
				require.Equal(t, want, tables.data)
				folded := newGuarded[float32](len(weights))
				wantFolded := make([]float32, len(weights))
				for i := range folded.data {
					folded.data[i], wantFolded[i] = float32(i), float32(i)
				}
				BitFold(folded.data, tables.data, k)
				folded.check(t)
				bitFoldGeneric(wantFolded, tables.data, k)
				require.Equal(t, wantFolded, folded.data)
				for q := range groups {
					for lane := range k {
						for i := range 16 {
							sum := 0.0
							if q == 0 {
								sum = float64(bias[lane])
							}
							for j := range 4 {
								sum += float64(i>>j&1*2-1) * float64(weights[(4*q+j)*k+lane])
							}
							require.InDelta(t, sum, tables.data[(16*q+i)*k+lane], 2e-6)
						}
						for j := range 4 {
							at := (4*q+j)*k + lane
							require.InDelta(t, float64(at)+16*float64(weights[at]), folded.data[at], 1e-3)
						}
					}
				}
			}
		}
	})
	requireRefusal(t, func() { BitTables(make([]float32, 64), make([]float32, 16), make([]float32, 16)) })
	requireRefusal(t, func() { BitFold(make([]float32, 64), make([]float32, 256), 15) })
}

// bitLogitCases are logits of all sizes, with zeros and extremes.
func bitLogitCases(r *rand.Rand) (logits [BitSamples]float32) {
	scale := []float64{1e-3, 0.1, 1, 10, 100, 1e30}[r.IntN(6)]
	for b := range logits {
		logits[b] = float32(scale * r.NormFloat64())
	}
	logits[r.IntN(BitSamples)] = 0
	logits[r.IntN(BitSamples)] = float32(math.Copysign(0, -1))
	logits[r.IntN(BitSamples)] = math.MaxFloat32
	return logits
}

// TestHeatBath accepts either spin where the random word is within the rounding
// of the less likely spin's probability. The score is that of BitScore, bit by bit.
func TestHeatBath(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 500 {
			logits := bitLogitCases(r)
			var words [BitSamples]uint32
			for b := range words {
				words[b] = r.Uint32()
				if r.IntN(2) == 0 { // near the threshold
					p := 1 / (1 + math.Exp(math.Abs(float64(logits[b]))))
					words[b] = uint32(int64(0x1p32*p) + r.Int64N(4096) - min(2048, int64(0x1p32*p)))
				}
			}
			logq, residual := newGuarded[float64](BitSamples), newGuarded[float32](BitSamples)
			var wantLogq [BitSamples]float64
			var wantResidual [BitSamples]float32
			for b := range wantLogq {
				logq.data[b], wantLogq[b] = float64(-b), float64(-b)
			}
			spins := HeatBath((*[BitSamples]float64)(logq.data), (*[BitSamples]float32)(residual.data), &logits, &words)
			logq.check(t)
			residual.check(t)
			BitScore(&wantLogq, &wantResidual, &logits, spins)
			require.Equal(t, wantLogq[:], logq.data)
			require.Equal(t, wantResidual[:], residual.data)
			require.Equal(t, spins, HeatBath(&wantLogq, nil, &logits, &words))
			for b, l := range logits {
				p := 0x1p31 / (1 + math.Exp(math.Abs(float64(l))))
				w := float64(words[b] >> 1)
				if math.Abs(w+0.5-p) < 1+1e-6*p {
					continue
				}
				up := (w < p) == math.Signbit(float64(l))
				require.Equal(t, up, spins>>b&1 == 1, "logit %v, word %v", l, words[b])
			}
		}
	})
}

// numbered returns spins of random sites, and the numbers that they make.
func numbered(t testing.TB, r *rand.Rand, n int) (state []uint64, sites []int32, number [BitSamples]int) {
	state, sites = endOfPage[uint64](t, 20)(20), endOfPage[int32](t, n)(n)
	for i := range state {
		state[i] = r.Uint64()
	}
	for j := range sites {
		sites[j] = int32(r.IntN(len(state)))
		if j == 0 {
			sites[j] = int32(len(state) - 1)
		}
		for b := range number {
			number[b] += int(state[sites[j]]>>b&1) << j
		}
	}
	return state, sites, number
}

func TestBitDraw(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, n := range []int{0, 1, 3, 4, 5, 8, BitNumber} {
			table := endOfPage[uint32](t, 1<<n)(1 << n)
			for i := range table {
				table[i] = []uint32{r.Uint32(), 0, math.MaxUint32, 1 << 31}[r.IntN(4)]
			}
			for range 20 {
				state, sites, number := numbered(t, r, n)
				var words [BitSamples]uint32
				for b := range words {
					words[b] = []uint32{r.Uint32(), 0, math.MaxUint32, 1 << 31, 1<<31 - 1}[r.IntN(5)]
				}
				spins := BitDraw(table, state, sites, &words)
				for b, i := range number {
					require.Equal(t, words[b] < table[i], spins>>b&1 == 1)
				}
			}
		}
	})
	words, state := new([BitSamples]uint32), make([]uint64, 3)
	requireRefusal(t, func() { BitDraw(make([]uint32, 3), state, make([]int32, 2), words) })
	requireRefusal(t, func() { BitDraw(make([]uint32, 4), state, []int32{0, 3}, words) })
	requireRefusal(t, func() { BitDraw(make([]uint32, 1<<17), state, make([]int32, 17), words) })
}

func TestCategoryDraw(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(17, 18))
		for q := 2; q <= BitNumber; q++ {
			row := 1<<bits.Len(uint(q-1)) - 1
			for n := range 5 {
				const size = 20
				state := endOfPage[byte](t, size*BitSamples)(size * BitSamples)
				sites, strides := endOfPage[int32](t, n)(n), endOfPage[int32](t, n)(n)
				rows := 1
				var number [BitSamples]int
				for i := range state {
					state[i] = byte(r.IntN(3))
				}
				for j := range sites {
					sites[j], strides[j] = int32(size-1-j), int32(rows)
					rows *= 3
					for b := range number {
						number[b] += int(strides[j]) * int(state[int(sites[j])*BitSamples+b])
					}
				}
				table := endOfPage[uint32](t, rows*row)(rows * row)
				for i := range table {
					table[i] = []uint32{r.Uint32(), r.Uint32(), 0, math.MaxUint32, 1 << 31}[r.IntN(5)]
				}
				for k := range rows {
					slices.Sort(table[k*row:][:row])
				}
				var words [BitSamples]uint32
				for b := range words {
					words[b] = []uint32{r.Uint32(), r.Uint32(), 0, math.MaxUint32, 1 << 31}[r.IntN(5)]
				}
				if n > 0 { // a state that is none reads the last row
					state[(size-1)*BitSamples] = 255
					number[0] = rows - 1
				}
				dst := newGuarded[byte](BitSamples)
				CategoryDraw((*[BitSamples]byte)(dst.data), table, q, state, sites, strides, &words)
				dst.check(t)
				for b, i := range number {
					var want int
					for _, x := range table[i*row:][:row] {
						if x <= words[b] {
							want++
						}
					}
					require.EqualValues(t, min(want, q-1), dst.data[b], "%d states, %d sites, sample %d", q, n, b)
				}
			}
		}
	})
	dst, words, state := new([BitSamples]byte), new([BitSamples]uint32), make([]byte, 2*BitSamples)
	for _, draw := range []func(){
		func() { CategoryDraw(dst, make([]uint32, 3), 1, state, nil, nil, words) },
		func() { CategoryDraw(dst, make([]uint32, 31), 17, state, nil, nil, words) },
		func() { CategoryDraw(dst, nil, 3, state, nil, nil, words) },
		func() { CategoryDraw(dst, make([]uint32, 4), 3, state, nil, nil, words) },
		func() { CategoryDraw(dst, make([]uint32, 3), 3, state, []int32{0}, nil, words) },
		func() { CategoryDraw(dst, make([]uint32, 3), 3, state, []int32{2}, []int32{1}, words) },
	} {
		requireRefusal(t, draw)
	}
}

func TestBitLookup(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, n := range []int{0, 1, 4, 8, 12} {
			table := endOfPage[float64](t, 1<<n)(1 << n)
			for i := range table {
				table[i] = r.NormFloat64()
			}
			state, sites, number := numbered(t, r, n)
			dst := newGuarded[float64](BitSamples)
			for b := range dst.data {
				dst.data[b] = float64(b)
			}
			BitLookup((*[BitSamples]float64)(dst.data), table, -0.3, state, sites)
			dst.check(t)
			for b, i := range number {
				require.InDelta(t, float64(b)-0.3*table[i], dst.data[b], 1e-13)
			}
		}
	})
	dst, state := new([BitSamples]float64), make([]uint64, 3)
	requireRefusal(t, func() { BitLookup(dst, make([]float64, 3), 1, state, make([]int32, 2)) })
	requireRefusal(t, func() { BitLookup(dst, make([]float64, 4), 1, state, []int32{0, -1}) })
}

func TestBitSelect(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(17, 18))
		for _, n := range []int{0, 1, 5, 12, BitNumber} {
			table := endOfPage[float32](t, 1<<n)(1 << n)
			for i := range table {
				table[i] = r.Float32()
			}
			state, sites, number := numbered(t, r, n)
			var dst [2][BitSamples]float32
			BitSelect(dst[:1], table, state, sites)
			BitSelect(dst[1:], table, state, sites)
			require.Equal(t, dst[0], dst[1])
			for b, i := range number {
				require.Equal(t, table[i], dst[0][b])
			}
			two := slices.Concat(make([]uint64, len(state)), state)
			BitSelect(dst[:], table, two, sites)
			require.Equal(t, table[0], dst[0][BitSamples-1], "of a block of spins that are −1")
			for b, i := range number {
				require.Equal(t, table[i], dst[1][b])
			}
		}
	})
	dst, state := make([][BitSamples]float32, 1), make([]uint64, 3)
	requireRefusal(t, func() { BitSelect(dst, make([]float32, 3), state, make([]int32, 2)) })
	requireRefusal(t, func() { BitSelect(dst, make([]float32, 4), state, []int32{0, 3}) })
	requireRefusal(t, func() { BitSelect(nil, make([]float32, 4), state, make([]int32, 2)) })
}

func TestBitScore(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(5, 6))
		for range 500 {
			logits, spins := bitLogitCases(r), r.Uint64()
			logq, residual := newGuarded[float64](BitSamples), newGuarded[float32](BitSamples)
			for b := range logq.data {
				logq.data[b] = float64(b)
			}
			alone := [BitSamples]float64(logq.data)
			BitScore((*[BitSamples]float64)(logq.data), (*[BitSamples]float32)(residual.data), &logits, spins)
			logq.check(t)
			residual.check(t)
			BitScore(&alone, nil, &logits, spins)
			require.Equal(t, alone[:], logq.data)
			for b, l := range logits {
				x := float64(int(spins>>b&1)*2 - 1)
				y := x * float64(l)
				want := min(y, 0) - math.Log1p(math.Exp(-math.Abs(y)))
				require.InDelta(t, float64(b)+want, logq.data[b], 3e-7*max(1, math.Abs(y)), "x = %v, logit %v", x, l)
				require.InDelta(t, x/(1+math.Exp(y)), residual.data[b], 3e-7, "x = %v, logit %v", x, l)
			}
		}
	})
}

func TestBitPerceptronRefusesWrongArguments(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var dst [1][BitSamples]float32
	try := func(change func(c *bitCase)) func() {
		c := newBitCase(t, r, 32, 3)
		change(c)
		return func() { c.Logits(dst[:], c.state, c.sites) }
	}
	require.NotPanics(t, try(func(*bitCase) {}))
	requireRefusal(t, try(func(c *bitCase) { c.Output = c.Output[:16] }))
	requireRefusal(t, try(func(c *bitCase) { c.Tables = c.Tables[1:] }))
	requireRefusal(t, try(func(c *bitCase) { c.sites = c.sites[:11] }))
	requireRefusal(t, try(func(c *bitCase) { c.sites[2] = -1 }))
	requireRefusal(t, try(func(c *bitCase) { c.state = c.state[:99] }))
	c := newBitCase(t, r, 32, 3)
	requireRefusal(t, func() { c.Logits(nil, c.state, c.sites) })
	requireRefusal(t, func() { c.Logits(make([][BitSamples]float32, 3), c.state, c.sites) })
}

func BenchmarkBitPerceptron(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, shape := range [][2]int{{16, 6}, {48, 6}, {64, 10}} {
		c := newBitCase(b, r, shape[0], shape[1])
		name := fmt.Sprintf("hidden=%d,spins=%d", shape[0], 4*shape[1])
		var dst [1][BitSamples]float32
		b.Run("logits/"+name, func(b *testing.B) {
			benchEachPath(b, func(b *testing.B, _ Path) {
				for b.Loop() {
					c.Logits(dst[:], c.state, c.sites)
				}
			})
		})
		tables, output := make([]float32, len(c.Tables)), make([]float32, len(c.Output))
		b.Run("gradient/"+name, func(b *testing.B) {
			benchEachPath(b, func(b *testing.B, _ Path) {
				for b.Loop() {
					c.Gradient(tables, output, &c.scale, &c.residual, c.state, c.sites)
				}
			})
		})
	}
	logits := bitLogitCases(r)
	var words [BitSamples]uint32
	var logq [BitSamples]float64
	b.Run("heatbath", func(b *testing.B) {
		benchEachPath(b, func(b *testing.B, _ Path) {
			for b.Loop() {
				HeatBath(&logq, nil, &logits, &words)
			}
		})
	})
	b.Run("score", func(b *testing.B) {
		benchEachPath(b, func(b *testing.B, _ Path) {
			for b.Loop() {
				BitScore(&logq, nil, &logits, 12345)
			}
		})
	})
}
