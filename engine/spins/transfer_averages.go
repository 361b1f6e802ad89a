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

// TransferAverages are ln Z and averages by a transfer matrix, exact to rounding. Draw draws
// configurations of the same law.
type TransferAverages struct {
	LogZ float64 // ln Σ_s e^(−βE(s))
	Observables

	*Transfer
	weighted []*weightedStep
	// after[t] has the sums over all spins after step t, by the frontier after it. Times the
	// step's table it sums to Z, which is 1 in this scale.
	after [][]float64
}

// A summation is the state of Sum.
type summation struct {
	*TransferAverages
	ctx         context.Context
	beta        float64
	fused       []*weightedStep
	localEnergy []float64 // by step, −⟨E⟩ of the field and the bonds that its spin adds
	lanes       int       // passes at a time
	run         func(n int, body func(lane, k int)) error
}

// Sum sums over all configurations at inverse temperature beta ≥ 0. The result is the
// same bits for any number of threads, of which 0 means all. The error is ctx's or
// says what is wrong.
//
// Let A_t be the table of step t, the sums over all spins so far, and B_t the sums over
// all later spins. Then Σ_x s A_t(x) B_t(x) = ⟨s⟩ for a spin of the frontier. The table
// s A_t goes through the later steps as A_t does, and gives ⟨s s′⟩ with every later spin.
// For the variance of the energy, tables have the first two derivatives of the weights
// with respect to β. The law of Σ s_i is the Fourier transform of Z(iθ), of a field in
// which a spin up weighs e^iθ.
func (t *Transfer) Sum(ctx context.Context, beta float64, threads int) (*TransferAverages, error) {
	if err := t.graph.CheckTemperature(beta); err != nil {
		return nil, err
	}
	workers := pool.New(threads)
	defer workers.Close()
	s := &summation{TransferAverages: &TransferAverages{Transfer: t}, ctx: ctx, beta: beta, lanes: workers.Threads()}
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
	for _, pass := range []func() error{s.forward, s.backward, s.findCorrelations, s.findSpecificHeat, s.findMagnetisation} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	return s.TransferAverages, nil
}

// buffer returns room for a table.
func (s *summation) buffer() []float64 { return make([]float64, 1<<s.widest) }

// A passage takes a table through the steps. next has room for the table of the next step.
type passage struct{ table, next []float64 }

// begin returns a passage before the first step.
func (s *summation) begin() passage { return passage{append(s.buffer()[:0], 1), s.buffer()} }

// enter returns the table of a step before the new spin may be summed out: it is up in the upper
// half. leave ends the step.
func (p *passage) enter(c *weightedStep) []float64 {
	p.next = c.advance(p.next[:cap(p.next)], p.table)
	return p.next
}

func (p *passage) leave(c *weightedStep) { p.table, p.next = c.finish(p.next), p.table }

// forward finds ln Z, and scales each step so that the largest number of its table is 1.
func (s *summation) forward() error {
	const minRatio = 1e-280 // of numbers in a table, far above the least that float64 holds
	p := s.begin()
	s.LogZ = -s.beta * s.graph.Offset()
	if s.pinned >= 0 {
		s.LogZ += math.Ln2
	}
	for k := range s.steps {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		c, log := s.steps[k].weigh(s.beta, 1, true)
		p.enter(c)
		p.leave(c)
		least, largest := math.Inf(1), 0.0
		for _, x := range p.table {
			least, largest = min(least, x), max(largest, x)
		}
		if !(least > minRatio*largest) || !(largest > minRatio) {
			return fmt.Errorf("β = %v: %w", s.beta, ErrSpread)
		}
		for i := range p.table {
			p.table[i] /= largest
		}
		s.LogZ += log + math.Log(largest)
		fused, _ := s.steps[k].weigh(s.beta, 1/largest, true)
		weighted, _ := s.steps[k].weigh(s.beta, 1/largest, false)
		s.fused, s.weighted = append(s.fused, fused), append(s.weighted, weighted)
	}
	return nil
}

// backward finds after.
func (s *summation) backward() error {
	s.after = make([][]float64, len(s.steps))
	after := []float64{1}
	for k := len(s.steps) - 1; k >= 0; k-- {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		s.after[k] = after
		after = s.weighted[k].stepBack(after)
	}
	return nil
}

// spinAverage returns ⟨s⟩ = Σ s A(x) B(x) of the new spin.
func (c *weightedStep) spinAverage(table, after []float64) (sum float64) {
	half := len(table) / 2
	down, up := table[:half], table[half:]
	if c.sumsNewOut {
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

// findCorrelations finds the averages of all spins and pairs, and the energy.
func (s *summation) findCorrelations() error {
	steps, n, edges := len(s.steps), s.graph.N(), s.graph.Edges()
	stepOf := make([]int, n) // the step that adds a spin
	for k, step := range s.steps {
		stepOf[step.spin] = k
	}
	pairs := make([][]int, steps) // edges, by the step of their first spin
	for e, edge := range edges {
		if edge.I != s.pinned && edge.J != s.pinned {
			k := min(stepOf[edge.I], stepOf[edge.J])
			pairs[k] = append(pairs[k], e)
		}
	}
	means := make([]float64, steps) // ⟨s⟩ by step, with the pinned spin at +1
	s.localEnergy = make([]float64, steps)
	s.EdgeCorrelations, s.Magnetisations = make([]float64, len(edges)), make([]float64, n)
	squares := make([]float64, steps) // Σ ⟨s s′⟩² over the later spins
	// A lane takes A_t to its spins by one passage, and s A_t from there on by another.
	type passages struct {
		plain, signed passage
		step          int       // the next of plain
		row           []float64 // ⟨s s′⟩ by the step of s′
	}
	lanes := make([]passages, s.lanes)
	for lane := range lanes {
		lanes[lane] = passages{plain: s.begin(), signed: s.begin(), row: make([]float64, steps)}
	}
	if err := s.run(steps, func(lane, k int) {
		p := &lanes[lane]
		for ; p.step < k; p.step++ {
			p.plain.enter(s.fused[p.step])
			p.plain.leave(s.fused[p.step])
		}
		table := p.plain.enter(s.fused[k])
		means[k] = s.fused[k].spinAverage(table, s.after[k])
		p.signed.next = append(p.signed.next[:0], table...)
		for i := range table[:len(table)/2] {
			p.signed.next[i] = -table[i]
		}
		p.signed.leave(s.fused[k])
		p.plain.leave(s.fused[k])
		p.step++
		for j := k + 1; j < steps && s.ctx.Err() == nil; j++ {
			p.row[j] = s.fused[j].spinAverage(p.signed.enter(s.fused[j]), s.after[j])
			p.signed.leave(s.fused[j])
			squares[k] += p.row[j] * p.row[j]
		}
		for _, e := range pairs[k] {
			s.EdgeCorrelations[e] = p.row[max(stepOf[edges[e].I], stepOf[edges[e].J])]
		}
	}); err != nil {
		return err
	}
	overlap := float64(n)
	for k, step := range s.steps {
		overlap += 2 * squares[k]
		if s.pinned >= 0 {
			overlap += 2 * means[k] * means[k]
		} else {
			s.Magnetisations[step.spin] = means[k]
		}
		s.localEnergy[k] = step.field * means[k]
	}
	s.OverlapSquare = overlap / (float64(n) * float64(n))
	for e, edge := range edges {
		switch s.pinned {
		case edge.I:
			s.EdgeCorrelations[e] = means[stepOf[edge.J]]
		case edge.J:
			s.EdgeCorrelations[e] = means[stepOf[edge.I]]
		default:
			s.localEnergy[max(stepOf[edge.I], stepOf[edge.J])] += edge.Coupling * s.EdgeCorrelations[e]
		}
	}
	s.Energy = s.graph.Offset()
	for _, x := range s.localEnergy {
		s.Energy -= x
	}
	return nil
}

// findSpecificHeat carries weights and their derivatives with respect to β through the steps.
// Energies are relative to their averages at every step, so that nothing cancels.
func (s *summation) findSpecificHeat() error {
	in := [3][]float64{{1}, {0}, {0}} // weights and their derivatives with respect to β
	var spare [3][]float64
	for d := range in {
		in[d], spare[d] = append(s.buffer()[:0], in[d]...), s.buffer()
	}
	for t, c := range s.weighted {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		half := len(in[0])
		var out [3][]float64
		for d := range out {
			out[d] = spare[d][:cap(spare[d])][:2*half]
		}
		for base := 0; base < half; base += lowStates {
			down, up, field := c.highFactors(base)
			for k := range min(lowStates, half-base) {
				i := base + k
				w, first, second := in[0][i], in[1][i], in[2][i]
				// The factor has the derivative x·factor.
				multiply := func(i int, factor, x float64) {
					out[0][i], out[1][i], out[2][i] = factor*w, factor*(first+x*w), factor*(second+2*x*first+x*x*w)
				}
				f := c.field[k] + field
				multiply(i, down*c.down[k], -f-s.localEnergy[t])
				multiply(half+i, up*c.up[k], f-s.localEnergy[t])
			}
		}
		for d := range out {
			for _, p := range c.laterSums {
				out[d] = sumOut(out[d], p)
			}
			in[d], spare[d] = c.finish(out[d]), in[d]
		}
	}
	mean := in[1][0] / in[0][0]
	s.SpecificHeat = s.beta * s.beta * max(0, in[2][0]/in[0][0]-mean*mean)
	return nil
}

// findMagnetisation finds ⟨|m|⟩ and χ by the law of the number of spins up.
func (s *summation) findMagnetisation() error {
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

// Draw fills a batch with independent configurations of the Boltzmann law, those of samples
// first, first+1, … of the stream.
func (s *TransferAverages) Draw(batch []uint64, stream rng.Counter, first uint64) {
	g := s.graph
	words := g.Words()
	g.checkBatch(batch, len(batch)/words)
	blocks := rng.Blocks(len(s.steps) + 1)
	draws := make([]uint32, 4*blocks)
	for row := range len(batch) / words {
		config := batch[row*words:][:words]
		asm.PhiloxBlocks(draws, &stream, (first+uint64(row))*uint64(blocks))
		clear(config)
		x := 0 // the configuration of the frontier
		for t, c := range s.weighted {
			down, up, _ := c.highFactors(x)
			down, up = down*c.down[x%lowStates], up*c.up[x%lowStates]
			for _, p := range c.laterSums {
				x = x>>1&^(1<<p-1) | x&(1<<p-1)
			}
			set := x
			if !c.sumsNewOut {
				set |= 1 << (c.widthAfter() - 1)
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
