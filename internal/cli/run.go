package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/ndjson"
)

// A jobVerb is a command that jobs can name. Its argument and its long flags are the keys of the
// job, and what it prints with --json is the job's result.
type jobVerb struct {
	batch.Verb
	command       func(*program) *cobra.Command
	jsonLines     bool              // --json prints a list, one item a line
	batchDefaults map[string]string // values of flags that have another default in a batch
}

func jobVerbs() []jobVerb {
	return []jobVerb{
		{Verb: batch.Verb{Name: "train", Writes: true, Shares: []string{"diagnose"}}, command: (*program).trainCommand, batchDefaults: map[string]string{"figures": "none", "samples": "0"}},
		{Verb: batch.Verb{Name: "sample", Writes: true, Suffix: ".npy"}, command: (*program).sampleCommand},
		{Verb: batch.Verb{Name: "diagnose"}, command: (*program).diagnoseCommand},
		{Verb: batch.Verb{Name: "mcmc", Writes: true, Suffix: ".npy", Files: []string{"states"}}, command: (*program).mcmcCommand},
		{Verb: batch.Verb{Name: "score", Writes: true, Suffix: ".ndjson"}, command: (*program).scoreCommand},
		{Verb: batch.Verb{Name: "verify"}, command: (*program).verifyCommand, jsonLines: true},
	}
}

func verbNames() string {
	return strings.Join(lists.Map(jobVerbs(), func(v jobVerb) string { return v.Name }), ", ")
}

// reservedFlags are the flags that the batch sets, and jobs cannot.
var reservedFlags = []string{"output", "grid"}

// batchOptions are the flags of run.
type batchOptions struct {
	dir          string
	listPath     string // the list of jobs, which no job writes; empty for none
	allowOutside bool   // jobs may write outside dir
	resume       string
	shard        shard
	threads      int
	maxTime      duration
}

func (p *program) runCommand() *cobra.Command {
	b := batchOptions{resume: "auto", shard: shard{count: 1}}
	cmd := &cobra.Command{
		Use:   "run JOBS.ndjson|-",
		Short: "Run a list of jobs in parallel",
		Long: `Run a list of jobs, one JSON object a line. One key of a job is its verb, whose value is
the verb's argument, or a list of arguments. The other keys are the verb's long flags,
"set" for the configuration, "grid", "id", and "out" for the output's place:

  {"train": "ising", "set": {"target.beta": 0.3}, "seed": 7, "id": "warm"}
  {"train": "ising", "grid": {"target.beta": "0.1:0.6:0.01", "seed": [1, 2, 3]}}
  {"sample": "runs/jobs/warm", "number": 1000000, "out": "runs/jobs/warm.npy"}

The verbs are ` + verbNames() + `. A grid becomes one job for each
combination of its values. A job that reads the output of an earlier one waits for it.

Jobs run in parallel, each on one thread; a job longer than its share runs alone on all
threads. Each job gives the same result as its command would alone. Training writes
figures and samples only if the job asks for them.

stdout gets one NDJSON record for each job, in the order of the list: the job, its exit
code, its result (what the verb prints with --json) and its time. A failed job is
reported with its line, and the others continue. The directory of the batch holds the
journal of finished jobs, results.ndjson, status.json and the jobs' output. A job may
write elsewhere only with --allow-outside.

The same command continues an interrupted batch: finished jobs are not repeated,
unfinished runs continue from their checkpoints, failed jobs are tried again. The exit
code is 1 if a job failed, 3 if only checks failed, and 75 if the batch was stopped.`,
		Example: `  revgen run jobs.ndjson > results.ndjson
  srun revgen run jobs.ndjson --shard auto -o batch-%t
  revgen train ising --grid target.beta=0.1:0.6:0.01 -o sweep`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return p.runList(args[0], &b) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&b.dir, "output", "o", "", "`directory` of the batch (default runs/NAME, after the list; %t is the number of the shard)")
	p.addChoice(cmd, &b.resume, "resume", "", "continue the directory's batch: auto (if there is one), never or must", "auto", "never", "must")
	flags.Lookup("resume").NoOptDefVal = "auto"
	flags.BoolVar(&b.allowOutside, "allow-outside", false, "let jobs write outside the batch's directory")
	flags.Var(&b.shard, "shard", "carry out only part i of n, counted from 0; auto takes i/n from Slurm or mpirun")
	flags.Var(&b.maxTime, "max-time", "stop with a checkpoint after this long: 90m, 01:30:00 or 1-12:00:00")
	addThreads(cmd, &b.threads)
	return cmd
}

// verbOf returns the verb of a job. It exists, since batch.Read has checked it.
func verbOf(j *batch.Job) *jobVerb {
	all := jobVerbs()
	return &all[slices.IndexFunc(all, func(v jobVerb) bool { return v.Name == j.Verb })]
}

// verbs returns jobVerbs as package batch knows them.
func verbs() []batch.Verb {
	return lists.Map(jobVerbs(), func(v jobVerb) batch.Verb { return v.Verb })
}

func (p *program) runList(path string, b *batchOptions) error {
	name := "stdin"
	b.listPath = "/dev/stdin"
	var in io.Reader = os.Stdin
	if path != "-" {
		file, _, err := disk.Open(path)
		if err != nil {
			return usageError{err}
		}
		defer file.Close()
		in, b.listPath = file, path
		name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if err := b.setDir(filepath.Join("runs", name)); err != nil {
		return err
	}
	jobs, err := batch.Read(in, verbs(), b.dir)
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	if len(jobs) == 0 {
		return usagef("%s: holds no jobs", path)
	}
	return p.runJobs(path, jobs, b)
}

// setDir settles the directory, by default the given one, with the number of the shard in it.
func (b *batchOptions) setDir(fallback string) error {
	if b.dir == "" {
		b.dir = fallback
		if b.shard.count > 1 {
			b.dir += "-" + taskMark
		}
	}
	if b.shard.count > 1 && !strings.Contains(b.dir, taskMark) {
		return usagef("-o: all %d shards would use %s; put %s, the number of the shard, into the name", b.shard.count, b.dir, taskMark)
	}
	b.dir = strings.ReplaceAll(b.dir, taskMark, fmt.Sprint(b.shard.index))
	return nil
}

// batchFiles are the files that a batch keeps in its directory.
var batchFiles = []string{"journal.ndjson", "results.ndjson", "status.json", "lock"}

// place returns where the jobs may write.
func (b *batchOptions) place() batch.Place {
	place := batch.Place{Dir: b.dir, Reserved: append(joinAll(b.dir, batchFiles), b.dir), AllowOutside: b.allowOutside}
	if b.listPath != "" {
		place.Reserved = append(place.Reserved, b.listPath)
	}
	return place
}

// trainGrid runs one job for each point of a train command's --grid, with the command's other
// flags.
func (p *program) trainGrid(cmd *cobra.Command, args, grid []string, b *batchOptions) error {
	template := &batch.Origin{Verb: "train", Args: args}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(f.Name) != nil || slices.Contains([]string{"grid", "output", "resume", "max-time", "threads"}, f.Name) {
			return
		}
		texts := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			texts = list.GetSlice()
		}
		for _, text := range texts {
			template.Given = append(template.Given, ndjson.Member{Key: f.Name, Value: ndjson.Value{Kind: ndjson.String, Text: text}})
		}
	})
	var axes []ndjson.Member
	for _, g := range grid {
		axis, err := batch.ParseGrid(g)
		if err != nil {
			return usagef("--grid: %w", err)
		}
		axes = append(axes, axis)
	}
	if err := b.setDir(filepath.Join("runs", fmt.Sprintf("grid-%x", sha256.Sum256(fmt.Append(nil, args, template.Given, grid)))[:13])); err != nil {
		return err
	}
	jobs, err := batch.Multiply(nil, template, axes, verbs(), b.dir)
	if err != nil {
		return usagef("--%w", err)
	}
	return p.runJobs("--grid", jobs, b)
}

// runJobs runs the shard's part of jobs, unless any of them is wrong.
func (p *program) runJobs(source string, jobs []*batch.Job, b *batchOptions) error {
	err := disk.CheckLinks(b.dir, batchFiles...)
	if err == nil && b.listPath != "" {
		err = disk.CheckDistinct([]string{b.listPath}, joinAll(b.dir, batchFiles))
	}
	if err != nil {
		return usagef("-o: %w", err)
	}
	if err := batch.Link(jobs, b.place()); err != nil {
		return usagef("%s: %w", source, err)
	}
	var problems []error
	for _, j := range jobs {
		if _, _, err := p.jobCommand(j, 1); err != nil && len(problems) < 10 {
			if j.Line > 0 && errors.As(err, new(*valueError)) {
				continue // that job alone fails
			}
			if j.Line == 0 { // the jobs of --grid are mostly wrong alike
				problems = append(problems, fmt.Errorf("%s: %w", j.ID, err))
				break
			}
			problems = append(problems, fmt.Errorf("line %d: %w", j.Line, err))
		}
	}
	if len(problems) > 0 {
		return usagef("%s: %w", source, errors.Join(problems...))
	}
	jobs = batch.Shard(jobs, b.shard.index, b.shard.count)
	return p.runResumable(b.maxTime, 0, func(ctx context.Context) error { return p.runBatch(ctx, jobs, b) })
}

// A batchStop reports a batch that stopped before its end, resumably.
type batchStop struct {
	dir         string
	done, total int
}

func (e *batchStop) Error() string {
	return fmt.Sprintf("stopped with %d of %d jobs finished; the same command continues from %s", e.done, e.total, e.dir)
}

// isFinished reports whether a job with this exit code need not run again. A failed check is a
// result too.
func isFinished(exit int) bool { return exit == exitOK || exit == exitCheck }

// runBatch runs the jobs that the directory's journal does not have as finished.
func (p *program) runBatch(ctx context.Context, jobs []*batch.Job, b *batchOptions) (err error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return fmt.Errorf("directory %s: %w", b.dir, disk.Cause(err))
	}
	lock, err := disk.Own(b.dir, "journal.ndjson", "results.ndjson", "status.json")
	switch {
	case errors.Is(err, disk.ErrNoLocks):
		p.warn(err.Error())
	case err != nil:
		return err
	}
	defer keepError(lock.Release, &err)
	path := filepath.Join(b.dir, "journal.ndjson")
	_, missing := os.Stat(path)
	switch {
	case missing == nil && b.resume == "never":
		return fmt.Errorf("%s: holds a batch already; choose another directory, or resume it", b.dir)
	case missing != nil && b.resume == "must":
		return fmt.Errorf("%s: holds no batch to resume", b.dir)
	}
	journal, finished, err := batch.OpenJournal(path, jobs, func(r *batch.Record) bool { return isFinished(r.Exit) })
	switch {
	case errors.Is(err, batch.ErrChanged):
		return usageError{err}
	case err != nil:
		return err
	}
	defer keepError(journal.Close, &err)
	threads := cmp.Or(b.threads, defaultThreads())
	p.say("%d jobs (%d finished earlier), %d threads: %s", len(jobs), len(finished), threads, b.dir)
	for _, j := range jobs {
		if _, ok := finished[j.Index]; !ok {
			p.estimate(j)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := p.newRecorder(jobs, finished, b.dir, journal, cancel)
	plan := batch.Plan{Cores: threads, Bytes: 0.8 * memory.Limit(), Do: p.runJob, Started: w.jobStarted, Ended: w.jobEnded}
	plan.Run(ctx, jobs, finished)
	return w.conclude()
}

// keepError calls f, a deferred Close or Release, and sets *err to its error unless it has one.
func keepError(f func() error, err *error) {
	if e := f(); *err == nil {
		*err = e
	}
}

// jobCommand returns the command of a job with its flags set, and the program that it belongs to.
func (p *program) jobCommand(j *batch.Job, threads int) (*program, *cobra.Command, error) {
	verb := verbOf(j)
	q := &program{systems: p.systems, stdout: io.Discard, stderr: io.Discard, json: true, quiet: true, parsed: true, inBatch: true}
	cmd := verb.command(q)
	flags := cmd.Flags()
	for _, m := range j.Flags() {
		f := flags.Lookup(m.Key)
		if f == nil || slices.Contains(reservedFlags, m.Key) {
			return nil, nil, fmt.Errorf("%s: unknown key; %s has %s", m.Key, j.Verb, strings.Join(keysOf(flags), ", "))
		}
		if _, repeatable := f.Value.(pflag.SliceValue); f.Changed && !repeatable {
			return nil, nil, fmt.Errorf("%s: stands twice in one job", m.Key)
		}
		if err := assignFlag(flags, f, &m.Value); err != nil {
			return nil, nil, &valueError{m.Key, err}
		}
	}
	var err error
	set := func(name, value string) { err = cmp.Or(err, flags.Set(name, value)) }
	for _, m := range j.Set() {
		if flags.Lookup("set") == nil {
			return nil, nil, fmt.Errorf("set: %s has no configuration to set", j.Verb)
		}
		set("set", m.Key+"="+m.Value.String())
	}
	for name, value := range verb.batchDefaults {
		if !flags.Changed(name) {
			set(name, value)
		}
	}
	if j.Out != "" {
		set("output", j.Out)
	}
	if flags.Lookup("threads") != nil && !flags.Changed("threads") {
		set("threads", fmt.Sprint(threads))
	}
	return q, cmd, cmp.Or(err, cmd.Args(cmd, j.Args))
}

// A valueError says that a key of a job cannot have its value.
type valueError struct {
	key string
	err error
}

func (e *valueError) Error() string { return e.key + ": " + e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// keysOf lists the keys that a job can have besides its verb.
func keysOf(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(reservedFlags, f.Name) && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return append(names, "id", "out", "grid")
}

// assignFlag sets a flag to the value of a key.
func assignFlag(flags *pflag.FlagSet, f *pflag.Flag, v *ndjson.Value) error {
	if list, ok := f.Value.(pflag.SliceValue); ok && v.Kind == ndjson.List {
		for _, item := range v.Items {
			if item.Kind != ndjson.String {
				return fmt.Errorf("%s in the list, where strings are needed", item.Kind)
			}
			if err := list.Append(item.Text); err != nil {
				return err
			}
		}
		return nil
	}
	switch v.Kind {
	case ndjson.String:
		return flags.Set(f.Name, v.Text)
	case ndjson.Bool, ndjson.Int, ndjson.Uint, ndjson.Float:
		return flags.Set(f.Name, v.String())
	}
	return fmt.Errorf("%s where a plain value is needed", v.Kind)
}

// runJob runs a job and returns its record.
func (p *program) runJob(ctx context.Context, j *batch.Job, threads int) *batch.Record {
	start := time.Now()
	r := &batch.Record{Threads: threads}
	var out bytes.Buffer
	q, cmd, err := p.jobCommand(j, threads)
	if err == nil {
		q.ctx, q.stdout, q.startTime = ctx, &out, start
		q.onWarning = func(text string) { r.Warnings = append(r.Warnings, text) }
		err = catchPanic(func() error { return cmd.RunE(cmd, j.Args) })
		r.Exit = q.exitCode(err)
	} else {
		r.Exit = exitUsage
	}
	if err != nil && r.Exit != exitCheck {
		r.Error = oneLine(err)
	}
	r.Seconds = time.Since(start).Seconds()
	if q != nil {
		r.Setup = q.setupSeconds
	}
	r.Describe(j)
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	switch {
	case verbOf(j).jsonLines:
		r.Result = slices.Concat([]byte("["), bytes.Join(lines, []byte(",")), []byte("]"))
	case len(lines[0]) > 0:
		r.Result = lines[0]
	}
	return r
}

// estimate sets the cost and the memory of a training from its configuration. They decide the
// order of jobs, and which ones run alone, but no results. Other jobs keep 0, and count as short.
func (p *program) estimate(j *batch.Job) {
	if j.Verb != "train" {
		return
	}
	_, cmd, err := p.jobCommand(j, 1)
	if err != nil {
		return // the job will say so
	}
	var s source
	if len(j.Args) > 0 {
		s.name = j.Args[0]
	}
	s.preset, _ = cmd.Flags().GetString("preset")
	s.assignments, _ = cmd.Flags().GetStringArray("set")
	cfg, err := s.loadWithoutLook(p.systems)
	if err != nil {
		return // the job will say so
	}
	training := &cfg.Shared().Training
	batch := float64(training.Batch)
	bytes := 1024 * batch // a guess, for systems that do not explain their demands
	if d, ok := cfg.Config.(engine.Explainer); ok {
		for _, demand := range d.Demands() {
			j.Bytes += demand.Bytes
		}
		bytes = j.Bytes
	}
	j.Cost = bytes * (float64(training.Steps) + float64(cfg.Shared().Evaluation.Samples)/batch)
}
