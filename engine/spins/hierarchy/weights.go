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

// logits sets dst[i] to block i's logits of the unit's spin at position k.
func (w *weights) logits(dst [][block]float32, i, k int, states []uint64) {
	u, net := &w.model.units[i], &w.nets[i]
	if u.hidden == 0 {
		for i := range dst {
			for b := range dst[i] {
				dst[i][b] = net.Bias
			}
		}
		return
	}
	net.Logits(dst, states, u.inputs[k*u.padded:][:u.padded])
}

// together is the largest number of blocks that draw and score take at once: a unit's
// tables are read from memory once for all of them.
const together = 4

// draw draws the learned spins of as many blocks as logq has, first and those after it
// of a stream. It sets their ln q and, unless residual is nil, its derivatives with
// respect to the logits, [blocks][learned]. Of the stream's spins, block k owns n from
// k·n on: the learned ones, then the exact ones.
func (w *weights) draw(states []uint64, logq [][block]float64, residual [][block]float32, stream *asm.Counter, first uint64) {
	clear(states)
	var random [together]words
	for k := range logq {
		random[k].start(stream, (first+uint64(k))*uint64(w.model.Spins()), w.model.learned)
	}
	w.pass(states, logq, residual, random[:len(logq)])
}

// score sets what draw does, of spins that are there.
func (w *weights) score(states []uint64, logq [][block]float64, residual [][block]float32) {
	w.pass(states, logq, residual, nil)
}

func (w *weights) pass(states []uint64, logq [][block]float64, residual [][block]float32, random []words) {
	clear(logq)
	var all [together][block]float32
	logits := all[:len(logq)]
	size, n := len(states)/len(logq), 0
	for i := range w.nets {
		for s, site := range w.model.units[i].sites {
			w.logits(logits, i, s, states)
			for k := range logits {
				spin := &states[k*size+int(site)]
				var derivative *[block]float32
				if residual != nil {
					derivative = &residual[k*w.model.learned+n]
				}
				if random != nil {
					*spin = asm.HeatBath(&logq[k], derivative, &logits[k], random[k].of())
				} else {
					asm.BitScore(&logq[k], derivative, &logits[k], *spin)
				}
			}
			n++
		}
	}
}
