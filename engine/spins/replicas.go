package spins

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/memory"
)

// Replicas are many independent Markov chains of one graph, Lanes in each of
// several groups. The chains of a group share an inverse temperature and the words
// that hold them, and no draws. A sweep redraws all spins in their order from
// their conditional law (see Sweeper for sweeps in detailed balance; those of a
// fixed order leave the Boltzmann law as it is, which is all that averages need).
type Replicas struct {
	graph  *Graph
	heat   []*heatBath
	groups []*lanes
	sweeps []uint32
	order  []int32
	stream asm.Counter
}

const (
	startStep = math.MaxUint32 // of the stream that starting states are drawn from
	// Rounding errors of tabulated fields are removed so often.
	tabulateEvery = 256
)

// NewReplicas returns one group of chains for each inverse temperature, in random
// configurations. The draws belong to the stream's seed and purpose; its step is
// the number of the sweep.
func NewReplicas(g *Graph, betas []float64, stream rng.Counter) (*Replicas, error) {
	if len(betas) == 0 {
		return nil, fmt.Errorf("no inverse temperature; at least one group is needed")
	}
	r := &Replicas{graph: g, stream: stream, order: make([]int32, g.N())}
	for i := range r.order {
		r.order[i] = int32(i)
	}
	if err := r.heats(betas); err != nil {
		return nil, err
	}
	var bytes float64
	for _, h := range r.heat {
		bytes += float64(h.memory())
	}
	if limit := memory.Limit(); bytes > 0.8*limit {
		return nil, fmt.Errorf("%d groups of %d chains of %d spins take %.3g GiB, and there are %.3g; take fewer groups",
			len(betas), Lanes, g.N(), bytes/(1<<30), limit/(1<<30))
	}
	r.groups, r.sweeps = make([]*lanes, len(betas)), make([]uint32, len(betas))
	c := stream
	c.Step = startStep
	for k := range r.groups {
		l := r.heat[k].newLanes()
		var words [4]uint32
		for i := range l.spins {
			asm.PhiloxBlocks(words[:], &c, uint64(k)*uint64(g.N())+uint64(i))
			l.spins[i] = uint64(words[1])<<32 | uint64(words[0])
		}
		r.heat[k].tabulate(l)
		r.groups[k] = l
	}
	return r, nil
}

// heats makes the heat baths, equal ones once.
func (r *Replicas) heats(betas []float64) error {
	r.heat = make([]*heatBath, len(betas))
	known := map[float64]*heatBath{}
	for k, beta := range betas {
		if err := r.graph.CheckTemperature(beta); err != nil {
			return err
		}
		if known[beta] == nil {
			known[beta] = newHeatBath(r.graph, beta)
		}
		r.heat[k] = known[beta]
	}
	return nil
}

// Sweep performs n sweeps on groups lo … hi−1. Goroutines may sweep different
// groups at the same time; the result does not depend on how groups are shared
// out. It does not allocate.
func (r *Replicas) Sweep(lo, hi, n int) {
	for k := lo; k < hi; k++ {
		c := r.stream
		for range n {
			c.Step = r.sweeps[k]
			if c.Step%tabulateEvery == 0 && !r.graph.integer {
				r.heat[k].tabulate(r.groups[k])
			}
			r.heat[k].update(r.groups[k], r.order, &c, uint64(k)*uint64(r.graph.N()))
			r.sweeps[k]++
		}
	}
}

// Energies stores the energies of the chains of a group.
func (r *Replicas) Energies(dst *[Lanes]float64, group int) {
	r.heat[group].energies(dst, r.groups[group])
}

// Magnetisations stores Σ s_i of each chain of a group.
func (r *Replicas) Magnetisations(dst *[Lanes]float64, group int) {
	r.groups[group].magnetisations(dst)
}

// Overlaps stores q = Σ s_i s′_i/n of chains 2k and 2k+1 of a group in dst[k].
func (r *Replicas) Overlaps(dst *[Lanes / 2]float64, group int) {
	var differ verticalSum
	for _, s := range r.groups[group].spins {
		differ.add((s ^ s>>1) & 0x5555_5555_5555_5555)
	}
	for k := range dst {
		dst[k] = 1 - 2*float64(differ.of(2*k))/float64(r.graph.N())
	}
}

// Configurations stores the chains of a group in a batch of Lanes packed
// configurations.
func (r *Replicas) Configurations(dst []uint64, group int) {
	r.graph.checkBatch(dst, Lanes)
	r.groups[group].unpack(dst)
}

// relevel returns chains at other inverse temperatures, which start from those of
// the group from[k] and go on in the same stream.
func (r *Replicas) relevel(betas []float64, from []int) (*Replicas, error) {
	next := &Replicas{graph: r.graph, order: r.order, stream: r.stream, sweeps: make([]uint32, len(betas))}
	if err := next.heats(betas); err != nil {
		return nil, err
	}
	for k, f := range from {
		l := next.heat[k].newLanes()
		copy(l.spins, r.groups[f].spins)
		next.heat[k].tabulate(l)
		next.groups = append(next.groups, l)
		next.sweeps[k] = r.sweeps[f]
	}
	return next, nil
}
