package spins

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Tempering describes replica exchange, also called parallel tempering: chains at
// a ladder of inverse temperatures, from 0, where spins are independent, to the
// target's, swap their configurations, so that those at the target, the coldest, come
// down again and again from where they move freely. Levels are so far apart, by the
// energy's variance, that swaps of all neighbours succeed equally often, about half of
// the time; part of the burn-in is spent to find them.
//
// There are Lanes independent ladders in a set, which swap nothing with each
// other: as many chains at the target, whose agreement says whether they are long
// enough.
type Tempering struct {
	Beta float64 // the target's inverse temperature
	Sets int     // of Lanes ladders
	// BurnIn and Rounds are the rounds that are not, and those that are averaged
	// over. A round is a sweep of all chains, and then swaps of every other pair
	// of neighbouring levels.
	BurnIn, Rounds int
	Every          int // rounds after which the target's configurations are samples

	Threads int         // 0 for all; changes no bit
	Stream  rng.Counter // seed and purpose of the draws
}

const (
	mostRungs = 256
	stages    = 4   // of the adaptation of a ladder
	swapsAt   = 60  // position of the draws of swaps, as a power of 2
	spacing   = 1.2 // Δβ·σ(E) of neighbouring levels that are chosen
)

// Validate reports the first value that cannot be used; the error begins with its
// name.
func (t *Tempering) Validate() error {
	switch {
	case !(t.Beta >= 0) || math.IsInf(t.Beta, 0):
		return fmt.Errorf("beta: %v is not a finite number ≥ 0", t.Beta)
	case t.Sets < 1:
		return fmt.Errorf("sets: %d is not positive", t.Sets)
	case t.BurnIn < 16*stages || t.BurnIn > 1<<30:
		return fmt.Errorf("burn-in: %d rounds are not between %d, which choose a ladder, and %d", t.BurnIn, 16*stages, 1<<30)
	case t.Rounds < 4 || t.Rounds > 1<<30:
		return fmt.Errorf("rounds: %d is not between 4 and %d", t.Rounds, 1<<30)
	case t.Every < 1:
		return fmt.Errorf("every: %d is not positive", t.Every)
	}
	return nil
}

// Tempered is what replica exchange gives.
type Tempered struct {
	Levels int // of the ladder
	// Chains are those at the target, a draw a round.
	Energy, AbsMagnetisation, OverlapSquare stat.ChainSummary
	// LogZ is ln Z at the target, and its standard error.
	LogZ, LogZError float64
}

// Run performs replica exchange. visit gets every batch of Lanes samples at the
// target. The same bits result for any number of threads. The error is ctx's or says
// what is wrong.
func (t Tempering) Run(ctx context.Context, g *Graph, visit func(batch []uint64)) (*Tempered, error) {
	if err := cmp.Or(t.Validate(), g.CheckTemperature(t.Beta)); err != nil {
		return nil, err
	}
	const kept = 8 + 8 + 4 // bytes of a chain's round
	if bytes, limit := kept*Lanes*float64(t.Sets)*float64(t.Rounds), memory.Limit(); bytes > 0.5*limit {
		return nil, fmt.Errorf("rounds: the energies of %d rounds of %d chains take %.3g GiB, and there are %.3g; take fewer",
			t.Rounds, Lanes*t.Sets, bytes/(1<<30), limit/(1<<30))
	}
	e := &Exchange{Tempering: t, graph: g, workers: pool.New(t.Threads)}
	defer e.workers.Close()
	if err := e.begin(ctx); err != nil {
		return nil, err
	}
	return e.measure(ctx, visit)
}

// Start chooses the ladder and burns in; Rounds and Every have no effect. The
// workers are the caller's.
func (t Tempering) Start(ctx context.Context, g *Graph, workers *pool.Pool) (*Exchange, error) {
	t.Rounds, t.Every = 4, 1
	if err := cmp.Or(t.Validate(), g.CheckTemperature(t.Beta)); err != nil {
		return nil, err
	}
	e := &Exchange{Tempering: t, graph: g, workers: workers}
	return e, e.begin(ctx)
}

// Advance performs so many rounds.
func (e *Exchange) Advance(ctx context.Context, rounds int) error {
	return e.rounds(ctx, rounds, rounds)
}

// Levels returns the number of temperatures.
func (e *Exchange) Levels() int { return len(e.betas) }

// Configurations stores the Lanes·Sets chains at the target in a batch.
func (e *Exchange) Configurations(batch []uint64) {
	words := e.graph.Words()
	for set := range e.Sets {
		e.replicas.Configurations(batch[set*Lanes*words:][:Lanes*words], (len(e.betas)-1)*e.Sets+set)
	}
}

// An Exchange is replica exchange under way, which goes on as long as it is asked to.
// Group level·Sets + set of the replicas is at a level.
type Exchange struct {
	Tempering
	graph    *Graph
	workers  *pool.Pool
	betas    []float64
	replicas *Replicas
	energies [][Lanes]float64
	round    uint32

	sweep   func(piece int)
	swap    func(piece int)
	moments []stat.Mean // of the energy, by level, of a stage
}

// start puts chains on a ladder, those of the levels from, or random ones.
func (e *Exchange) start(betas []float64, from []int) (err error) {
	groups := make([]float64, 0, len(betas)*e.Sets)
	var sources []int
	for k, beta := range betas {
		for set := range e.Sets {
			groups = append(groups, beta)
			if from != nil {
				sources = append(sources, from[k]*e.Sets+set)
			}
		}
	}
	if from == nil {
		e.replicas, err = NewReplicas(e.graph, groups, e.Stream)
	} else {
		e.replicas, err = e.replicas.relevel(groups, sources)
	}
	if err != nil {
		return err
	}
	e.betas = betas
	e.energies = make([][Lanes]float64, len(groups))
	e.moments = make([]stat.Mean, len(betas))
	e.sweep = func(piece int) {
		e.replicas.Sweep(piece, piece+1, 1)
		e.replicas.Energies(&e.energies[piece], piece)
	}
	e.swap = func(piece int) { e.swapPair(2*(piece/e.Sets)+int(e.round&1), piece%e.Sets) }
	return nil
}

// step performs one round.
func (e *Exchange) step() {
	e.workers.Run(len(e.energies), e.sweep)
	pairs := (len(e.betas) - int(e.round&1)) / 2
	e.workers.Run(pairs*e.Sets, e.swap)
	e.round++
}

// swapPair swaps configurations between a level and the next, each with
// probability min{1, exp((β − β′)(E − E′))}.
func (e *Exchange) swapPair(level, set int) {
	a, b := level*e.Sets+set, (level+1)*e.Sets+set
	c := e.Stream
	c.Step = e.round
	var draws [Lanes]uint32
	asm.PhiloxBlocks(draws[:], &c, 1<<swapsAt+uint64(a)*laneBlocks)
	difference := e.betas[level] - e.betas[level+1]
	var mask uint64
	x, y := &e.energies[a], &e.energies[b]
	for k, u := range draws {
		if float64(u)+0.5 < math.Exp(difference*(x[k]-y[k]))*(1<<32) {
			mask |= 1 << k
			x[k], y[k] = y[k], x[k]
		}
	}
	r := e.replicas
	r.heat[a].exchange(r.groups[a], r.groups[b], mask)
}

// rounds performs some, and takes moments of the energies of all levels from one
// of them on.
func (e *Exchange) rounds(ctx context.Context, n, from int) error {
	for k := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.step()
		if k >= from {
			e.addMoments()
		}
	}
	return nil
}

func (e *Exchange) addMoments() {
	for group := range e.energies {
		m := &e.moments[group/e.Sets]
		for _, x := range &e.energies[group] {
			m.Add(x)
		}
	}
}

// begin chooses the ladder and burns in.
func (e *Exchange) begin(ctx context.Context) error {
	if e.Beta == 0 {
		if err := e.start([]float64{0}, nil); err != nil {
			return err
		}
		return e.rounds(ctx, e.BurnIn, e.BurnIn)
	}
	betas := make([]float64, min(max(4, int(math.Sqrt(float64(e.graph.N())))), 32))
	for k := range betas {
		betas[k] = e.Beta * float64(k) / float64(len(betas)-1)
	}
	if err := e.start(betas, nil); err != nil {
		return err
	}
	// Each stage measures variances at the levels of the one before, in its second
	// half.
	stage := e.BurnIn / (2 * stages)
	for range stages {
		if err := e.rounds(ctx, stage, stage/2); err != nil {
			return err
		}
		deviations := make([]float64, len(e.betas))
		for k := range deviations {
			deviations[k] = e.moments[k].Deviation()
		}
		length := ladderLength(e.betas, deviations)
		next := ladder(e.betas, length, min(max(2, 1+int(math.Ceil(length[len(length)-1]/spacing))), mostRungs))
		if err := e.start(next, nearest(e.betas, next)); err != nil {
			return err
		}
	}
	left := e.BurnIn - stages*stage
	return e.rounds(ctx, left, left)
}

// nearest returns the level of the old ladder that is nearest to each of the new
// one.
func nearest(old, betas []float64) []int {
	from := make([]int, len(betas))
	for k, beta := range betas {
		for i, b := range old {
			if math.Abs(b-beta) < math.Abs(old[from[k]]-beta) {
				from[k] = i
			}
		}
	}
	return from
}

// ladder returns inverse temperatures between the first and the last of betas,
// ascending, that are equally far apart in the length to each of betas: so neighbours
// swap equally often.
func ladder(betas, length []float64, levels int) []float64 {
	last := len(betas) - 1
	ladder := make([]float64, levels)
	i := 0
	for k := range ladder {
		at := length[last] * float64(k) / float64(levels-1)
		for i < last-1 && length[i+1] < at {
			i++
		}
		ladder[k] = betas[i] + (betas[i+1]-betas[i])*min(1, (at-length[i])/(length[i+1]-length[i]))
	}
	ladder[0], ladder[levels-1] = betas[0], betas[last]
	return ladder
}

// ladderLength returns ∫ σ(E) dβ from the first of betas to each, given the standard
// deviations of the energy there. Where the energy hardly varies levels are still not
// further apart than a fiftieth of the largest deviation makes them.
func ladderLength(betas, deviations []float64) []float64 {
	largest := cmp.Or(slices.Max(deviations), 1)
	length := make([]float64, len(betas))
	for k := 1; k < len(betas); k++ {
		mean := (max(deviations[k-1], largest/50) + max(deviations[k], largest/50)) / 2
		length[k] = length[k-1] + mean*(betas[k]-betas[k-1])
	}
	return length
}

// measure performs the rounds that count.
func (e *Exchange) measure(ctx context.Context, visit func(batch []uint64)) (*Tempered, error) {
	chains := Lanes * e.Sets
	target := (len(e.betas) - 1) * e.Sets // its first group
	energy, abs, overlap := make([]float64, 0, chains*e.Rounds), make([]float64, 0, chains*e.Rounds), make([]float64, 0, chains/2*e.Rounds)
	batch := make([]uint64, Lanes*e.graph.Words())
	bridge := newBridge(e)
	for round := range e.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.step()
		e.addMoments()
		bridge.add()
		for set := range e.Sets {
			var m [Lanes]float64
			var q [Lanes / 2]float64
			e.replicas.Magnetisations(&m, target+set)
			e.replicas.Overlaps(&q, target+set)
			energy = append(energy, e.energies[target+set][:]...)
			for _, x := range m {
				abs = append(abs, math.Abs(x)/float64(e.graph.N()))
			}
			for _, x := range q {
				overlap = append(overlap, x*x)
			}
			if (round+1)%e.Every != 0 {
				continue
			}
			e.replicas.Configurations(batch, target+set)
			visit(batch)
		}
	}
	out := &Tempered{
		Levels: len(e.betas),
		Energy: stat.Chains(energy, chains), AbsMagnetisation: stat.Chains(abs, chains), OverlapSquare: stat.Chains(overlap, chains/2),
	}
	out.LogZ, out.LogZError = bridge.logZ()
	return out, nil
}

// A Bridge estimates ratios of partition functions of neighbouring levels of a ladder,
//
//	Z′/Z = ⟨exp(−(β′−β)E/2)⟩ / ⟨exp(+(β′−β)E/2)⟩′,
//
// from sums over ladders that are independent of each other, whose scatter gives the error.
type Bridge struct {
	betas    []float64
	origin   []float64   // of the energies, by level: of the pair with the next
	up, down [][]float64 // by level and ladder
}

// NewBridge returns one of so many ladders.
func NewBridge(betas []float64, ladders int) *Bridge {
	b := &Bridge{betas: betas}
	for range betas {
		b.up, b.down = append(b.up, make([]float64, ladders)), append(b.down, make([]float64, ladders))
		b.origin = append(b.origin, math.NaN())
	}
	return b
}

// Add adds an energy of a ladder at a level. Energies of all ladders count from the first there.
func (b *Bridge) Add(level, ladder int, energy float64) {
	if math.IsNaN(b.origin[level]) {
		b.origin[level] = energy
	}
	if level < len(b.betas)-1 {
		b.up[level][ladder] += math.Exp(-(b.betas[level+1] - b.betas[level]) / 2 * (energy - b.origin[level]))
	}
	if level > 0 {
		b.down[level][ladder] += math.Exp((b.betas[level] - b.betas[level-1]) / 2 * (energy - b.origin[level-1]))
	}
}

// Estimate returns ln Z of the last level by sums of ladders low … high−1, given that of the
// first, and its standard error by the jackknife: ladder i is of part i mod parts.
func (b *Bridge) Estimate(first float64, low, high, parts int) (value, standardError float64) {
	total := func(sums []float64, without int) (sum float64) {
		for i := low; i < high; i++ {
			if i%parts != without {
				sum += sums[i]
			}
		}
		return sum
	}
	estimate := func(without int) float64 {
		z := first
		for k := range len(b.betas) - 1 {
			z += math.Log(total(b.up[k], without)/total(b.down[k+1], without)) - (b.betas[k+1]-b.betas[k])*b.origin[k]
		}
		return z
	}
	var spread stat.Mean
	for part := range parts {
		spread.Add(estimate(part))
	}
	n := float64(parts)
	return estimate(-1), spread.Deviation() * (n - 1) / math.Sqrt(n)
}

// A bridge has the sums over each half of the rounds for each ladder apart. Halves that differ by
// more than their scatter says are of ladders that are all on their way together.
type bridge struct {
	*Exchange
	*Bridge
	added int
}

// drifting is by how many of their errors halves of the rounds differ that are on their way.
const drifting = 3

func newBridge(e *Exchange) *bridge {
	return &bridge{Exchange: e, Bridge: NewBridge(e.betas, 2*Lanes*e.Sets)}
}

func (b *bridge) add() {
	half := 0
	if 2*b.added >= b.Rounds {
		half = Lanes * b.Sets
	}
	if b.added++; b.added == 1 {
		for k := range len(b.moments) - 1 {
			b.origin[k] = (b.moments[k].Value() + b.moments[k+1].Value()) / 2
		}
	}
	for group := range b.energies {
		for lane, energy := range &b.energies[group] {
			b.Add(group/b.Sets, half+Lanes*(group%b.Sets)+lane, energy)
		}
	}
}

// logZ returns ln Z at the target and its standard error.
func (b *bridge) logZ() (value, standardError float64) {
	ladders, free := Lanes*b.Sets, float64(b.graph.N())*math.Ln2
	value, standardError = b.Estimate(free, 0, 2*ladders, ladders)
	first, of := b.Estimate(free, 0, ladders, ladders)
	second, and := b.Estimate(free, ladders, 2*ladders, ladders)
	if apart := math.Abs(second - first); apart > drifting*math.Hypot(of, and) {
		standardError = math.Hypot(standardError, apart)
	}
	return value, standardError
}
