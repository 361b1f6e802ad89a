package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/graph"
)

// burn is the fraction of a chain's time that counts as coming before its first row.
const burn = 0.1

// fewest steps are taken whatever time they take, so that there are rows enough for an
// autocorrelation time.
const fewest = 4

// chain is a peer that moves Markov chains.
type chain struct {
	peer   string
	title  string
	load   map[string]any                       // arrays
	choose func(seed uint64) []any              // arguments of select
	width  int                                  // numbers in a row of the peer's series
	expand func(row []float64, state []float64) // functions of these; nil for themselves
	means  int                                  // functions of a row
	lanes  int                                  // rows that are averaged: walkers that take a step together
}

func (c *chain) name() string { return c.title }

func (c *chain) start(w *peers.Workshop, seed uint64) (*peers.Process, string, error) {
	peer, err := peers.Find(c.peer)
	if err != nil {
		return nil, "", err
	}
	p, err := w.Start(peer, peers.Setting{Threads: 1})
	if err != nil {
		return nil, "", err
	}
	about, err := p.About()
	for name, numbers := range c.load {
		if err == nil {
			err = p.Load(name, numbers)
		}
	}
	if err == nil {
		err = p.Select(c.choose(seed)...)
	}
	return p, about, err
}

// run has a peer take steps until they have taken as long as is asked for.
func (c *chain) run(ctx context.Context, w *peers.Workshop, seconds float64, seed uint64) (*Series, string, error) {
	p, about, err := c.start(w, seed)
	if err != nil {
		return nil, "", err
	}
	defer p.Close()
	began := p.Processor()
	steps, spent := 0, 0.0
	for calls := 1; (spent < seconds || steps < fewest) && (steps+calls)*c.lanes <= most; calls = min(2*calls, 1+int(float64(steps)*max(0.1, seconds/max(spent, 1e-3)-1))) {
		if _, err := p.Run(calls); err != nil {
			return nil, "", err
		}
		steps += calls
		spent = (p.Processor() - began).Seconds()
	}
	series := make([]float64, steps*c.lanes*c.width)
	if err := p.Store("series", series); err != nil {
		return nil, "", err
	}
	first := int(burn * float64(steps))
	s := &Series{width: c.means, Setup: spent * float64(first) / float64(steps)}
	s.Sampling = spent - s.Setup
	s.rows = c.rows(series[first*c.lanes*c.width:])
	if c.lanes > 1 {
		asked := make([]float64, 1)
		if err := p.Store("evaluations", asked); err != nil {
			return nil, "", err
		}
		s.SetupEvaluations = asked[0] * float64(first) / float64(steps)
		s.Evaluations = asked[0] - s.SetupEvaluations
	}
	return s, about, ctx.Err()
}

// rows returns the means over lanes of functions of states.
func (c *chain) rows(series []float64) []float64 {
	n := len(series) / (c.width * c.lanes)
	rows, one := make([]float64, n*c.means), make([]float64, c.means)
	for i := range n * c.lanes {
		state, row := series[i*c.width:(i+1)*c.width], rows[i/c.lanes*c.means:][:c.means]
		copy(one, state)
		if c.expand != nil {
			c.expand(one, state)
		}
		for j, f := range one {
			row[j] += f / float64(c.lanes)
		}
	}
	return rows
}

// nuts is Stan's sampler, which is started anew for every series: a short run tells how
// many draws the time suffices for.
type nuts struct{ chain }

func (c *nuts) run(ctx context.Context, w *peers.Workshop, seconds float64, seed uint64) (*Series, string, error) {
	p, about, err := c.start(w, seed)
	if err != nil {
		return nil, "", err
	}
	defer p.Close()
	draws, times, asked := 1000, make([]float64, 2), make([]float64, 2)
	for try := range 2 {
		if _, err := p.Run(draws); err != nil {
			return nil, "", err
		}
		if err := p.Store("times", times); err != nil {
			return nil, "", err
		}
		if enough := int(float64(draws) * seconds / max(times[1], 1e-3)); try == 0 && enough > draws {
			draws = min(enough, most)
			continue
		}
		break
	}
	series := make([]float64, draws*c.width)
	if err := p.Store("series", series); err != nil {
		return nil, "", err
	}
	if err := p.Store("evaluations", asked); err != nil {
		return nil, "", err
	}
	return &Series{
		width: c.means, rows: c.rows(series), Setup: times[0], Sampling: times[1],
		SetupEvaluations: asked[0], Evaluations: asked[1],
	}, about, ctx.Err()
}

// lattice is the critical Ising model.
func lattice(side int, beta float64) problem {
	n := float64(side * side)
	expand := func(row []float64, energy, m float64) {
		row[0], row[1], row[2], row[3] = energy, energy*energy, m, m*m
	}
	cluster := func(move, title string) contender {
		return &chain{
			peer: "c-chains", title: title, width: 2, means: 4, lanes: 1,
			choose: func(seed uint64) []any { return []any{move, side, beta, seed} },
			expand: func(row, state []float64) { expand(row, state[0], state[1]) },
		}
	}
	exact := crash.Must(ising.Kaufman(side, 1, beta))
	return problem{
		name:  fmt.Sprint("ising-", side),
		about: fmt.Sprintf("the critical %d×%d Ising model", side, side),
		observables: []observable{
			mean("energy", 0, exact.Energy),
			mean("abs magnetisation", 2, math.NaN()),
			variance("specific heat", beta*beta, 0, exact.SpecificHeat),
			variance("susceptibility", beta*n, 2, math.NaN()),
		},
		ours: ours{
			system: ising.Definition, set: []string{fmt.Sprint("target.l=", side), fmt.Sprint("target.beta=", beta)}, width: 4,
			expand: func(row []float64, state []byte) { energy, m := latticeSums(state, side); expand(row, energy, m) },
		},
		peers: []contender{cluster("wolff", "Wolff"), cluster("swendsen-wang", "Swendsen–Wang")},
	}
}

// latticeSums returns E and |m| of spins ±1.
func latticeSums(state []byte, side int) (energy, m float64) {
	var sum, bonds int32
	for y := range side {
		row, below := state[y*side:(y+1)*side], state[(y+1)%side*side:]
		last := int8(row[side-1])
		for x, s := range row {
			s := int8(s)
			sum += int32(s)
			bonds += int32(s*last) + int32(s*int8(below[x]))
			last = s
		}
	}
	return -float64(bonds), math.Abs(float64(sum)) / float64(side*side)
}

// glass is a periodic square lattice with couplings ±1 drawn from a seed.
func glass(side int, beta float64, seed uint64) problem {
	edges, pairs := glassGraph(side, seed)
	return graphProblem(fmt.Sprint("glass-", side), fmt.Sprintf("a %d×%d ±J glass at β = %g", side, side, beta), side*side, edges, pairs, ladder(beta, side))
}

// cubic is the Ising model on a periodic cubic lattice.
func cubic(side int, beta float64) problem {
	edges, pairs := cubicGraph(side)
	return graphProblem(fmt.Sprint("cubic-", side), fmt.Sprintf("the %d×%d×%d Ising model at β = %g", side, side, side, beta), side*side*side, edges, pairs, ladder(beta, side))
}

// graphProblem has the first of some inverse temperatures, the others for replica exchange.
func graphProblem(name, about string, spins int, edges [][3]int32, pairs [][2]int32, levels []float64) problem {
	width, beta := 2+len(pairs), levels[0]
	observables := []observable{
		mean("energy", 0, math.NaN()),
		variance("specific heat", beta*beta, 0, math.NaN()),
	}
	for i, p := range pairs {
		observables = append(observables, observable{
			fmt.Sprintf("s%d s%d", p[0], p[1]), func(m []float64) float64 { return m[2+i] },
			func([]float64) float64 { return 1 }, math.NaN(),
		})
	}
	return problem{
		name: name, about: about,
		observables: observables,
		ours: ours{
			system: graph.Definition, width: width,
			set: []string{fmt.Sprint("target.spins=", spins), fmt.Sprintf("target.edges=%s", crash.Must(json.Marshal(edges))), fmt.Sprint("target.beta=", beta)},
			expand: func(row []float64, state []byte) {
				for _, e := range edges {
					row[0] -= float64(e[2] * int32(int8(state[e[0]])*int8(state[e[1]])))
				}
				row[1] = row[0] * row[0]
				for i, p := range pairs {
					row[2+i] = float64(int8(state[p[0]]) * int8(state[p[1]]))
				}
			},
		},
		peers: []contender{
			&chain{
				peer: "c-chains", title: "replica exchange", width: width, means: width, lanes: 1,
				load:   map[string]any{"edges": edges, "pairs": pairs, "levels": levels},
				choose: func(seed uint64) []any { return []any{"tempering", spins, seed, len(levels)} },
			},
		},
	}
}

// ladder returns inverse temperatures from beta down to where a glass moves freely, so
// close that neighbours exchange about every third time.
func ladder(beta float64, side int) []float64 {
	n := 6 + side/2
	levels := make([]float64, n)
	for i := range levels {
		levels[i] = beta * math.Pow(0.2, float64(i)/float64(n-1))
	}
	return levels
}
