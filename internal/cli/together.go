package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/cluster"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

// Ranks that sample go through the same program with a part of the samples each, and
// agree before what one of them alone must not do: all begin to write, or none does,
// and the file has its name after all have written.

// joinSampling makes the process one of several ranks that write one file, where it
// has MPI and was started as one of several, unless --shard says what is its own.
func (p *program) joinSampling(s *sampling) error {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return usageError{err}
	case task.Count == 1 || s.parted || s.format == "?":
		return nil
	case strings.Contains(s.output, taskMark):
		return usagef("-o: %s is the number of a part; ask for parts with --shard auto", taskMark)
	case !mpi.Present || p.batched:
		return nil
	}
	if err := p.join(task, launcher); err != nil {
		return err
	}
	if s.output == "-" {
		return usagef("-o -: %d ranks write parts of one file, which stdout is not; name a file, or let one process write (--shard 0/1)", task.Count)
	}
	return nil
}

// joinWalking makes the process one of several ranks that share chains, where it has MPI
// and was started as one of several.
func (p *program) joinWalking() error {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return usageError{err}
	case task.Count == 1 || !mpi.Present || p.batched:
		return nil
	}
	return p.join(task, launcher)
}

// others reports whether this is a rank that leaves files and talk to rank 0.
func (p *program) others() bool { return p.world != nil && p.world.Rank() > 0 }

// A settled error is one of which all ranks know, and which this one is to tell.
type settled struct{ error }

func (s settled) Unwrap() error { return s.error }

// How a rank comes to where all agree.
const (
	rankWell = iota
	rankStopped
	rankFailed
)

// settle returns nil if no rank has an error. Otherwise the first rank that failed
// tells its own, and all others return engine.ErrElsewhere. If none failed and one was
// stopped, all are.
func (p *program) settle(err error) error {
	state := byte(rankWell)
	switch {
	case err == nil, errors.Is(err, engine.ErrElsewhere):
	case engine.Cancelled(err):
		state = rankStopped
	default:
		state = rankFailed
	}
	all := pool.Exchange(p.world, []byte{state})
	first, worst := 0, byte(rankWell)
	for r, state := range all {
		if state[0] > worst {
			first, worst = r, state[0]
		}
	}
	switch {
	case worst == rankWell:
		return err
	case worst == rankStopped:
		return settled{context.Canceled}
	case first != p.world.Rank():
		return engine.ErrElsewhere
	case first == 0:
		return err
	}
	return settled{fmt.Errorf("rank %d: %w", first, err)}
}

// agreed is what rank 0 finds for all, who have it as JSON.
func agreed[T any](p *program, find func() (T, error)) (found T, err error) {
	if !p.others() {
		found, err = find()
	}
	if p.world == nil {
		return found, err
	}
	if err := p.settle(err); err != nil {
		return found, err
	}
	ranks := pool.New(1)
	ranks.Join(p.world)
	if text := ranks.Text(crash.Must(json.Marshal(found))); p.others() {
		err = json.Unmarshal(text, &found)
	}
	return found, err
}

// shareSamples writes this rank's part of a file.
func (p *program) shareSamples(ctx context.Context, stream *engine.Stream, r request) error {
	start := time.Now()
	own := shard{uint64(p.world.Rank()), uint64(p.world.Size()), false}
	part := r
	part.first, part.n = own.slice(r.n)
	err := p.shareFile(r.path, r.header(), func(file *npy.Shared) error {
		file.Part(int64(part.first)*int64(r.format.RowBytes), int64(part.n)*int64(r.format.RowBytes))
		part.first += r.first
		return p.stream(ctx, stream, file, part)
	})
	if err == nil {
		p.sayRate(r, start)
	}
	return err
}

// shareFile writes this rank's parts of a file.
func (p *program) shareFile(path string, h npy.Header, write func(file *npy.Shared) error) error {
	file, err := p.openShared(path, h)
	if err != nil {
		return err
	}
	p.output.begin(func() (string, bool) {
		_ = file.Abort()
		return "nothing was written to " + path, false
	})
	err = write(file)
	if err == nil {
		err = file.Done()
	}
	if err != nil {
		p.output.discard() // which ends the others' part
	}
	if errors.Is(err, npy.ErrDiscarded) {
		err = engine.ErrElsewhere
	} else {
		err = sayWhere(path, err)
	}
	if err := p.settle(err); err != nil {
		p.output.discard()
		return err
	}
	published := func() error { return nil }
	if !p.others() {
		published = file.Publish
	}
	return p.settle(sayWhere(path, p.output.finish(published)))
}

// openShared returns the file on every rank.
func (p *program) openShared(path string, h npy.Header) (file *npy.Shared, err error) {
	name, err := agreed(p, func() (string, error) {
		if file, err = npy.CreateShared(path, h); err != nil {
			return "", sayWhere(path, err)
		}
		return file.Name(), nil
	})
	if err != nil {
		return nil, err
	}
	if p.others() {
		if file, err = npy.OpenShared(name, h); errors.Is(err, os.ErrNotExist) {
			host, _ := os.Hostname()
			err = fmt.Errorf("on %s there is no %s, which rank 0 has made: -o must be on a file system that all ranks share", host, name)
		}
	}
	if err != nil {
		_ = os.Remove(name)
	}
	if err := p.settle(err); err != nil {
		return nil, err
	}
	return file, nil
}
