package spins

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// TestPackedStates holds both formats against spins one at a time, at sizes about those of
// words, and says what is wrong with states.
func TestPackedStates(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{1, 7, 8, 9, 63, 64, 65, 128, 130} {
		const rows = 5
		p := Packed{Spins: n, Even: true}
		require.Equal(t, []int{(n + 63) / 64, n}, []int{p.Words(), p.Sites()})
		signs, packed := make([]byte, rows*n), make([]uint64, rows*p.Words())
		for i := range signs {
			up := random.Uint64() & 1
			signs[i] = byte(2*int8(up) - 1)
			packed[i/n*p.Words()+i%n/64] |= up << (i % n % 64)
		}
		var words []byte
		for _, w := range packed {
			words = binary.LittleEndian.AppendUint64(words, w)
		}
		for format, states := range map[string][]byte{"spins": signs, "bits": words} {
			read, err := p.Read(format, states)
			require.NoError(t, err)
			require.Equal(t, packed, read, "%d %s", n, format)
			written := make([]byte, len(states))
			p.Write(written, format, packed)
			require.Equal(t, states, written, "%d %s", n, format)
			for _, f := range p.Formats() {
				if f.Name == format {
					require.Equal(t, len(states)/rows, f.RowBytes)
				}
			}
			_, err = p.Read(format, append(states, 1))
			if len(states)/rows > 1 {
				require.EqualError(t, err, fmt.Sprintf("states: %d bytes are not a number of configurations of %d spins in format %s", len(states)+1, n, format))
			}
		}
		inverse := append([]uint64{}, packed...)
		for c := range rows {
			bitspin.Invert(inverse[c*p.Words():][:p.Words()], n)
		}
		written := make([]byte, len(signs))
		WriteSigns(written, inverse, n)
		for i, s := range signs {
			require.Equal(t, -int8(s), int8(written[i]))
		}

		for _, at := range []int{0, n - 1, (rows-1)*n + n/2} {
			wrong := append([]byte{}, signs...)
			wrong[at] = 3
			_, err := p.Read("spins", wrong)
			require.EqualError(t, err, fmt.Sprintf("states: spin %d of configuration %d is 3 and neither −1 nor 1", at%n, at/n))
		}
		if n%64 != 0 {
			words[8*(3*p.Words()-1)+n%64/8] |= 1 << (n % 8)
			_, err := p.Read("bits", words)
			require.EqualError(t, err, fmt.Sprintf("states: bits beyond the last of %d spins are set in configuration 2", n))
		}
	}
	_, err := ReadStates("csv", nil, 3)
	require.EqualError(t, err, `format: "csv" is not spins or bits`)
}

// TestDispersedStates: a third each are up, down and drawn, each from numbers of its own, and
// stirring inverts half of all, whole.
func TestDispersedStates(t *testing.T) {
	const n, rows = 70, 3000
	p := Packed{Spins: n, Even: true}
	c := rng.Stream(1, rng.ChainTransition, 0)
	batch := make([]uint64, 2*rows)
	p.Disperse(batch, &c, 5)
	ups, seen := 0, map[[2]uint64]bool{}
	for i := range rows {
		config := [2]uint64(batch[2*i:])
		switch i % 3 {
		case 0:
			require.Equal(t, [2]uint64{^uint64(0), 1<<6 - 1}, config)
		case 1:
			require.Zero(t, config)
		default:
			require.False(t, seen[config])
			seen[config] = true
			require.Less(t, config[1], uint64(1<<6))
			for k := range n {
				ups += int(config[k/64] >> (k % 64) & 1)
			}
		}
	}
	require.InDelta(t, n*rows/6, ups, 5*0.5*264.6) // 5 deviations √(nN/4) of N = 1000: 6·10⁻⁷
	later := make([]uint64, 2*(rows-3))
	p.Disperse(later, &c, 8)
	require.Equal(t, batch[6:], later, "a state's numbers do not depend on where a batch begins")

	before := append([]uint64{}, batch...)
	p.Stir(batch, c, 0)
	inverted := 0
	for i := range rows {
		was := before[2*i:][:2]
		if batch[2*i] != was[0] {
			bitspin.Invert(was, n)
			inverted++
		}
		require.Equal(t, was, batch[2*i:][:2])
	}
	require.InDelta(t, rows/2, inverted, 5*0.5*54.8) // √3000
	p.Even = false
	p.Stir(batch, c, 1)
	require.Equal(t, before, batch)
}
