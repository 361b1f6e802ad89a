package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/version"
)

// Options says what to measure and how.
type Options struct {
	Suites      []string      // names; empty means all
	Sizes       []string      // in place of the suite's own; needs exactly one suite
	Paths       []asm.Path    // empty means the one in use
	Threads     []int         // empty means 1 and all processors
	Repetitions int           // of every measurement
	Time        time.Duration // that a repetition lasts at least
	Peers       bool          // whether to run them
	Systems     []engine.Definition
	Log         func(format string, args ...any) // progress; nil means none
}

// Defaults with which all suites on two paths and one and two threads, peers
// included, take ten to twenty minutes.
const (
	DefaultRepetitions = 7
	DefaultTime        = 60 * time.Millisecond
)

// An OptionError reports an option that cannot be used.
type OptionError struct{ message string }

func (e *OptionError) Error() string { return e.message }

func optionf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

type runner struct {
	Options
	ctx       context.Context
	stopped   atomic.Bool // set when ctx is done
	left      bool        // a function that within has not waited for is still running
	before    asm.Path    // in use before
	report    *Report
	began     usage
	workshop  *peers.Workshop // of the peers, once one is asked for
	processes map[peerKey]*peers.Process
	missing   map[peerKey]error
	needs     []need            // of the report's rows
	limits    map[string]*peaks // by path and threads
}

// A peerKey names a peer that runs.
type peerKey struct {
	name    string
	setting peers.Setting
}

// Run measures. It restores the kernel path in use. When ctx is cancelled it
// ends the peers and returns the rows measured so far, and the context's error;
// a call of a kernel that takes more than a second to end is left behind, and
// the path as it is.
func Run(ctx context.Context, o Options) (*Report, error) {
	r, suites, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	defer r.finish()
	for _, suite := range suites {
		for _, path := range r.Paths {
			for _, threads := range r.Threads {
				if err := r.suite(&suite, path, threads); err != nil {
					return r.report, err
				}
			}
		}
	}
	return r.report, nil
}

func newRunner(ctx context.Context, o Options) (*runner, []Suite, error) {
	suites, err := o.resolve()
	if err != nil {
		return nil, nil, err
	}
	r := &runner{Options: o, ctx: ctx, processes: map[peerKey]*peers.Process{}, missing: map[peerKey]error{}, limits: map[string]*peaks{}}
	context.AfterFunc(ctx, func() { r.stopped.Store(true) })
	r.before, _, _ = asm.Active()
	r.report = &Report{Schema: SchemaVersion, Machine: describeMachine(), Rows: []Row{}}
	r.report.Machine.Seconds = o.Time.Seconds()
	r.began = processorUsage(nil)
	return r, suites, nil
}

func (r *runner) close() {
	if r.workshop != nil {
		if err := r.workshop.Close(); err != nil {
			r.Log("%v", err)
		}
	}
	if r.left {
		return // who runs on it
	}
	if err := asm.Use(r.before); err != nil {
		panic(err) // it was in use
	}
}

// A failure is what a call that cannot go on panics with.
type failure struct{ err error }

// patience is how long within waits for what it runs after the end was asked for.
const patience = time.Second

// within runs f, which may be at work for long without asking whether it should
// go on. It returns the error of f, or that of the context if f has not ended
// soon after it is done.
func (r *runner) within(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- crash.Catch(f) }()
	var err error
	select {
	case err = <-done:
	case <-r.ctx.Done():
		select {
		case err = <-done:
		case <-time.After(patience):
			r.left = true
			return r.ctx.Err()
		}
	}
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		if f, ok := p.Value.(failure); ok {
			return f.err
		}
		panic(p)
	}
	return err
}

// resolve fills in defaults and finds mistakes.
func (o *Options) resolve() ([]Suite, error) {
	suites, err := lists.Choose(Suites(), o.Suites, func(s Suite) string { return s.Name }, "unknown suite %q; the suites are %s")
	if err != nil {
		return nil, optionf("%v", err)
	}
	if len(o.Sizes) > 0 {
		if len(suites) != 1 {
			return nil, optionf("sizes mean something else in every suite: name exactly one")
		}
		suites[0].Sizes = o.Sizes
	}
	for i := range suites {
		if len(suites[i].Sizes) == 0 {
			for _, d := range o.Systems {
				if whole(d) {
					suites[i].Sizes = append(suites[i].Sizes, d.Name+"/paper")
				}
			}
		}
	}
	if len(o.Paths) == 0 {
		path, _, _ := asm.Active()
		o.Paths = []asm.Path{path}
	}
	for _, path := range o.Paths {
		if !slices.Contains(asm.Supported(), path) {
			return nil, optionf("kernel path %v is not supported here", path)
		}
	}
	if len(o.Threads) == 0 {
		o.Threads = []int{1}
		if n := min(runtime.NumCPU(), runtime.GOMAXPROCS(0)); n > 1 {
			o.Threads = append(o.Threads, n)
		}
	}
	for _, n := range o.Threads {
		if n < 1 || n > 1<<12 {
			return nil, optionf("%d threads: the number must be between 1 and %d", n, 1<<12)
		}
	}
	o.Repetitions, o.Time = cmp.Or(o.Repetitions, DefaultRepetitions), cmp.Or(o.Time, DefaultTime)
	if o.Repetitions < 1 || o.Time < 0 {
		return nil, optionf("%d repetitions of %v: both must be positive", o.Repetitions, o.Time)
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return suites, nil
}

func describeMachine() Machine {
	built := version.Read()
	return Machine{
		Time: time.Now().UTC().Truncate(time.Second), CPU: asm.CPUName(), Processors: runtime.GOMAXPROCS(0),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Load: loadAverage(), Version: cmp.Or(built.Revision, built.Module),
	}
}

// loadAverage returns the number of processes that have been ready to run in the last
// minute, where the system tells.
func loadAverage() (x float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &x)
	}
	return x
}

// suite measures one suite on the path in use.
func (r *runner) suite(s *Suite, path asm.Path, threads int) error {
	if err := asm.Use(path); err != nil {
		return err
	}
	workers := pool.New(threads)
	defer func() {
		if !r.left {
			workers.Close()
		}
	}()
	e := &environment{path: path, workers: workers, systems: r.Systems}
	limits := r.limitsOf(path.String(), threads)
	limits.path, limits.workers = path, workers
	for _, size := range s.Sizes {
		var operations []*operation
		err := r.within(func() (err error) {
			operations, err = s.operations(e, size)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		for _, op := range operations {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			row, err := r.measure(op, limits, threads)
			if err != nil {
				return err
			}
			row.Suite, row.Path, row.Threads = s.Name, path.String(), threads
			if threads > 1 {
				one := Row{Suite: row.Suite, Name: row.Name, Path: row.Path, Threads: 1}
				if i := slices.IndexFunc(r.report.Rows, func(q Row) bool { return q.ID() == one.ID() }); i >= 0 {
					row.Scaling = row.Rate / r.report.Rows[i].Rate
				}
			}
			r.report.Rows = append(r.report.Rows, *row)
			r.needs = append(r.needs, op.need)
			r.Log("%s", row.summary())
		}
	}
	return nil
}

// whole reports whether the paper's preset of a system has a target, which for some a
// user has to name.
func whole(d engine.Definition) bool {
	cfg, err := d.Preset("paper")
	return err == nil && cfg.Validate() == nil
}

// limitsOf returns the peaks of a path and number of threads.
func (r *runner) limitsOf(path string, threads int) *peaks {
	key := fmt.Sprintf("%s/%d", path, threads)
	if r.limits[key] == nil {
		r.limits[key] = &peaks{}
	}
	return r.limits[key]
}

// finish computes the floors of all rows from the peaks of the whole run, and
// says how busy the machine was.
func (r *runner) finish() {
	var children []int
	if r.workshop != nil {
		children = r.workshop.Running()
	}
	r.report.Machine.watch(r.began, processorUsage(children))
	for _, w := range r.report.Machine.Warnings {
		r.Log("warning: %s", w)
	}
	for i := range r.report.Rows {
		row := &r.report.Rows[i]
		row.limit(r.limitsOf(row.Path, row.Threads), r.needs[i])
	}
	for _, key := range slices.Sorted(maps.Keys(r.limits)) {
		r.report.Machine.Peaks = append(r.report.Machine.Peaks, r.limits[key].seen...)
	}
}

func (r *Row) limit(p *peaks, n need) {
	r.Floor = p.floor(n)
	r.Fraction = r.Floor.Nanoseconds / r.Median
	if len(r.Fastest) > 0 {
		r.Undisturbed = r.Floor.Nanoseconds / stat.Median(r.Fastest)
	}
}

// A side is one of the programs that take turns.
type side struct {
	run    func(calls int) (time.Duration, error)
	times  *Times
	rival  *Rival // nil for ours
	failed error
	// fastest is the shortest call of the last run, math.MaxInt64 if they are not timed
	// one by one.
	fastest time.Duration
}

// timedAlone is how long a call lasts that is timed by itself: looking at the clock costs
// a hundredth of a percent of it.
const timedAlone = 500 * time.Microsecond

// ours times calls of a function of this program, fewer if told to stop, and the fastest
// of those that last.
func (r *runner) ours(call func(), of *side) func(int) (time.Duration, error) {
	return func(calls int) (elapsed time.Duration, err error) {
		err = r.within(func() error {
			of.fastest = math.MaxInt64
			start := time.Now()
			last := start
			for i := 0; i < calls && !r.stopped.Load(); i++ {
				call()
				if r.Time >= time.Duration(calls)*timedAlone {
					now := time.Now()
					of.fastest, last = min(of.fastest, now.Sub(last)), now
				}
			}
			elapsed = time.Since(start)
			return r.ctx.Err()
		})
		return elapsed, err
	}
}

// measure times an operation and its rivals in turn.
func (r *runner) measure(op *operation, limits *peaks, threads int) (*Row, error) {
	row := &Row{Name: op.name, Amount: op.amount, Unit: op.unit, Note: op.note}
	var rivals []rival
	for _, v := range op.rivals {
		if v.call != nil {
			v.threads = threads
			rivals = append(rivals, v)
		} else if r.Peers {
			for _, s := range settings(threads, v.blas) {
				v.threads, v.blasThreads = s.Threads, s.BLAS
				rivals = append(rivals, v)
			}
		}
	}
	limits.sampleAll(op.need)
	ours := &side{times: &row.Times}
	ours.run = r.ours(op.call, ours)
	sides := []*side{ours}
	if _, err := sides[0].run(1); err != nil { // for its results, which rivals are compared with
		return nil, err
	}
	row.Rivals = make([]Rival, len(rivals))
	for i := range rivals {
		amount := rivals[i].amount
		if rivals[i].each {
			amount *= float64(rivals[i].threads)
		}
		row.Rivals[i].Amount = cmp.Or(amount, op.amount)
		if s := r.challenge(&rivals[i], &row.Rivals[i]); s != nil {
			sides = append(sides, s)
		}
	}
	memory := memoryOf(threads, 1<<17)
	runtime.GC() // so that none is due while the clock runs
	for _, s := range sides {
		if s.times.Calls, s.failed = r.calibrate(s.run); s.failed != nil && s == sides[0] {
			return nil, s.failed
		}
	}
	for range r.Repetitions {
		if err := r.within(func() error {
			row.Control = append(row.Control, control(limits.workers, memory, min(r.Time, time.Second)/10))
			return nil
		}); err != nil {
			return nil, err
		}
		for _, s := range sides {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			if s.failed != nil {
				continue
			}
			if r.repetition(s); s == sides[0] && s.failed != nil {
				return nil, s.failed
			}
		}
	}
	row.Times.summarize()
	row.Rate = row.Amount / row.Median
	limits.sampleAll(op.need)
	row.limit(limits, op.need)
	for _, s := range sides[1:] {
		rival := s.rival
		if s.failed != nil {
			rival.Status, rival.Detail, rival.Times = Failed, s.failed.Error(), nil
			continue
		}
		rival.Times.summarize()
		work := row.Amount / rival.Amount
		rival.Ratio = rival.Median / row.Median * work
		rival.RatioInterval, _ = ratioInterval(row.Nanoseconds, rival.Nanoseconds)
		rival.RatioInterval[0] *= work
		rival.RatioInterval[1] *= work
	}
	row.markBest()
	return row, nil
}

// upTo returns the powers of two below n, and n.
func upTo(n int) (numbers []int) {
	for k := 1; k < n; k *= 2 {
		numbers = append(numbers, k)
	}
	return append(numbers, n)
}

// settings returns what a peer is tried with beside a row of the given number of
// threads, for more are not always faster: every number of OpenMP's and, if its
// time is in matrix products as well, as many of OpenBLAS's, one, or all.
func settings(threads int, blas bool) (all []peers.Setting) {
	for _, n := range upTo(threads) {
		all = append(all, peers.Setting{Threads: n})
		for _, k := range slices.Compact([]int{1, threads}) {
			if blas && k != n {
				all = append(all, peers.Setting{Threads: n, BLAS: k})
			}
		}
	}
	return all
}

// markBest marks each program's fastest rival.
func (r *Row) markBest() {
	best := map[string]*Rival{}
	for i := range r.Rivals {
		if v := &r.Rivals[i]; v.Status == Measured && (best[v.Program] == nil || v.Ratio < best[v.Program].Ratio) {
			best[v.Program] = v
		}
	}
	for _, v := range best {
		v.Best = true
	}
}

// repetition warms a side up and times it. A call that lasts long needs no
// warming up.
func (r *runner) repetition(s *side) {
	if s.times.Calls > 1 {
		if _, s.failed = s.run(max(1, s.times.Calls/10)); s.failed != nil {
			return
		}
	}
	elapsed, err := s.run(s.times.Calls)
	if err != nil {
		s.failed = err
		return
	}
	s.times.Nanoseconds = append(s.times.Nanoseconds, float64(elapsed.Nanoseconds())/float64(s.times.Calls))
	if s.fastest > 0 && s.fastest < math.MaxInt64 {
		s.times.Fastest = append(s.times.Fastest, float64(s.fastest.Nanoseconds()))
	}
}

// calibrate returns how many calls take about the time of a repetition.
func (r *runner) calibrate(run func(int) (time.Duration, error)) (calls int, err error) {
	for calls = 1; ; {
		elapsed, err := run(calls)
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil || elapsed >= r.Time {
			return calls, err
		}
		// Aim a little higher, and at no more than a hundred times what is known.
		factor := 1.1 * float64(r.Time) / float64(max(elapsed, 1))
		calls = max(calls+1, int(float64(calls)*min(factor, 100)))
	}
}

// challenge makes a rival ready and checks it. It returns nil if the rival
// cannot be timed, and says why in result.
func (r *runner) challenge(rv *rival, result *Rival) *side {
	result.Name, result.Program, result.Threads, result.BLAS, result.Detail = rv.name, rv.name, rv.threads, rv.blasThreads, rv.unlike
	result.Times = &Times{}
	reject := func(status string, err error) *side {
		result.Status, result.Detail, result.Times = status, err.Error(), nil
		return nil
	}
	s := &side{times: result.Times, rival: result}
	var process *peers.Process
	if rv.call == nil {
		var err error
		if peer, err := peers.Find(rv.name); err == nil && peer.Program != "" {
			result.Program = peer.Program
		}
		if process, err = r.peer(peerKey{rv.name, peers.Setting{Threads: rv.threads, BLAS: rv.blasThreads}}); errors.As(err, new(*peers.MissingError)) {
			return reject(Missing, err)
		} else if err != nil {
			return reject(Failed, err)
		}
		s.run = process.Run
	} else {
		s.run = r.ours(rv.call, s)
	}
	var agreed agreement
	err := r.within(func() (err error) {
		agreed, err = rv.prepare(process)
		return err
	})
	if err != nil {
		return reject(Failed, err)
	}
	result.Difference = agreed.difference
	if !(agreed.difference <= agreed.tolerance) {
		return reject(Disagrees, fmt.Errorf("%s %.3g exceeds %.3g", agreed.measure, agreed.difference, agreed.tolerance))
	}
	result.Status = Measured
	result.Detail = strings.TrimPrefix(result.Detail+"; "+agreed.measure, "; ")
	return s
}

// peer returns the running process of a peer, which it starts on first use.
func (r *runner) peer(key peerKey) (*peers.Process, error) {
	if err, ok := r.missing[key]; ok {
		return nil, err
	}
	if p, ok := r.processes[key]; ok {
		return p, nil
	}
	definition, err := peers.Find(key.name)
	if err != nil {
		return nil, err
	}
	if r.workshop == nil {
		if r.workshop, err = peers.NewWorkshop(r.ctx); err != nil {
			return nil, err
		}
	}
	r.Log("starting %s with %s", definition.Summary, threadsOf(key.setting.Threads, key.setting.BLAS))
	p, err := r.workshop.Start(definition, key.setting)
	about := ""
	if err == nil {
		if about, err = p.About(); err != nil {
			_ = p.Close()
		}
	}
	if err != nil {
		r.missing[key] = err
		r.Log("%v", err)
		about = err.Error()
	} else {
		r.processes[key] = p
	}
	r.report.Machine.Peers = append(r.report.Machine.Peers, About{key.name, key.setting.Threads, key.setting.BLAS, about})
	return p, err
}

// threadsOf writes a peer's setting.
func threadsOf(threads, blas int) string {
	text := fmt.Sprintf("%d threads", threads)
	if blas != 0 {
		text += fmt.Sprintf(", %d of BLAS", blas)
	}
	return text
}

func (t *Times) summarize() {
	t.Median, t.Interval = stat.Median(t.Nanoseconds), medianInterval(t.Nanoseconds)
}

// summary is one line of progress.
func (r *Row) summary() string {
	text := fmt.Sprintf("%s: %s, %s", r.ID(), formatTime(r.Median), formatThroughput(r.Rate, r.Unit))
	if r.Fraction > 0 { // of systems that are not known here nothing is counted
		text += fmt.Sprintf(", %.0f %% of the floor's rate", 100*r.Fraction)
	}
	for _, rival := range r.Rivals {
		if rival.Status == Measured {
			text += fmt.Sprintf(", %.2f × %s", rival.Ratio, rival.setting())
		} else {
			text += fmt.Sprintf(", %s %s", rival.Name, rival.Status)
		}
	}
	return text
}
