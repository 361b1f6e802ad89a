package cli

import (
	"bytes"
	"context"
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

// Ranks agree before they do what one of them must not do alone: all begin to write, or none
// does, and a file gets its name after all have written.

// joinTraining makes the process one of several ranks if a launcher started it as one, and returns
// which it is. It does not if output has taskMark, so that each has a run of its own, nor for a job:
// a batch shares its list among ranks, and not its runs.
func (p *program) joinTraining(output string) (cluster.Part, error) {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return task, usageError{err}
	case p.inBatch || task.Count == 1 || strings.Contains(output, taskMark):
		return task, nil
	}
	err = p.join(task, launcher)
	if errors.Is(err, mpi.ErrAbsent) {
		err = usagef("this is one of %d processes that %s started, and a run is one process: start one, or give each a run of its own with %s, its number, in -o; %w", task.Count, launcher, taskMark, err)
	}
	return task, err
}

// joinSampling makes the process one of several ranks that write one file, if it has MPI and was
// started as one of several, unless --shard gives it a file of its own.
func (p *program) joinSampling(s *sampleOptions) error {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return usageError{err}
	case task.Count == 1 || s.shardGiven || s.format == "?":
		return nil
	case strings.Contains(s.output, taskMark):
		return usagef("-o: %s is the number of a part; ask for parts with --shard auto", taskMark)
	case !mpi.Present || p.inBatch:
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

// joinChains makes the process one of several ranks that share chains, if it has MPI and was
// started as one of several.
func (p *program) joinChains() error {
	task, launcher, err := cluster.Step(os.Getenv)
	switch {
	case err != nil:
		return usageError{err}
	case task.Count == 1 || !mpi.Present || p.inBatch:
		return nil
	}
	return p.join(task, launcher)
}

// rankWait is how long a rank waits for all others to begin, unless envRankWait is set.
const (
	rankWait    = 2 * time.Minute
	envRankWait = "REVGEN_RANK_WAIT"
)

// join makes the process one of several ranks. checkSameStart has to follow.
func (p *program) join(task cluster.Part, launcher string) error {
	wait := duration(rankWait)
	if text := os.Getenv(envRankWait); text != "" {
		if err := wait.Set(text); err != nil {
			return usagef("%s: %w", envRankWait, err)
		}
	}
	// MPI waits for ever, in Init too, which cannot be interrupted.
	timer := time.AfterFunc(time.Duration(wait), func() {
		p.report(fmt.Errorf("rank %d of %d has waited %s for the others to begin, and gives up: was every process started as a rank of the same command? %s sets another time",
			task.Index, task.Count, wait.String(), envRankWait), exitError)
		os.Exit(exitError)
	})
	p.stopRankTimer = func() { timer.Stop() }
	world, err := mpi.Init()
	if err != nil {
		p.stopRankTimer()
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

// checkSameStart refuses ranks whose command, version, kernel path or values, encoded as JSON,
// differ from rank 0's. It is the first exchange of all ranks, and has the same messages of the
// same sizes whatever a rank was started as.
func (p *program) checkSameStart(command string, values any) error {
	path, _, _ := asm.Active()
	own := crash.Must(conf.Leaves(crash.Must(json.Marshal(values))))
	own["command"], own["version"], own["kernel path"] = command, version.Read().String(), path.String()
	delete(own, "target.file") // its content is among the values
	rankZero, err := fromRankZero(p, func() (map[string]string, error) { return own, nil })
	if err != nil {
		return err
	}
	const maxText = 512 // bytes of a rank's message
	text := make([]byte, maxText)
	copy(text, differences(own, rankZero))
	texts := pool.Exchange(p.world, text)
	p.stopRankTimer()
	var lines []string
	for rank, text := range texts {
		if text = bytes.TrimRight(text, "\x00"); len(text) > 0 {
			lines = append(lines, fmt.Sprintf("rank %d has %s", rank, strings.ToValidUTF8(string(text), "…")))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if maxLines := 3; len(lines) > maxLines {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more differ", len(lines)-maxLines))
	}
	return usagef("ranks were started differently: %s", strings.Join(lines, "; "))
}

// differences says in which values this rank differs from rank 0.
func differences(own, rankZero map[string]string) string {
	union := maps.Clone(own)
	maps.Copy(union, rankZero)
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(union)), func(key string) bool { return own[key] == rankZero[key] })
	if slices.Contains(keys, "command") {
		keys = []string{"command"} // other commands have other values
	}
	quote := func(text string) string {
		const maxValue = 60
		switch r := []rune(text); {
		case text == "":
			return "nothing"
		case len(r) > maxValue:
			return string(r[:maxValue]) + "…"
		}
		return text
	}
	var texts []string
	for _, key := range keys {
		texts = append(texts, fmt.Sprintf("%s %s, rank 0 %s", key, quote(own[key]), quote(rankZero[key])))
	}
	if slices.Contains(keys, "kernel path") {
		texts = append(texts, "whose last bits differ: give all the same --isa")
	}
	return strings.Join(texts, ", ")
}

// isOtherRank reports whether this is an MPI rank that leaves names of files, messages and stdout
// to rank 0.
func (p *program) isOtherRank() bool { return p.world != nil && p.world.Rank() > 0 }

// An agreedError is one that all ranks know of, and that this rank reports.
type agreedError struct{ error }

func (e agreedError) Unwrap() error { return e.error }

// The states of ranks, in ascending order of their weight in agreeOnError.
const (
	rankOK = iota
	rankStopped
	rankFailed
)

// agreeOnError, which all ranks call, returns err if no rank failed or was stopped. If one failed,
// the first that did returns its own error, and the others engine.ErrElsewhere. If none failed
// but one was stopped, all are.
func (p *program) agreeOnError(err error) error {
	state := byte(rankOK)
	switch {
	case err == nil, errors.Is(err, engine.ErrElsewhere):
	case engine.Cancelled(err):
		state = rankStopped
	default:
		state = rankFailed
	}
	states := pool.Exchange(p.world, []byte{state})
	failedRank, worst := 0, byte(rankOK)
	for r, state := range states {
		if state[0] > worst {
			failedRank, worst = r, state[0]
		}
	}
	switch {
	case worst == rankOK:
		return err
	case worst == rankStopped:
		return agreedError{context.Canceled}
	case failedRank != p.world.Rank():
		return engine.ErrElsewhere
	case failedRank == 0:
		return err
	}
	return agreedError{fmt.Errorf("rank %d: %w", failedRank, err)}
}

// fromRankZero returns on every rank what compute returns on rank 0, sent as JSON.
func fromRankZero[T any](p *program, compute func() (T, error)) (result T, err error) {
	if !p.isOtherRank() {
		result, err = compute()
	}
	if p.world == nil {
		return result, err
	}
	if err := p.agreeOnError(err); err != nil {
		return result, err
	}
	ranks := pool.New(1)
	ranks.Join(p.world)
	if text := ranks.Text(crash.Must(json.Marshal(result))); p.isOtherRank() {
		err = json.Unmarshal(text, &result)
	}
	return result, err
}

// leaveRanks ends the process's use of MPI before it exits with code. After an error it ends the
// processes of all ranks.
func (p *program) leaveRanks(err error, code int) {
	switch {
	case p.world == nil:
	case errors.Is(err, engine.ErrElsewhere):
		p.world.Meet(math.MaxInt64) // until the rank that failed aborts all
		p.world.Abort(code)
	case err == nil || errors.As(err, new(resumableStop)) || code == exitStopped && errors.As(err, new(agreedError)):
		if err := p.world.Finalize(code); err != nil {
			p.report(err, exitError)
		}
	default:
		p.world.Abort(code)
	}
}

// otherRankReports reports whether another rank reports the error.
func (p *program) otherRankReports(err error, code int) bool {
	return errors.Is(err, engine.ErrElsewhere) || code == exitStopped && p.world != nil && p.world.Rank() > 0
}

// rankZeroPatience is how long another rank waits for rank 0 to report an error and end the job.
const rankZeroPatience = 10 * time.Second

// rankZeroReported lets rank 0 report first an error that all ranks may have, and returns whether
// all have come to their end since.
func (p *program) rankZeroReported(err error) bool {
	return p.isOtherRank() && !errors.As(err, new(agreedError)) && p.world.Meet(rankZeroPatience)
}
