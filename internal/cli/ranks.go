package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/cluster"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/mpi"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/version"
)

// joinTraining makes the process one of several ranks if a launcher started it as
// one, unless each has a run of its own, and returns which it is. A batch shares its list
// among ranks, not its runs.
func (p *program) joinTraining(output string) (cluster.Part, error) {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return task, usageError{err}
	case p.batched || task.Count == 1 || strings.Contains(output, taskMark):
		return task, nil
	}
	err = p.join(task, launcher)
	if errors.Is(err, mpi.ErrAbsent) {
		err = usagef("this is one of %d processes that %s started, and a run is one process: start one, or give each a run of its own with %s, its number, in -o; %w", task.Count, launcher, taskMark, err)
	}
	return task, err
}

// rankWait is how long a rank waits for all others to begin, unless the environment says
// otherwise.
const (
	rankWait    = 2 * time.Minute
	envRankWait = "REVGEN_RANK_WAIT"
)

// join makes the process one of several ranks. sameStart has to follow.
func (p *program) join(task cluster.Part, launcher string) error {
	wait := duration(rankWait)
	if text := os.Getenv(envRankWait); text != "" {
		if err := wait.Set(text); err != nil {
			return usagef("%s: %w", envRankWait, err)
		}
	}
	// MPI itself waits for ever, and not only in calls that could be asked again.
	late := time.AfterFunc(time.Duration(wait), func() {
		p.report(fmt.Errorf("rank %d of %d has waited %s for the others to begin, and gives up: was every process started as a rank of the same command? %s sets another time",
			task.Index, task.Count, wait.String(), envRankWait), exitError)
		os.Exit(exitError)
	})
	p.joined = func() { late.Stop() }
	world, err := mpi.Init()
	if err != nil {
		p.joined()
		return err
	}
	p.world = world
	p.isRank.Store(true)
	if world.Rank() > 0 {
		p.quiet, p.stdout = true, io.Discard
	}
	if world.Size() != task.Count {
		return usagef("%s started %d processes, and MPI knows %d: is it the launcher of the MPI that this program was built with?", launcher, task.Count, world.Size())
	}
	return nil
}

// sameStart refuses ranks that were started as another command, program or kernel path, or
// with other values than rank 0, which are JSON when encoded. It is the first that ranks do
// together, and each says as much whatever it was started as.
func (p *program) sameStart(command string, values any) error {
	path, _, _ := asm.Active()
	mine := crash.Must(conf.Leaves(crash.Must(json.Marshal(values))))
	mine["command"], mine["version"], mine["kernel path"] = command, version.Read().String(), path.String()
	delete(mine, "target.file") // what it held is among the values
	theirs, err := agreed(p, func() (map[string]string, error) { return mine, nil })
	if err != nil {
		return err
	}
	const most = 512 // bytes that a rank says of it
	said := make([]byte, most)
	copy(said, differences(mine, theirs))
	all := pool.Exchange(p.world, said)
	p.joined()
	var which []string
	for rank, text := range all {
		if text = bytes.TrimRight(text, "\x00"); len(text) > 0 {
			which = append(which, fmt.Sprintf("rank %d has %s", rank, strings.ToValidUTF8(string(text), "…")))
		}
	}
	if len(which) == 0 {
		return nil
	}
	if most := 3; len(which) > most {
		which = append(which[:most], fmt.Sprintf("and %d more differ", len(which)-most))
	}
	return usagef("ranks were started differently: %s", strings.Join(which, "; "))
}

// differences says what this rank has otherwise than rank 0.
func differences(mine, theirs map[string]string) string {
	both := maps.Clone(mine)
	maps.Copy(both, theirs)
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(both)), func(key string) bool { return mine[key] == theirs[key] })
	if slices.Contains(keys, "command") {
		keys = []string{"command"} // each has values of its own
	}
	short := func(text string) string {
		const most = 60
		switch r := []rune(text); {
		case text == "":
			return "nothing"
		case len(r) > most:
			return string(r[:most]) + "…"
		}
		return text
	}
	var all []string
	for _, key := range keys {
		all = append(all, fmt.Sprintf("%s %s, rank 0 %s", key, short(mine[key]), short(theirs[key])))
	}
	if slices.Contains(keys, "kernel path") {
		all = append(all, "whose last bits differ: give all the same --isa")
	}
	return strings.Join(all, ", ")
}

// leave ends a rank's part in its job, with the code that it exits with. Where
// something went wrong the job ends, and rank 0 is the first to say so.
func (p *program) leave(err error, code int) {
	switch {
	case p.world == nil:
	case errors.Is(err, engine.ErrElsewhere):
		p.world.Meet(math.MaxInt64) // or be ended by the other rank
		p.world.Abort(code)
	case err == nil || errors.As(err, new(resumableStop)) || code == exitStopped && errors.As(err, new(settled)):
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
