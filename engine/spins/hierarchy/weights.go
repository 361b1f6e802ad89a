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
	lanes   [][]float32 // of each unit, for expand
	workers *pool.Pool
	params  []float32
	runUnit func(int)
}

func newWeights(m *Model, workers *pool.Pool) *weights {
	w := &weights{model: m, nets: make([]asm.BitPerceptron, len(m.units)), lanes: make([][]float32, len(m.units)), workers: workers}
	for i := range m.units {
		u := &m.units[i]
		w.nets[i].Tables = make([]float32, u.padded/4*16*u.lanes)
		w.nets[i].Output = make([]float32, u.lanes)
		w.lanes[i] = make([]float32, (u.padded+1)*u.lanes)
	}
	w.runUnit = func(i int) { m.units[i].expand(&w.nets[i], w.lanes[i], w.params, m.biased) }
	return w
}

func (w *weights) set(params []float32) {
	w.params = params
	w.workers.Run(len(w.nets), w.runUnit)
}

// expand writes the tables of θ; lanes has room for the weights [padded][K] and
// biases [K] of all images.
func (u *unit) expand(net *asm.BitPerceptron, lanes, params []float32, biased bool) {
	if biased {
		net.Bias = params[u.shift]
	}
	if u.hidden == 0 {
		return
	}
	w, v := params[u.weights:][:u.hidden*u.m], params[u.output:][:u.hidden]
	bias := lanes[u.padded*u.lanes:]
	for g, image := range u.images {
		copy(net.Output[g*u.hidden:], v)
		if biased {
			copy(bias[g*u.hidden:], params[u.biases:][:u.hidden])
		}
		for j, from := range image {
			row := lanes[j*u.lanes+g*u.hidden:][:u.hidden]
			for h := range row {
				row[h] = w[h*u.m+from]
			}
		}
	}
	asm.BitTables(net.Tables, lanes[:u.padded*u.lanes], bias)
}

// fold adds the derivatives with respect to θ of which those with respect to
// the expanded tables and output weights are given, to grad, indexed as θ.
// lanes has room for [padded][K] numbers.
func (u *unit) fold(grad, lanes, tables, output []float32, biased bool) {
	if u.hidden == 0 {
		return
	}
	clear(lanes)
	asm.BitFold(lanes, tables, u.lanes)
	w, v := grad[u.weights:][:u.hidden*u.m], grad[u.output:][:u.hidden]
	for g, image := range u.images {
		for h := range v {
			v[h] += output[g*u.hidden+h]
		}
		for j, to := range image {
			row := lanes[j*u.lanes+g*u.hidden:][:u.hidden]
			for h, d := range row {
				w[h*u.m+to] += d
			}
		}
		if biased {
			biases := grad[u.biases:][:u.hidden]
			for row := range 16 { // of the first group
				for h, d := range tables[row*u.lanes+g*u.hidden:][:u.hidden] {
					biases[h] += d
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
