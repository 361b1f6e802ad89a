package hierarchy

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// weights are the parameters of a model as its kernels read them: per unit the
// sums of every four inputs' weights, for all symmetries of the unit side by
// side.
type weights struct {
	model   *Model
	nets    []asm.BitPerceptron
	workers *pool.Pool
	params  []float32
	runUnit func(int)
}

func newWeights(m *Model, workers *pool.Pool) *weights {
	w := &weights{model: m, nets: make([]asm.BitPerceptron, len(m.units)), workers: workers}
	for i := range m.units {
		u := &m.units[i]
		w.nets[i].Tables = make([]float32, u.padded/4*16*u.lanes)
		w.nets[i].Output = make([]float32, u.lanes)
	}
	w.runUnit = func(i int) { m.units[i].expand(&w.nets[i], w.params, m.even) }
	return w
}

func (w *weights) set(params []float32) {
	w.params = params
	w.workers.Run(len(w.nets), w.runUnit)
}

// expand writes the tables of θ.
func (u *unit) expand(net *asm.BitPerceptron, params []float32, even bool) {
	if even {
		net.Bias = params[u.shift]
	}
	if u.hidden == 0 {
		return
	}
	w, v := params[u.weights:][:u.hidden*u.m], params[u.output:][:u.hidden]
	for g, image := range u.images {
		lane := g * u.hidden
		copy(net.Output[lane:], v)
		for q := range u.padded / 4 {
			table := net.Tables[q*16*u.lanes:][:16*u.lanes]
			n := min(4, u.m-4*q)
			for h := range u.hidden {
				var c [4]float32
				var sum float32
				for j := range n {
					c[j] = w[h*u.m+image[4*q+j]]
					sum -= c[j]
				}
				if even && q == 0 {
					sum += params[u.biases+h]
				}
				at := lane + h
				for bits := range 16 {
					s := sum
					for j := range n {
						if bits>>j&1 != 0 {
							s += 2 * c[j]
						}
					}
					table[bits*u.lanes+at] = s
				}
			}
		}
	}
}

// fold adds the derivatives with respect to θ of which those with respect to
// the expanded tables and output weights are given, to grad, indexed as θ.
func (u *unit) fold(grad, tables, output []float32, even bool) {
	w, v := grad[u.weights:][:u.hidden*u.m], grad[u.output:][:u.hidden]
	for g, image := range u.images {
		lane := g * u.hidden
		for h := range v {
			v[h] += output[lane+h]
		}
		for q := range u.padded / 4 {
			table := tables[q*16*u.lanes:][:16*u.lanes]
			n := min(4, u.m-4*q)
			for h := range u.hidden {
				// Halves of the table, by each bit in turn.
				var s [16]float32
				for bits := range s {
					s[bits] = table[bits*u.lanes+lane+h]
				}
				var d [4]float32
				for j, width := 0, 16; j < n; j, width = j+1, width/2 {
					var sum float32
					for k := range width / 2 {
						sum += s[2*k+1] - s[2*k]
						s[k] = s[2*k+1] + s[2*k]
					}
					d[j] = sum
				}
				for j := range n {
					w[h*u.m+image[4*q+j]] += d[j]
				}
				if even && q == 0 {
					var sum float32
					for bits := range 16 {
						sum += table[bits*u.lanes+lane+h]
					}
					grad[u.biases+h] += sum
				}
			}
		}
	}
}

// logits sets dst to the logits of the unit's spin at position k.
func (w *weights) logits(dst *[block]float32, i, k int, state []uint64) {
	u, net := &w.model.units[i], &w.nets[i]
	if u.hidden == 0 {
		for b := range dst {
			dst[b] = net.Bias
		}
		return
	}
	net.Logits(dst, state, u.inputs[k*u.padded:][:u.padded])
}
