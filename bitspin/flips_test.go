package bitspin

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
)

// A plainLaw has any couplings and fields.
type plainLaw struct {
	beta     float64
	fields   []float64
	coupling [][]float64 // of a spin with those before it
}

func newPlainLaw(n int, beta float64) *plainLaw {
	r := rand.New(rand.NewPCG(uint64(n), 6))
	l := &plainLaw{beta: beta}
	for i := range n {
		l.fields, l.coupling = append(l.fields, r.NormFloat64()), append(l.coupling, make([]float64, i))
		for j := range i {
			l.coupling[i][j] = r.NormFloat64() / math.Sqrt(float64(n))
		}
	}
	return l
}

func (l *plainLaw) energy(config []uint64) (e float64) {
	for i, h := range l.fields {
		e -= h * float64(spin(config, i))
		for j, c := range l.coupling[i] {
			e -= c * float64(spin(config, i)*spin(config, j))
		}
	}
	return e
}

func (l *plainLaw) threshold(config []uint64, flip func(config []uint64)) uint64 {
	flipped := append([]uint64(nil), config...)
	flip(flipped)
	return Threshold(-l.beta * (l.energy(flipped) - l.energy(config)))
}

func (l *plainLaw) FlipOne(config []uint64, i int) uint64 {
	return l.threshold(config, func(config []uint64) { config[i>>6] ^= 1 << (i & 63) })
}

func (l *plainLaw) FlipAll(config []uint64) uint64 {
	return l.threshold(config, func(config []uint64) { Invert(config, len(l.fields)) })
}

// TestFlipsFollowTheirDraws: steps are what the definition makes of the draws,
// rejected ones included, which happen so seldom that more are rejected here.
func TestFlipsFollowTheirDraws(t *testing.T) {
	for _, n := range []int{1, 12, 65} {
		const rows, steps, beta = 70, 30, 0.4
		for _, reject := range []uint32{0, 1 << 31} {
			law := newPlainLaw(n, beta)
			f, err := NewFlips(n, 0.1, law)
			require.NoError(t, err)
			require.Equal(t, uint32((1<<32)%n), f.spin.reject)
			f.spin.reject = max(f.spin.reject, reject)
			r := rand.New(rand.NewPCG(5, 8))
			batch := make([]uint64, rows*Words(n))
			for i := range batch {
				batch[i] = r.Uint64()
				if i%Words(n) == Words(n)-1 {
					batch[i] &= LastWordMask(n)
				}
			}
			want, accepted := append([]uint64(nil), batch...), uint64(0)
			var st Count
			stream := asm.Counter{Seed: 8}
			f.Run(nil, batch, batch, 0, rows, steps, &stream, 100, &st)
			for k := range uint64(rows) {
				s, sample := want[int(k)*Words(n):][:Words(n)], 100+k
				for step := range uint64(steps) {
					draw := make([]uint32, 4)
					asm.PhiloxBlocks(draw, &stream, step<<42|sample)
					product := uint64(draw[0]) * uint64(n)
					for block := uint64(1); uint32(product) < f.spin.reject; block++ {
						again := make([]uint32, 4)
						asm.PhiloxBlocks(again, &stream, step<<42|block<<36|sample)
						product = uint64(again[0]) * uint64(n)
					}
					before := law.energy(s)
					flip := func() { i := product >> 32; s[i/64] ^= 1 << (i % 64) }
					if float64(draw[1]) < math.RoundToEven(0.1*(1<<32)) {
						flip = func() { Invert(s, n) }
					}
					flip()
					u := (float64(draw[2])*(1<<32) + float64(draw[3])) / (1 << 64)
					if difference := law.energy(s) - before; difference > 1e-9 && u >= math.Exp(-beta*difference) {
						flip()
					} else {
						accepted++
					}
				}
			}
			require.Equal(t, want, batch, "%d spins", n)
			require.Equal(t, Count{rows * steps, accepted}, st)
		}
	}
}

// TestStepsAtTheirBounds: draws that equal a bound are those above it. A word below the
// rejection of products is drawn again, one at it is not, in the first block and in the next;
// all spins flip below their probability, and a move is accepted below its own.
func TestStepsAtTheirBounds(t *testing.T) {
	m, err := NewFlips(3, 0.25, &plainLaw{beta: 0.5, fields: []float64{1, 2, 4}, coupling: [][]float64{nil, nil, nil}})
	require.NoError(t, err)
	var c asm.Counter
	blocks := make([]uint32, 12)
	for b := range uint64(3) {
		asm.PhiloxBlocks(blocks[4*b:4*b+4], &c, (5<<6|b)<<36|9)
	}
	product := func(block int) uint64 { return 3 * uint64(blocks[4*block]) }
	low := uint32(product(1))
	require.Less(t, low, uint32(product(2)), "the second serves where the first is rejected")
	require.NotEqual(t, product(1)>>32, product(2)>>32)
	m.spin.reject = low
	require.EqualValues(t, product(1)>>32, m.spin.redraw(&c, 9, 5, 0))
	m.spin.reject = low + 1
	require.EqualValues(t, product(2)>>32, m.spin.redraw(&c, 9, 5, 0))

	const all, up = 0b111, 0b110 // spin 0 is down
	m.spin.reject = 0
	e := func(difference float64) uint64 { return uint64(math.Exp(-0.5*difference) * (1 << 64)) }
	for _, s := range []struct {
		draw   [4]uint32
		u      uint64
		reject uint32
		want   uint64
		stats  Count
	}{
		{draw: [4]uint32{0, 1<<30 - 1}, u: e(14) - 1, want: 0, stats: Count{Proposed: 1, Accepted: 1}},
		{draw: [4]uint32{0, 1<<30 - 1}, u: e(14), want: all, stats: Count{Proposed: 1}},
		{draw: [4]uint32{0, 1 << 30}, u: e(2) - 1, want: up, stats: Count{Proposed: 1, Accepted: 1}},
		{draw: [4]uint32{0, 1 << 30}, u: e(2), want: all, stats: Count{Proposed: 1}},
		{draw: [4]uint32{1, 1 << 30}, reject: 3, want: up, stats: Count{Proposed: 1, Accepted: 1}},
		{draw: [4]uint32{1, 1 << 30}, reject: 4, want: all &^ (1 << (product(1) >> 32)), stats: Count{Proposed: 1, Accepted: 1}},
	} {
		m.spin.reject = s.reject
		s.draw[2], s.draw[3] = uint32(s.u>>32), uint32(s.u)
		config, stats := []uint64{all}, Count{}
		m.step(config, &s.draw, &c, 9, 5, &stats)
		require.Equal(t, s.want, config[0], "%+v", s)
		require.Equal(t, s.stats, stats)
	}
}

// TestFlipsOfAll: the probability may be 1, and nothing else than one.
func TestFlipsOfAll(t *testing.T) {
	f, err := NewFlips(6, 1, newPlainLaw(6, 1))
	require.NoError(t, err)
	require.EqualValues(t, 1<<32, f.global)
	for _, global := range []float64{-1e-9, 1 + 1e-9, math.NaN()} {
		_, err := NewFlips(6, global, nil)
		require.Error(t, err)
	}
}
