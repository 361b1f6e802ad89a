package categories

import (
	"fmt"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
)

// An Ensemble is a sites.Ensemble of configurations of one byte a site.
type Ensemble = sites.Ensemble[byte]

// Bytes are the sites.States of a target, one byte a site.
type Bytes struct {
	*Target
	Shape []int  // of the array of a configuration's sites
	Order string // which site is which: the end of a sentence
}

// Words implements sites.States.
func (t Bytes) Words() int { return t.N() }

// Sites implements sites.States.
func (t Bytes) Sites() int { return t.N() }

// MaxSamples implements sites.States.
func (t Bytes) MaxSamples() uint64 { return sites.MaxSamples }

// Formats implements sites.States.
func (t Bytes) Formats() []engine.Format {
	n, q := t.N(), t.MaxQ()
	return []engine.Format{
		{Name: "states", Descr: "'|i1'", Shape: t.Shape, RowBytes: n, Doc: fmt.Sprintf("states 0 … %d as int8", q-1) + t.Order},
		{Name: "one_hot", Descr: "'|i1'", Shape: append(t.Shape[:len(t.Shape):len(t.Shape)], q), RowBytes: n * q,
			Doc: "for each state of a site, 1 where it is in it and 0 otherwise, as int8" + t.Order},
	}
}

// Read implements sites.States.
func (t Bytes) Read(format string, states []byte) ([]byte, error) {
	n, q := t.N(), t.MaxQ()
	if format == "one_hot" {
		packed := make([]byte, len(states)/q)
		for i := range packed {
			x := states[i*q:][:q]
			state := slices.Index(x, 1)
			for s, v := range x {
				if state < 0 || v != 0 && s != state {
					return nil, fmt.Errorf("states: of site %d of configuration %d not exactly one of the %d numbers is 1 and the others 0", i%n, i/n, q)
				}
			}
			packed[i] = byte(state)
		}
		states = packed
	}
	for k, s := range states {
		if int(s) >= t.Target.States[k%n] {
			return nil, fmt.Errorf("states: site %d of configuration %d is in state %d; its states are 0 to %d", k%n, k/n, int8(s), t.Target.States[k%n]-1)
		}
	}
	return states, nil
}

// Write implements sites.States.
func (t Bytes) Write(dst []byte, format string, batch []byte) {
	if format == "states" {
		copy(dst, batch)
		return
	}
	clear(dst)
	for i, s := range batch {
		dst[i*t.MaxQ()+int(s)] = 1
	}
}

// Disperse implements sites.States. Every other configuration has all sites in one state, each
// state in turn. The others are random.
func (t Bytes) Disperse(batch []byte, stream *rng.Counter, first uint64) {
	n := t.N()
	words := make([]uint32, (n+3)/4*4)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(words, stream, (first+uint64(i))*uint64(len(words)/4))
		for k, q := range t.Target.States {
			x := byte(uint64(words[k]) * uint64(q) >> 32)
			if i%2 == 0 {
				x = byte(i / 2 % q)
			}
			batch[i*n+k] = x
		}
	}
}

// Stir implements sites.States. If the target has a symmetry of states, it relabels the states of
// every configuration by a random one.
func (t Bytes) Stir(batch []byte, c rng.Counter, first uint64) {
	code, symmetric := t.Code()
	if !symmetric {
		return
	}
	n, q := t.N(), t.MaxQ()
	relabelling := randomPermutation
	if code == Distance {
		relabelling = randomRotation
	}
	words := make([]uint32, MaxStates)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(words, &c, (first+uint64(i))*uint64(len(words)/4))
		labels := relabelling(q, words)
		for k, s := range batch[i*n:][:n] {
			batch[i*n+k] = labels[s]
		}
	}
}

// randomPermutation returns a permutation of q states (Fisher and Yates).
func randomPermutation(q int, words []uint32) (labels [MaxStates]byte) {
	for s := range q {
		labels[s] = byte(s)
	}
	for s := q - 1; s >= 0; s-- {
		k := int(uint64(words[s]) * uint64(s+1) >> 32)
		labels[s], labels[k] = labels[k], labels[s]
	}
	return labels
}

// randomRotation returns a rotation of the circle of q states, or a reflection as likely.
func randomRotation(q int, words []uint32) (labels [MaxStates]byte) {
	shift, reflect := int(uint64(words[0])*uint64(q)>>32), words[1]>>31 == 1
	for s := range q {
		labels[s] = byte((s + shift) % q)
		if reflect {
			labels[s] = byte((q - s + shift) % q)
		}
	}
	return labels
}

// columns sets a block's states, [site][64], to those of up to 64 configurations. If there are fewer,
// the last one repeats.
func columns(dst, batch []byte, n int) {
	rows := len(batch) / n
	for b := range block {
		for i, x := range batch[min(b, rows-1)*n:][:n] {
			dst[i*block+b] = x
		}
	}
}

// rows sets configurations to samples first, first+1, … of a block.
func rows(dst, state []byte, n, first int) {
	for b := first; len(dst) > 0; b, dst = b+1, dst[n:] {
		for i := range dst[:n] {
			dst[i] = state[i*block+b]
		}
	}
}

var _ sites.States[byte] = Bytes{}
