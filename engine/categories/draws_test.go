package categories

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// stateOf is the number of the weights' partial sums, of all but the last, that are at most a
// word's part of their sum. It is not sure within rounding of these.
func stateOf(weights []float64, word uint32) (state byte, sure bool) {
	var all, below float64
	for _, w := range weights {
		all += w
	}
	sure = true
	for _, w := range weights[:len(weights)-1] {
		below += w
		left := float64(word)*0x1p-32 - below/all
		if sure = sure && math.Abs(left) > 1e-6; left >= 0 {
			state++
		}
	}
	return state, sure
}

// lawOf returns the weights of a site's states, given those of some sites, summed over the others.
func lawOf(t *Target, site int, known []bool, x []byte) []float64 {
	weights := make([]float64, t.States[site])
	t.Each(func(_ int, s []byte) {
		for i, k := range known {
			if k && s[i] != x[i] {
				return
			}
		}
		weights[s[site]] += math.Exp(-t.Beta * t.Energy(s))
	})
	return weights
}

// naiveDraw draws a sample one site after another: of block k of 64 samples position p of the
// order has words (k·(n + 8) + p)·64 … of the stream, one for each sample, and exact sites begin at
// a multiple of eight.
func naiveDraw(m *Model, params []float64, stream asm.Counter, index int) (x []byte, sure bool) {
	t, n := &m.target, m.Sites()
	x, sure = make([]byte, n), true
	known, position := make([]bool, n), 0
	draw := func(site int, weights []float64) {
		words := make([]uint32, 64)
		asm.PhiloxBlocks(words, &stream, uint64(index/64*(n+8)+position)*16)
		position++
		state, certain := stateOf(weights, words[index%64])
		x[site], known[site], sure = state, true, sure && certain
	}
	for i := range m.Units {
		u := &m.Units[i]
		for s, site := range u.Sites {
			var weights []float64
			for c := range m.states(u) {
				inputs := u.InputsOf(c, s)
				weights = append(weights, math.Exp(m.Nets[u.NetOf(c)].Value64(params, func(j int) float64 {
					plane, at := int(inputs[j])/(n+1), int(inputs[j])%(n+1)
					if at < n && m.coding.bit(plane, int(x[at]), m.coding.q) {
						return 1
					}
					return -1
				})))
			}
			draw(int(site), weights)
		}
	}
	position = (position + 7) / 8 * 8
	for _, s := range m.law.stars {
		if s.leaves != nil {
			draw(s.centre.site, lawOf(t, s.centre.site, known, x))
		}
	}
	for _, i := range m.law.lastExact {
		draw(i, lawOf(t, i, known, x))
	}
	return x, sure
}

// TestDrawsFollowTheirWords: samplers and sums draw what each site's word
// of the stream says.
func TestDrawsFollowTheirWords(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range small() {
		m, err := NewModel(c.Target, c.Network, workers)
		require.NoError(t, err)
		params, n := wild(m), c.N()
		wide := make([]float64, len(params))
		for i, p := range params {
			wide[i] = float64(p)
		}
		step := 1 + c.Configurations()/40 // of samples, fewer of large targets
		compared := 0
		same := func(want []byte, sure bool, got []byte, what string, index int) {
			if sure {
				require.Equal(t, want, got, "%s, %s %d", name, what, index)
				compared++
			}
		}
		const first, samples = 3000, 64*33 + 5
		batch, r := make([]byte, samples*n), make([]float64, samples)
		require.NoError(t, m.NewSampler(params, workers).Sample(batch, r, 5, first))
		for i := 0; i < samples; i += 20 * step {
			want, sure := naiveDraw(m, wide, rng.Stream(5, rng.SampleHead, 0), first+i)
			same(want, sure, batch[i*n:][:n], "sample", i)
		}

		s, err := NewSum(t.Context(), &c.Target)
		require.NoError(t, err)
		stream, per := rng.Stream(2, rng.Reference, 0), (n+3)/4
		s.Draw(batch[:50*n], &stream, 7)
		for i := range 50 {
			words := make([]uint32, 4*per)
			asm.PhiloxBlocks(words, &stream, uint64((7+i)*per))
			x, known, sure := make([]byte, n), make([]bool, n), true
			for k := n - 1; k >= 0 && i%step == 0; k-- {
				site := s.order[k].site
				state, certain := stateOf(lawOf(&c.Target, site, known, x), words[k])
				x[site], known[site], sure = state, true, sure && certain
			}
			same(x, sure && i%step == 0, batch[i*n:][:n], "draw", i)
		}
		require.Greater(t, compared, 1, name)
	}
}
