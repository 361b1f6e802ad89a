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

// burnIn is the fraction of a chain's steps that are left out, and count as its set-up.
const burnIn = 0.1

// minSteps is the least number of steps, however long they take, as an autocorrelation time
// needs some rows.
const minSteps = 4

// chain is a peer that runs a Markov chain, or walkers that take their steps together.
type chain struct {
	peer       string // its name in package peers
	title      string
	arrays     map[string]any             // loaded by their names
	selection  func(seed uint64) []any    // arguments of peers.Process.Select
	stateWidth int                        // numbers in a walker's state
	width      int                        // functions in a row
	observe    func(row, state []float64) // sets functions of a state; nil if they are its numbers
	walkers    int                        // over which a row averages
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
	for name, numbers := range c.arrays {
		if err == nil {
			err = p.Load(name, numbers)
		}
	}
	if err == nil {
		err = p.Select(c.selection(seed)...)
	}
	return p, about, err
}

// run has the peer take steps until they have taken the given processor time.
func (c *chain) run(ctx context.Context, w *peers.Workshop, seconds float64, seed uint64) (*Series, string, error) {
	p, about, err := c.start(w, seed)
	if err != nil {
		return nil, "", err
	}
	defer p.Close()
	start := p.ProcessorTime()
	steps, spent := 0, 0.0
	for calls := 1; (spent < seconds || steps < minSteps) && (steps+calls)*c.walkers <= maxRows; calls = min(2*calls, 1+int(float64(steps)*max(0.1, seconds/max(spent, 1e-3)-1))) {
		if _, err := p.Run(calls); err != nil {
			return nil, "", err
		}
		steps += calls
		spent = (p.ProcessorTime() - start).Seconds()
	}
	series := make([]float64, steps*c.walkers*c.stateWidth)
	if err := p.Store("series", series); err != nil {
		return nil, "", err
	}
	first := int(burnIn * float64(steps))
	s := &Series{width: c.width, Setup: spent * float64(first) / float64(steps)}
	s.Sampling = spent - s.Setup
	s.rows = c.rows(series[first*c.walkers*c.stateWidth:])
	if c.walkers > 1 {
		evaluations := make([]float64, 1)
		if err := p.Store("evaluations", evaluations); err != nil {
			return nil, "", err
		}
		s.SetupEvaluations = evaluations[0] * float64(first) / float64(steps)
		s.Evaluations = evaluations[0] - s.SetupEvaluations
	}
	return s, about, ctx.Err()
}

// rows returns the means over walkers of the functions of states.
func (c *chain) rows(series []float64) []float64 {
	n := len(series) / (c.stateWidth * c.walkers)
	rows, values := make([]float64, n*c.width), make([]float64, c.width)
	for i := range n * c.walkers {
		state, row := series[i*c.stateWidth:(i+1)*c.stateWidth], rows[i/c.walkers*c.width:][:c.width]
		copy(values, state)
		if c.observe != nil {
			c.observe(values, state)
		}
		for j, f := range values {
			row[j] += f / float64(c.walkers)
		}
	}
	return rows
}

// nuts is Stan's sampler. Each of its runs draws a new series, so that a short run first has
// to tell how many draws the time is enough for.
type nuts struct{ chain }

func (c *nuts) run(ctx context.Context, w *peers.Workshop, seconds float64, seed uint64) (*Series, string, error) {
	p, about, err := c.start(w, seed)
	if err != nil {
		return nil, "", err
	}
	defer p.Close()
	// Both hold what preceded the first draw, and then the draws'.
	draws, times, evaluations := 1000, make([]float64, 2), make([]float64, 2)
	for attempt := range 2 {
		if _, err := p.Run(draws); err != nil {
			return nil, "", err
		}
		if err := p.Store("times", times); err != nil {
			return nil, "", err
		}
		affordable := int(float64(draws) * seconds / max(times[1], 1e-3))
		if attempt > 0 || affordable <= draws {
			break
		}
		draws = min(affordable, maxRows)
	}
	series := make([]float64, draws*c.stateWidth)
	if err := p.Store("series", series); err != nil {
		return nil, "", err
	}
	if err := p.Store("evaluations", evaluations); err != nil {
		return nil, "", err
	}
	return &Series{
		width: c.width, rows: c.rows(series), Setup: times[0], Sampling: times[1],
		SetupEvaluations: evaluations[0], Evaluations: evaluations[1],
	}, about, ctx.Err()
}

// lattice is the Ising model on a periodic square lattice.
func lattice(side int, beta float64) problem {
	n := float64(side * side)
	observe := func(row []float64, energy, m float64) {
		row[0], row[1], row[2], row[3] = energy, energy*energy, m, m*m
	}
	cluster := func(move, title string) contender {
		return &chain{
			peer: "c-chains", title: title, stateWidth: 2, width: 4, walkers: 1,
			selection: func(seed uint64) []any { return []any{move, side, beta, seed} },
			observe:   func(row, state []float64) { observe(row, state[0], state[1]) },
		}
	}
	exact := crash.Must(ising.Kaufman(side, 1, beta))
	return problem{
		name:  fmt.Sprint("ising-", side),
		about: fmt.Sprintf("the critical %d×%d Ising model", side, side),
		observables: []observable{
			meanObservable("energy", 0, exact.Energy),
			meanObservable("abs magnetisation", 2, math.NaN()),
			varianceObservable("specific heat", beta*beta, 0, exact.SpecificHeat),
			varianceObservable("susceptibility", beta*n, 2, math.NaN()),
		},
		ours: revgen{
			system: ising.Definition, assignments: []string{fmt.Sprint("target.l=", side), fmt.Sprint("target.beta=", beta)}, width: 4,
			observe: func(row []float64, state []byte) { energy, m := latticeSums(state, side); observe(row, energy, m) },
		},
		peers: []contender{cluster("wolff", "Wolff"), cluster("swendsen-wang", "Swendsen–Wang")},
	}
}

// latticeSums returns E and |m| of spins ±1.
func latticeSums(state []byte, side int) (energy, m float64) {
	var sum, bonds int32
	for y := range side {
		row, below := state[y*side:(y+1)*side], state[(y+1)%side*side:]
		left := int8(row[side-1])
		for x, s := range row {
			s := int8(s)
			sum += int32(s)
			bonds += int32(s*left) + int32(s*int8(below[x]))
			left = s
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

// graphProblem is a model of spins on a graph at the first of the inverse temperatures. The
// others are for replica exchange. Its observables are those of the energy and the
// correlations of pairs of spins.
func graphProblem(name, about string, spins int, edges []edge, pairs [][2]int32, levels []float64) problem {
	width, beta := 2+len(pairs), levels[0]
	observables := []observable{
		meanObservable("energy", 0, math.NaN()),
		varianceObservable("specific heat", beta*beta, 0, math.NaN()),
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
		ours: revgen{
			system: graph.Definition, width: width,
			assignments: []string{fmt.Sprint("target.spins=", spins), fmt.Sprintf("target.edges=%s", crash.Must(json.Marshal(edges))), fmt.Sprint("target.beta=", beta)},
			observe: func(row []float64, state []byte) {
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
				peer: "c-chains", title: "replica exchange", stateWidth: width, width: width, walkers: 1,
				arrays:    map[string]any{"edges": edges, "pairs": pairs, "levels": levels},
				selection: func(seed uint64) []any { return []any{"tempering", spins, seed, len(levels)} },
			},
		},
	}
}

// ladder returns inverse temperatures from beta down to beta/5, where a glass moves freely.
// They are so close that neighbours exchange about every third time.
func ladder(beta float64, side int) []float64 {
	n := 6 + side/2
	levels := make([]float64, n)
	for i := range levels {
		levels[i] = beta * math.Pow(0.2, float64(i)/float64(n-1))
	}
	return levels
}
