package spins

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
)

// ErrSpread is the error of temperatures too low for a transfer matrix.
var ErrSpread = errors.New("weights are further apart than the transfer matrix holds in float64")

// TransferSums are what a transfer matrix gives, exact to rounding.
type TransferSums struct {
	LogZ float64 // ln Σ_s e^(−βE(s))
	Observables

	*Transfer
	crossings []*crossing
	// after[t] are the sums over all spins that come after step t, by the frontier
	// there. A step's table times them sums to Z, which is 1 in their scale.
	after [][]float64
}

// A summation is a call of Sum under way.
type summation struct {
	*TransferSums
	ctx   context.Context
	beta  float64
	fused []*crossing
	local []float64 // −⟨E⟩ of the bonds and the field that a spin comes with
	lanes int       // passes at a time
	run   func(n int, body func(lane, k int)) error
}

// Sum sums over all configurations at inverse temperature beta ≥ 0. The result is the
// same bits for any number of threads, of which 0 means all. The error is ctx's or
// says what is wrong.
//
// With A_t the table of step t, the sums over all that has come, and B_t those over
// all that comes after, Σ_x s A_t(x) B_t(x) = ⟨s⟩ of a spin of the frontier. The
// table into which s was put goes on as A did and gives ⟨s s′⟩ with every later spin.
// The variance of the energy is that of weights carried along with their first two
// derivatives with respect to β, and the law of Σ s_i is the Fourier transform of
// Z(iθ), of a field in which a spin up weighs e^iθ.
func (t *Transfer) Sum(ctx context.Context, beta float64, threads int) (*TransferSums, error) {
	if err := t.graph.CheckTemperature(beta); err != nil {
		return nil, err
	}
	workers := pool.New(threads)
	defer workers.Close()
	s := &summation{TransferSums: &TransferSums{Transfer: t}, ctx: ctx, beta: beta, lanes: workers.Threads()}
	for s.lanes > 1 && t.memory(s.lanes) > memory.Limit()/2 {
		s.lanes--
	}
	s.run = func(n int, body func(lane, k int)) error {
		workers.Run(min(n, s.lanes), func(lane int) {
			for k := lane; k < n && ctx.Err() == nil; k += s.lanes {
				body(lane, k)
			}
		})
		return ctx.Err()
	}
	for _, pass := range []func() error{s.forward, s.backward, s.correlate, s.vary, s.magnetise} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	return s.TransferSums, nil
}

// buffer returns room for a table.
func (s *summation) buffer() []float64 { return make([]float64, 1<<s.widest) }

// A passage is a table on its way through the steps, with room for the next one.
type passage struct{ table, room []float64 }

// begin returns a passage before the first step.
func (s *summation) begin() passage { return passage{append(s.buffer()[:0], 1), s.buffer()} }

// enter returns the table in whose upper half a step's spin is up, which leave sums out if
// it is the last of its bonds.
func (p *passage) enter(c *crossing) []float64 {
	p.room = c.advance(p.room[:cap(p.room)], p.table)
	return p.room
}

func (p *passage) leave(c *crossing) { p.table, p.room = c.end(p.room), p.table }

// forward finds ln Z and the scale of each step, by which its largest number is 1.
func (s *summation) forward() error {
	const range64 = 1e-280 // what remains is far from what float64 holds
	p := s.begin()
	s.LogZ = -s.beta * s.graph.Offset()
	if s.pinned >= 0 {
		s.LogZ += math.Ln2
	}
	for k := range s.steps {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		c, log := s.steps[k].cross(s.beta, 1, true)
		p.enter(c)
		p.leave(c)
		least, most := math.Inf(1), 0.0
		for _, x := range p.table {
			least, most = min(least, x), max(most, x)
		}
		if !(least > range64*most) || !(most > range64) {
			return fmt.Errorf("β = %v: %w", s.beta, ErrSpread)
		}
		for i := range p.table {
			p.table[i] /= most
		}
		s.LogZ += log + math.Log(most)
		for _, to := range []*[]*crossing{&s.fused, &s.crossings} {
			c, _ := s.steps[k].cross(s.beta, 1/most, to == &s.fused)
			*to = append(*to, c)
		}
	}
	return nil
}

func (s *summation) backward() error {
	s.after = make([][]float64, len(s.steps))
	after := []float64{1}
	for k := len(s.steps) - 1; k >= 0; k-- {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		s.after[k] = after
		after = s.crossings[k].back(after)
	}
	return nil
}

// signed returns Σ s A(x) B(x), with s of the spin that has just come.
func (c *crossing) signed(table, after []float64) (sum float64) {
	half := len(table) / 2
	down, up := table[:half], table[half:]
	if c.last {
		for i, b := range after {
			sum += (up[i] - down[i]) * b
		}
		return sum
	}
	var minus float64
	for i, b := range after[:half] {
		minus += down[i] * b
		sum += up[i] * after[half+i]
	}
	return sum - minus
}

// correlate finds the averages of all spins and of all pairs.
func (s *summation) correlate() error {
	steps, n, edges := len(s.steps), s.graph.N(), s.graph.Edges()
	came := make([]int, n)
	for k, step := range s.steps {
		came[step.spin] = k
	}
	pairs := make([][]int, steps) // edges, by the step of their first spin
	for e, edge := range edges {
		if edge.I != s.pinned && edge.J != s.pinned {
			k := min(came[edge.I], came[edge.J])
			pairs[k] = append(pairs[k], e)
		}
	}
	alone := make([]float64, steps) // ⟨s⟩ of the spin of each, the pinned one being up
	s.local = make([]float64, steps)
	s.EdgeCorrelations, s.Magnetisations = make([]float64, len(edges)), make([]float64, n)
	squares := make([]float64, steps) // Σ ⟨s s′⟩² over the later spins
	// Each lane comes to its spins by a passage of its own, and has another for the table into
	// which the spin is put.
	type way struct {
		ahead, on passage
		at        int // of ahead
		row       []float64
	}
	ways := make([]way, s.lanes)
	for lane := range ways {
		ways[lane] = way{ahead: s.begin(), on: s.begin(), row: make([]float64, steps)}
	}
	if err := s.run(steps, func(lane, k int) {
		w := &ways[lane]
		for ; w.at < k; w.at++ {
			w.ahead.enter(s.fused[w.at])
			w.ahead.leave(s.fused[w.at])
		}
		table := w.ahead.enter(s.fused[k])
		alone[k] = s.fused[k].signed(table, s.after[k])
		w.on.room = append(w.on.room[:0], table...)
		for i := range table[:len(table)/2] {
			w.on.room[i] = -table[i]
		}
		w.on.leave(s.fused[k])
		w.ahead.leave(s.fused[k])
		w.at++
		for j := k + 1; j < steps && s.ctx.Err() == nil; j++ {
			w.row[j] = s.fused[j].signed(w.on.enter(s.fused[j]), s.after[j])
			w.on.leave(s.fused[j])
			squares[k] += w.row[j] * w.row[j]
		}
		for _, e := range pairs[k] {
			s.EdgeCorrelations[e] = w.row[max(came[edges[e].I], came[edges[e].J])]
		}
	}); err != nil {
		return err
	}
	overlap := float64(n)
	for k, step := range s.steps {
		overlap += 2 * squares[k]
		if s.pinned >= 0 {
			overlap += 2 * alone[k] * alone[k]
		} else {
			s.Magnetisations[step.spin] = alone[k]
		}
		s.local[k] = step.field * alone[k]
	}
	s.OverlapSquare = overlap / (float64(n) * float64(n))
	for e, edge := range edges {
		switch s.pinned {
		case edge.I:
			s.EdgeCorrelations[e] = alone[came[edge.J]]
		case edge.J:
			s.EdgeCorrelations[e] = alone[came[edge.I]]
		default:
			s.local[max(came[edge.I], came[edge.J])] += edge.Coupling * s.EdgeCorrelations[e]
		}
	}
	s.Energy = s.graph.Offset()
	for _, x := range s.local {
		s.Energy -= x
	}
	return nil
}

// vary finds the specific heat. Energies are relative to their averages at every
// step, so that nothing cancels.
func (s *summation) vary() error {
	in := [3][]float64{{1}, {0}, {0}} // weights and their derivatives with respect to β
	var spare [3][]float64
	for d := range in {
		in[d], spare[d] = append(s.buffer()[:0], in[d]...), s.buffer()
	}
	for t, c := range s.crossings {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		half := len(in[0])
		var out [3][]float64
		for d := range out {
			out[d] = spare[d][:cap(spare[d])][:2*half]
		}
		for base := 0; base < half; base += lowStates {
			down, up, field := c.high(base)
			for k := range min(lowStates, half-base) {
				i := base + k
				w, first, second := in[0][i], in[1][i], in[2][i]
				put := func(at int, e, x float64) {
					out[0][at], out[1][at], out[2][at] = e*w, e*(first+x*w), e*(second+2*x*first+x*x*w)
				}
				f := c.field[k] + field
				put(i, down*c.down[k], -f-s.local[t])
				put(half+i, up*c.up[k], f-s.local[t])
			}
		}
		for d := range out {
			for _, p := range c.more {
				out[d] = sumOut(out[d], p)
			}
			in[d], spare[d] = c.end(out[d]), in[d]
		}
	}
	mean := in[1][0] / in[0][0]
	s.SpecificHeat = s.beta * s.beta * max(0, in[2][0]/in[0][0]-mean*mean)
	return nil
}

// magnetise finds the law of the number of spins up, and of it ⟨|m|⟩ and χ.
func (s *summation) magnetise() error {
	steps := len(s.steps)
	values := steps + 1
	transform := make([]complex128, values/2+1)
	transform[0] = 1
	lanes := make([][2]passage, s.lanes) // of the real and the imaginary part
	for lane := range lanes {
		lanes[lane] = [2]passage{s.begin(), s.begin()}
	}
	if err := s.run(values/2, func(lane, k int) {
		k++
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(values))
		re, im := &lanes[lane][0], &lanes[lane][1]
		re.table, im.table = append(re.table[:0], 1), append(im.table[:0], 0)
		for _, c := range s.fused {
			if s.ctx.Err() != nil {
				break
			}
			x, y := re.enter(c), im.enter(c)
			for i := len(x) / 2; i < len(x); i++ {
				x[i], y[i] = cos*x[i]-sin*y[i], cos*y[i]+sin*x[i]
			}
			re.leave(c)
			im.leave(c)
		}
		transform[k] = complex(re.table[0], -im.table[0])
	}); err != nil {
		return err
	}
	mass := make([]float64, s.graph.N()+1)
	up := mass[s.graph.N()-steps:] // the pinned spin is up
	fourier.NewFFT(values).Sequence(up, transform)
	floats.Scale(1/float64(values), up)
	abs, variance := absMoments(mass)
	s.AbsMagnetisation, s.Susceptibility = abs, s.beta*float64(s.graph.N())*variance
	return nil
}

// Draw fills a batch with independent configurations of the Boltzmann law, numbers
// first, first+1, … of the stream.
func (s *TransferSums) Draw(batch []uint64, stream rng.Counter, first uint64) {
	g := s.graph
	words := g.Words()
	g.checkBatch(batch, len(batch)/words)
	blocks := rng.Blocks(len(s.steps) + 1)
	draws := make([]uint32, 4*blocks)
	for row := range len(batch) / words {
		config := batch[row*words:][:words]
		asm.PhiloxBlocks(draws, &stream, (first+uint64(row))*uint64(blocks))
		clear(config)
		x := 0 // the frontier
		for t, c := range s.crossings {
			down, up, _ := c.high(x)
			down, up = down*c.down[x%lowStates], up*c.up[x%lowStates]
			for _, p := range c.more {
				x = x>>1&^(1<<p-1) | x&(1<<p-1)
			}
			set := x
			if !c.last {
				set |= 1 << (c.after() - 1)
			}
			down, up = down*s.after[t][x], up*s.after[t][set]
			if (float64(draws[t])+0.5)/(1<<32)*(down+up) < up {
				config[c.spin/64] |= 1 << (c.spin % 64)
				x = set
			}
		}
		if s.pinned >= 0 {
			config[s.pinned/64] |= 1 << (s.pinned % 64)
			if draws[len(s.steps)]&1 != 0 {
				bitspin.Invert(config, g.N())
			}
		}
	}
}
