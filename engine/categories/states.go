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
	Shape []int  // of an array of a configuration's sites
	Order string // which site is which, as the end of a sentence
}

// Words implements sites.States.
func (t Bytes) Words() int { return t.N() }

// Sites implements sites.States.
func (t Bytes) Sites() int { return t.N() }

// MaxSamples implements sites.States.
func (t Bytes) MaxSamples() uint64 { return sites.MaxSamples }

// Formats implements sites.States.
func (t Bytes) Formats() []engine.Format {
	n, q := t.N(), t.Most()
	return []engine.Format{
		{Name: "states", Descr: "'|i1'", Shape: t.Shape, RowBytes: n, Doc: fmt.Sprintf("states 0 … %d as int8", q-1) + t.Order},
		{Name: "one_hot", Descr: "'|i1'", Shape: append(t.Shape[:len(t.Shape):len(t.Shape)], q), RowBytes: n * q,
			Doc: "for each state of a site, 1 where it is in it and 0 otherwise, as int8" + t.Order},
	}
}

// Read implements sites.States.
func (t Bytes) Read(format string, states []byte) ([]byte, error) {
	n, q := t.N(), t.Most()
	if format == "one_hot" {
		packed := make([]byte, len(states)/q)
		for i := range packed {
			x := states[i*q:][:q]
			at := slices.Index(x, 1)
			for s, v := range x {
				if at < 0 || v != 0 && s != at {
					return nil, fmt.Errorf("states: of site %d of configuration %d not exactly one of the %d numbers is 1 and the others 0", i%n, i/n, q)
				}
			}
			packed[i] = byte(at)
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
		dst[i*t.Most()+int(s)] = 1
	}
}

// Disperse implements sites.States: every other configuration has all sites in one state, each
// of the states in turns, and the rest are drawn by chance.
func (t Bytes) Disperse(batch []byte, from *rng.Counter, first uint64) {
	n := t.N()
	draw := make([]uint32, (n+3)/4*4)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(draw, from, (first+uint64(i))*uint64(len(draw)/4))
		for k, q := range t.Target.States {
			x := byte(uint64(draw[k]) * uint64(q) >> 32)
			if i%2 == 0 {
				x = byte(i / 2 % q)
			}
			batch[i*n+k] = x
		}
	}
}

// Stir implements sites.States: where states are alike it renames those of every configuration
// by chance.
func (t Bytes) Stir(batch []byte, c rng.Counter, first uint64) {
	code, even := t.Code()
	if !even {
		return
	}
	n, q := t.N(), t.Most()
	draw := make([]uint32, 16)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(draw, &c, (first+uint64(i))*4)
		var to [MostStates]byte
		for s := range q {
			to[s] = byte(s)
		}
		shift, reflect := int(uint64(draw[0])*uint64(q)>>32), draw[1]>>31 == 1
		for s := q - 1; s >= 0; s-- {
			if code == Same {
				k := int(uint64(draw[s]) * uint64(s+1) >> 32)
				to[s], to[k] = to[k], to[s]
				continue
			}
			to[s] = byte((s + shift) % q)
			if reflect {
				to[s] = byte((q - s + shift) % q)
			}
		}
		for k, s := range batch[i*n:][:n] {
			batch[i*n+k] = to[s]
		}
	}
}

// columns sets a block's states, [site][64], to those of up to 64 configurations, one after
// another; the last fills up.
func columns(dst, batch []byte, n int) {
	rows := len(batch) / n
	for b := range block {
		for i, x := range batch[min(b, rows-1)*n:][:n] {
			dst[i*block+b] = x
		}
	}
}

// rows sets configurations to those of a block from sample first on.
func rows(dst, state []byte, n, first int) {
	for b := first; len(dst) > 0; b, dst = b+1, dst[n:] {
		for i := range dst[:n] {
			dst[i] = state[i*block+b]
		}
	}
}

var _ sites.States[byte] = Bytes{}
