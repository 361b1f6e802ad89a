package cli

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/cluster"
	"github.com/revgen/revgen/internal/mpi"
)

// joinTraining makes the process one of several ranks if a launcher started it as
// one, unless each has a run of its own.
func (p *program) joinTraining(output string) error {
	task, launcher, err := cluster.Step(os.Getenv)
	if err != nil {
		return usageError{err}
	}
	if task.Count == 1 || strings.Contains(output, taskMark) {
		return nil
	}
	err = p.join(task, launcher)
	if errors.Is(err, mpi.ErrAbsent) {
		return usagef("this is one of %d processes that %s started, and a run is one process: start one, or give each a run of its own with %s, its number, in -o; %w", task.Count, launcher, taskMark, err)
	}
	return err
}

// join makes the process one of several ranks.
func (p *program) join(task cluster.Part, launcher string) error {
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	p.world = world
	p.ranked.Store(true)
	if world.Rank() > 0 {
		p.quiet, p.stdout = true, io.Discard
	}
	if world.Size() != task.Count {
		return usagef("%s started %d processes, and MPI knows %d: is it the launcher of the MPI that this program was built with?", launcher, task.Count, world.Size())
	}
	return p.samePath()
}

// samePath refuses ranks on different kernel paths, which would not have the same
// bits.
func (p *program) samePath() error {
	path, _, _ := asm.Active()
	all := p.gather(byte(path))
	for r, other := range all {
		if other != all[0] {
			least := asm.Path(min(other, all[0]))
			return usagef("rank 0 is on the kernel path %s and rank %d on %s, whose last bits differ: give all --isa %s", asm.Path(all[0]), r, asm.Path(other), least)
		}
	}
	return nil
}

// leave ends a rank's part in its job, with the code that it exits with. Where
// something went wrong the job ends, and rank 0 is the first to say so.
func (p *program) leave(err error, code int) {
	switch {
	case p.world == nil:
	case errors.Is(err, engine.ErrElsewhere):
		p.world.Meet(math.MaxInt64) // or be ended by the other rank
		p.world.Abort(code)
	case err == nil || errors.As(err, new(stopped)) || code == exitStopped && errors.As(err, new(settled)):
		if err := p.world.Finalize(code); err != nil {
			p.report(err, exitError)
		}
	default:
		p.world.Abort(code)
	}
}

// saidElsewhere reports whether another rank says what ended the run.
func (p *program) saidElsewhere(err error, code int) bool {
	return errors.Is(err, engine.ErrElsewhere) || code == exitStopped && p.world != nil && p.world.Rank() > 0
}

// otherPatience is how long a rank waits for rank 0 to end the job.
const otherPatience = 10 * time.Second

// saidBefore lets rank 0 say first what other ranks, too, have come to, and reports
// whether it has.
func (p *program) saidBefore(err error) bool {
	return p.others() && !errors.As(err, new(settled)) && p.world.Meet(otherPatience)
}
