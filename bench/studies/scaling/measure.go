package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// A counter is a rank that notes its processor time before each message, and the
// messages' bytes.
type counter struct {
	pool.Ranks
	since  float64
	before []float64
	bytes  []int
	pieces []int // of the loop that a message belongs to
	loop   int

	received, messages int    // bytes of others, and messages between two ranks
	chained            bool   // since the last call
	chain              []bool // whether a call ends a sum along the ranks
}

// Loop implements pool.Watcher.
func (c *counter) Loop(pieces int) { c.loop = pieces }

func (c *counter) Gather(data []byte, ends []int) {
	now := processor()
	c.before, c.bytes = append(c.before, now-c.since), append(c.bytes, len(data))
	c.pieces = append(c.pieces, c.loop)
	own := ends[c.Rank()]
	if r := c.Rank(); r > 0 {
		own -= ends[r-1]
	}
	c.received += len(data) - own
	c.chain, c.chained = append(c.chain, c.chained), false
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
	c.received, c.messages, c.chained = c.received+len(data), c.messages+1, true
	c.Ranks.Receive(from, data)
}

// processor returns the processor seconds of the calling thread.
func processor() float64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return float64(t.Nano()) / 1e9
}

// onRanks lets n ranks in this process, each on a thread of its own, do something with a
// trainer whose messages a counter notes.
func onRanks(set []string, n int, do func(rank int, c *counter, trainer *engine.Trainer) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i, rank := range pool.Local(n) {
		group.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			errs[i] = func() error {
				cfg, err := revgen.Configure(set[0], set[1], set[2:]...)
				if err != nil {
					return err
				}
				workers := pool.New(1)
				defer workers.Close()
				c := &counter{Ranks: rank}
				workers.Join(c)
				trainer, err := engine.NewTrainer(cfg, workers)
				if err != nil {
					return err
				}
				defer engine.Release(trainer.System())
				return do(i, c, trainer)
			}()
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// cost trains on n ranks, and returns the processor seconds before each message of a
// step, of every rank the median over steps and of those the mean, and what follows the
// last; the slowest ranks' sum; and the messages' bytes, loops' pieces and whether a
// message ends a sum along the ranks. A thread that waits takes no processor time, so that
// other work on the machine does not count.
func cost(set []string, n, steps int) (before []float64, slowest float64, bytes, loops []int, sums []bool, err error) {
	all := make([][]float64, n)
	err = onRanks(set, n, func(i int, c *counter, trainer *engine.Trainer) error {
		var times [][]float64 // [stage][step]
		for range steps {
			c.before, c.bytes, c.since = c.before[:0], c.bytes[:0], processor()
			c.pieces, c.chain = c.pieces[:0], c.chain[:0]
			if err := trainer.Step(); err != nil {
				return err
			}
			c.before = append(c.before, processor()-c.since)
			if times == nil {
				times = make([][]float64, len(c.before))
			}
			for k, t := range c.before {
				times[k] = append(times[k], t)
			}
		}
		for _, t := range times {
			slices.Sort(t)
			all[i] = append(all[i], t[len(t)/2])
		}
		if i == 0 {
			bytes, loops, sums = slices.Clone(c.bytes), slices.Clone(c.pieces), slices.Clone(c.chain)
		}
		return nil
	})
	if err != nil {
		return nil, 0, nil, nil, nil, err
	}
	for k := range all[0] {
		mean, most := 0.0, 0.0
		for _, rank := range all {
			mean, most = mean+rank[k]/float64(n), max(most, rank[k])
		}
		before, slowest = append(before, mean), slowest+most
	}
	return before, slowest, bytes, loops, sums, nil
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
		one, _, bytes, loops, _, err := cost(s.set, 1, s.steps)
		if err != nil {
			return err
		}
		four, _, _, _, sums, err := cost(s.set, 4, s.steps)
		if err != nil {
			return err
		}
		for k := range one {
			stage := Stage{Whole: one[k]}
			if k < len(loops) { // T(n) = Whole + Shared ⌈Pieces/n⌉ / Pieces
				stage.Pieces, stage.Bytes = loops[k], bytes[k]
			}
			if k < len(sums) && sums[k] {
				stage.Chunk = 4 * 8192
			}
			if stage.Pieces > 1 {
				quarter := math.Ceil(float64(loops[k])/4) / float64(loops[k])
				stage.Shared = min(one[k], max(0, (one[k]-four[k])/(1-quarter)))
				stage.Whole = one[k] - stage.Shared
			}
			if k == len(loops) { // a run agrees on every step
				stage.Bytes, stage.EachRank = 1, true
			}
			run.Stages = append(run.Stages, stage)
		}
		runs = append(runs, run)
		for _, n := range []int{1, 2, 4, 8, 16} {
			_, slowest, bytes, _, _, err := cost(s.set, n, s.steps)
			if err != nil {
				return err
			}
			model, total := 0.0, 0
			for i := range run.Stages {
				model += run.Stages[i].seconds(n)
			}
			for _, b := range bytes {
				total += b
			}
			fmt.Fprintf(os.Stderr, "| %s, batch %s | %d | %.2f | %.2f | %d | %d |\n", s.name, thousands(run.Batch), n, slowest*1e3, model*1e3, len(bytes), total)
		}
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(runs)
}

// settings are those whose messages the table of docs/scaling.md counts.
var settings = [][]string{
	{"ising", "paper"},
	{"ising", "best"},
	{"ising", "best", "target.l=16", "target.beta=0.4407"},
	{"ising", "paper", "loss.kind=discriminator"},
	{"gmm", "paper"},
	{"gmm", "best"},
	{"hybrid", "paper"},
	{"hybrid", "best"},
}

// countMessages prints what each of two ranks receives in a step, the mean over steps,
// and its processor time beside half of one rank's.
func countMessages(steps int) error {
	fmt.Println("| run | calls a step | messages between two | bytes that a rank receives | processor time of a rank, of half of one rank's |")
	fmt.Println("|---|--:|--:|--:|--:|")
	for _, set := range settings {
		alone, err := average(set, 1, steps)
		if err != nil {
			return fmt.Errorf("%v: %w", set, err)
		}
		two, err := average(set, 2, steps)
		if err != nil {
			return err
		}
		fmt.Printf("| %s --preset %s | %.4g | %.4g | %s | %.2f |\n", set[0], strings.Join(set[1:], " "), two.calls, two.messages, thousands(int(two.bytes)), 2*two.seconds/alone.seconds)
	}
	return nil
}

// An averaged step of a rank.
type averaged struct{ calls, messages, bytes, seconds float64 }

// average trains on n ranks, and returns the mean step of the rank that
// takes the most processor time.
func average(set []string, n, steps int) (most averaged, err error) {
	all := make([]averaged, n)
	err = onRanks(set, n, func(i int, c *counter, trainer *engine.Trainer) error {
		c.before, c.received, c.messages = nil, 0, 0
		c.since = processor()
		for range steps {
			if err := trainer.Step(); err != nil {
				return err
			}
		}
		c.before = append(c.before, processor()-c.since)
		s := float64(steps)
		for _, t := range c.before {
			all[i].seconds += t / s
		}
		all[i].calls, all[i].messages, all[i].bytes = float64(len(c.before)-1)/s, float64(c.messages)/s, float64(c.received)/s
		return nil
	})
	for _, a := range all {
		most = averaged{max(most.calls, a.calls), max(most.messages, a.messages), max(most.bytes, a.bytes), max(most.seconds, a.seconds)}
	}
	return most, err
}
