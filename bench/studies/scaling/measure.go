package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A call is a collective one, or the end of a step.
type call struct {
	before float64 // processor seconds since the one before it
	bytes  int     // of all ranks
	pieces int     // of the loop that it belongs to
	sum    bool    // whether it ends a sum along the ranks
}

// A counter is a rank that notes its calls.
type counter struct {
	pool.Ranks
	steps   [][]call
	since   float64
	pieces  int  // of the present loop
	chained bool // since the last call
}

// note ends what was before a call.
func (c *counter) note(bytes, pieces int) {
	step := &c.steps[len(c.steps)-1]
	*step = append(*step, call{processor() - c.since, bytes, pieces, c.chained})
	c.chained = false
}

// Loop implements pool.Watcher.
func (c *counter) Loop(pieces int) { c.pieces = pieces }

func (c *counter) Gather(data []byte, ends []int) {
	c.note(len(data), c.pieces)
	c.Ranks.Gather(data, ends)
	c.since = processor()
}

// Send implements pool.Ranks.
func (c *counter) Send(to int, data []byte) {
	c.Ranks.Send(to, data)
	c.chained = true
}

// Receive implements pool.Ranks.
func (c *counter) Receive(from int, data []byte) {
	c.Ranks.Receive(from, data)
	c.chained = true
}

// processor returns the processor seconds of the calling thread, to which a thread that
// waits adds nothing: other work on the machine does not count.
func processor() float64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return float64(t.Nano()) / 1e9
}

// train takes steps on n ranks of this process, each on a thread of its own, and returns what
// they noted, in each step its calls and its end.
func train(set []string, n, steps int) ([]*counter, error) {
	all, errs := make([]*counter, n), make([]error, n)
	var group sync.WaitGroup
	for i, rank := range pool.Local(n) {
		group.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all[i] = &counter{Ranks: rank}
			errs[i] = all[i].train(set, steps)
		})
	}
	group.Wait()
	return all, errors.Join(errs...)
}

func (c *counter) train(set []string, steps int) error {
	cfg, err := revgen.Configure(set[0], set[1], set[2:]...)
	if err != nil {
		return err
	}
	workers := pool.New(1)
	defer workers.Close()
	workers.Join(c)
	c.steps = make([][]call, 1) // for what comes before the first
	trainer, err := engine.NewTrainer(cfg, workers)
	if err != nil {
		return err
	}
	defer engine.Release(trainer.System())
	c.steps = nil
	for range steps {
		c.steps = append(c.steps, nil)
		c.since = processor()
		if err := trainer.Step(); err != nil {
			return err
		}
		c.note(0, 0)
	}
	return nil
}

// cost trains on n ranks, and returns the calls of a step and its end, with the processor seconds
// before each, of every rank the median over steps and of those the mean; and the slowest ranks' sum.
func cost(set []string, n, steps int) (all []call, slowest float64, err error) {
	ranks, err := train(set, n, steps)
	if err != nil {
		return nil, 0, err
	}
	all = slices.Clone(ranks[0].steps[0])
	for k := range all {
		all[k].before = 0
		most := 0.0
		for _, c := range ranks {
			median := stat.Median(lists.Map(c.steps, func(step []call) float64 { return step[k].before }))
			all[k].before += median / float64(n)
			most = max(most, median)
		}
		slowest += most
	}
	return all, slowest, nil
}

// subjects are the paper's settings, and one of them with a batch for many ranks.
var subjects = []struct {
	name  string
	steps int
	set   []string
}{
	{"ising", 60, []string{"ising", "paper"}},
	{"gmm", 60, []string{"gmm", "paper"}},
	{"gmm", 9, []string{"gmm", "paper", "training.batch=16384"}},
}

// measureAll prints what ranks take and what the model makes of it, to stderr, and the
// calibration.
func measureAll() error {
	var runs []Run
	for _, s := range subjects {
		cfg, err := revgen.Configure(s.set[0], s.set[1], s.set[2:]...)
		if err != nil {
			return err
		}
		run := Run{Name: s.name, Batch: cfg.Shared().Training.Batch}
		one, _, err := cost(s.set, 1, s.steps)
		if err != nil {
			return err
		}
		four, _, err := cost(s.set, 4, s.steps)
		if err != nil {
			return err
		}
		for k, c := range one {
			stage := Stage{Whole: c.before, Pieces: c.pieces, Bytes: c.bytes} // T(n) = Whole + Shared ⌈Pieces/n⌉ / Pieces
			if four[k].sum {
				stage.Chunk = 4 * 8192
			}
			if stage.Pieces > 1 {
				quarter := math.Ceil(float64(c.pieces)/4) / float64(c.pieces)
				stage.Shared = min(c.before, max(0, (c.before-four[k].before)/(1-quarter)))
				stage.Whole = c.before - stage.Shared
			}
			if k == len(one)-1 { // a run agrees on every step
				stage.Bytes, stage.EachRank = 1, true
			}
			run.Stages = append(run.Stages, stage)
		}
		runs = append(runs, run)
		for _, n := range []int{1, 2, 4, 8, 16} {
			all, slowest, err := cost(s.set, n, s.steps)
			if err != nil {
				return err
			}
			model, total := 0.0, 0
			for i := range run.Stages {
				model += run.Stages[i].seconds(n)
			}
			for _, c := range all {
				total += c.bytes
			}
			fmt.Fprintf(os.Stderr, "| %s, batch %s | %d | %.2f | %.2f | %d | %d |\n", s.name, thousands(run.Batch), n, slowest*1e3, model*1e3, len(all)-1, total)
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(runs)
}
