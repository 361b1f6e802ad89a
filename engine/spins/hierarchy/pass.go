package hierarchy

import "github.com/revgen/revgen/asm"

// together is the largest number of blocks that draw and score take at once: a unit's
// tables are read from memory once for all of them.
const together = 4

// draw draws the learned spins of as many blocks as logq has, first and those after it
// of a stream. It sets their ln q and, unless residual is nil, its derivatives with
// respect to the logits, [blocks][learned]. Block k owns n of the stream's spins, from
// k·n on: the learned ones, then the exact ones.
func (m *Model) draw(w *Kernels, states []uint64, logq [][block]float64, residual [][block]float32, stream *asm.Counter, first uint64) {
	clear(states)
	var random [together]Words
	for k := range logq {
		random[k].Start(stream, (first+uint64(k))*uint64(m.Spins()), m.learned)
	}
	m.pass(w, states, logq, residual, random[:len(logq)])
}

// score sets what draw does, of spins that are there.
func (m *Model) score(w *Kernels, states []uint64, logq [][block]float64, residual [][block]float32) {
	m.pass(w, states, logq, residual, nil)
}

func (m *Model) pass(w *Kernels, states []uint64, logq [][block]float64, residual [][block]float32, random []Words) {
	clear(logq)
	var all [together][block]float32
	logits := all[:len(logq)]
	size, n := len(states)/len(logq), 0
	for i := range m.units {
		u, net := &m.units[i], w.Of(i)
		for s, site := range u.sites {
			net.Logits(logits, states, u.inputs[s*u.padded:][:u.padded])
			for k := range logits {
				spin := &states[k*size+int(site)]
				var derivative *[block]float32
				if residual != nil {
					derivative = &residual[k*m.learned+n]
				}
				if random != nil {
					*spin = asm.HeatBath(&logq[k], derivative, &logits[k], random[k].Next())
				} else {
					asm.BitScore(&logq[k], derivative, &logits[k], *spin)
				}
			}
			n++
		}
	}
}
