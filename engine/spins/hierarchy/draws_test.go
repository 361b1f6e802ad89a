package hierarchy

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// naiveDraw draws a sample of at most 64 spins one spin after another: of block k of 64 samples
// position p of the order has words (k·n + p)·64 … of the stream, one for each sample. It is not
// sure where terms cancel, up to their rounding, and the sign of their sum decides.
func naiveDraw(m *Model, params []float64, stream asm.Counter, index uint64) (drawn uint64, sure bool) {
	t, near := m.Target(), m.target.neighbours()
	config, position := []uint64{0}, uint64(0)
	sure = true
	draw := func(site int32, logit float64, learned bool) {
		words := make([]uint32, 64)
		asm.PhiloxBlocks(words, &stream, (index/64*uint64(t.Spins)+position)*16)
		position++
		word := float64(words[index%64])
		up := word < math.RoundToEven(0x1p32/(1+math.Exp(-logit)))
		if learned { // of 31 bits, which decide about the less likely spin
			up = (math.Floor(word/2) < 0x1p31/(1+math.Exp(math.Abs(logit)))) != (logit >= 0)
		}
		if up {
			config[0] |= 1 << site
		}
	}
	for i := range m.Units {
		u := &m.Units[i]
		for k, site := range u.Sites {
			logit := u.Value64(params, func(j int) float64 { return spins.Spin(config, int(u.Inputs[0][k*u.padded+j])) })
			sure = sure && (u.hidden == 0 || math.Abs(logit) > 1e-5)
			draw(site, logit, true)
		}
	}
	field := func(i int) (h float64) { // of what is drawn
		h = t.field(i)
		for _, b := range near[i] {
			h += b.coupling * spins.Spin(config, b.spin)
		}
		return h
	}
	known := learnedMask(m)
	for _, s := range m.exact.drawOrder {
		logit := 2 * t.Beta * t.field(int(s.centre))
		for _, b := range near[s.centre] {
			if known>>b.spin&1 == 1 {
				logit += 2 * t.Beta * b.coupling * spins.Spin(config, b.spin)
				continue
			}
			h := field(b.spin) - b.coupling*spins.Spin(config, int(s.centre))
			logit += math.Log(math.Cosh(t.Beta*(h+b.coupling)) / math.Cosh(t.Beta*(h-b.coupling)))
		}
		draw(s.centre, logit, false)
		known |= 1 << s.centre
	}
	return config[0], sure
}

// TestDrawsFollowTheirWords: samplers and batches draw what each spin's word of the stream says.
func TestDrawsFollowTheirWords(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range small(t) {
		params := wild(m, 4)
		p := wide(params)
		const first, samples = 6000, 64*8*3 + 10
		drawn, r := make([]uint64, samples), make([]float64, samples)
		require.NoError(t, m.NewSampler(params, workers).Sample(drawn, r, 5, first))
		compared := 0
		same := func(stream asm.Counter, index int, got uint64) {
			if want, sure := naiveDraw(m, p, stream, uint64(index)); sure {
				require.Equal(t, want, got, "%s, sample %d", name, index)
				compared++
			}
		}
		for i := 0; i < samples; i += 5 {
			same(rng.Stream(5, rng.SampleHead, 0), first+i, drawn[i])
		}
		b, err := m.NewBatch(64*20, 0, 6, workers)
		require.NoError(t, err)
		b.Generate(params, 9)
		b.Complete(drawn[:64*20])
		for i := 0; i < 64*20; i += 7 {
			same(rng.Stream(6, rng.TrainHead, 9), i, drawn[i])
		}
		require.Greater(t, compared, 100, name)
		all := uint64(0) // spins that were up
		for _, x := range drawn {
			all |= x
		}
		require.Equal(t, m.Spins(), bits.OnesCount64(all), name)
	}
}
