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
	Time        time.Duration // least duration of a repetition
	Peers       bool          // run the peers, too
	Systems     []engine.Definition
	Log         func(format string, args ...any) // progress; nil means none
}

// With these defaults all suites, on two paths and on one and two threads, take ten to
// twenty minutes, peers included.
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
	ctx          context.Context
	stopped      atomic.Bool // set when ctx is done
	abandoned    bool        // a function that interruptible did not wait for is still running
	initialPath  asm.Path    // the path in use before Run
	initialUsage usage       // when Run began
	report       *Report
	needs        []need            // of the report's rows
	peaks        map[string]*peaks // by path and threads
	workshop     *peers.Workshop   // nil until a peer is asked for
	processes    map[peerKey]*peers.Process
	peerErrors   map[peerKey]error // why a peer does not run
}

// A peerKey names a peer that runs.
type peerKey struct {
	name    string
	setting peers.Setting
}

// Run measures, and restores the kernel path at the end. When ctx is cancelled, it
// ends the peers and returns the rows measured so far and the context's error. It does
// not wait more than a second for a kernel to return; the path then stays as it is.
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
				if err := r.runSuite(&suite, path, threads); err != nil {
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
	r := &runner{Options: o, ctx: ctx, processes: map[peerKey]*peers.Process{}, peerErrors: map[peerKey]error{}, peaks: map[string]*peaks{}}
	context.AfterFunc(ctx, func() { r.stopped.Store(true) })
	r.initialPath, _, _ = asm.Active()
	r.report = &Report{Schema: SchemaVersion, Machine: describeMachine(), Rows: []Row{}}
	r.report.Machine.Seconds = o.Time.Seconds()
	r.initialUsage = processorUsage(nil)
	return r, suites, nil
}

func (r *runner) close() {
	if r.workshop != nil {
		if err := r.workshop.Close(); err != nil {
			r.Log("%v", err)
		}
	}
	if r.abandoned {
		return // kernels that still run use the present path
	}
	if err := asm.Use(r.initialPath); err != nil {
		panic(err) // impossible: it was in use
	}
}

// A callError is the panic of an operation's call that fails, as call returns no error.
type callError struct{ err error }

// abandonAfter is how long interruptible waits for a function after the context is done.
const abandonAfter = time.Second

// interruptible runs f, which may take long and does not look at the context. It returns
// the error of f, or the context's if f has not ended within abandonAfter of the context's end.
func (r *runner) interruptible(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- crash.Catch(f) }()
	var err error
	select {
	case err = <-done:
	case <-r.ctx.Done():
		select {
		case err = <-done:
		case <-time.After(abandonAfter):
			r.abandoned = true
			return r.ctx.Err()
		}
	}
	if p, ok := errors.AsType[*crash.Panic](err); ok {
		if f, ok := p.Value.(callError); ok {
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
				if hasPaperTarget(d) {
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

// loadAverage returns the number of processes that were ready to run, on average over the
// last minute, or 0 where the system does not tell.
func loadAverage() (x float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &x)
	}
	return x
}

// runSuite measures one suite on one path.
func (r *runner) runSuite(s *Suite, path asm.Path, threads int) error {
	if err := asm.Use(path); err != nil {
		return err
	}
	workers := pool.New(threads)
	defer func() {
		if !r.abandoned {
			workers.Close()
		}
	}()
	e := &environment{path: path, workers: workers, systems: r.Systems}
	limits := r.peaksOf(path.String(), threads)
	limits.path, limits.workers = path, workers
	for _, size := range s.Sizes {
		var operations []*operation
		err := r.interruptible(func() (err error) {
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
				oneThread := Row{Suite: row.Suite, Name: row.Name, Path: row.Path, Threads: 1}
				if i := slices.IndexFunc(r.report.Rows, func(q Row) bool { return q.ID() == oneThread.ID() }); i >= 0 {
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

// hasPaperTarget reports whether the paper's preset of a system names a target. Of some
// systems a user has to name it.
func hasPaperTarget(d engine.Definition) bool {
	cfg, err := d.Preset("paper")
	return err == nil && cfg.Validate() == nil
}

// peaksOf returns the peaks of a path and number of threads.
func (r *runner) peaksOf(path string, threads int) *peaks {
	key := fmt.Sprintf("%s/%d", path, threads)
	if r.peaks[key] == nil {
		r.peaks[key] = &peaks{}
	}
	return r.peaks[key]
}

// finish computes the floors of all rows from the peaks of the whole run, and
// says how busy the machine was.
func (r *runner) finish() {
	var children []int
	if r.workshop != nil {
		children = r.workshop.Running()
	}
	r.report.Machine.noteLoad(r.initialUsage, processorUsage(children))
	for _, w := range r.report.Machine.Warnings {
		r.Log("warning: %s", w)
	}
	for i := range r.report.Rows {
		row := &r.report.Rows[i]
		row.setFloor(r.peaksOf(row.Path, row.Threads), r.needs[i])
	}
	for _, key := range slices.Sorted(maps.Keys(r.peaks)) {
		r.report.Machine.Peaks = append(r.report.Machine.Peaks, r.peaks[key].rates...)
	}
}

// setFloor sets the floor and the fractions of its rate that the row reaches.
func (r *Row) setFloor(p *peaks, n need) {
	r.Floor = p.floor(n)
	r.Fraction = r.Floor.Nanoseconds / r.Median
	if len(r.Fastest) > 0 {
		r.Undisturbed = r.Floor.Nanoseconds / stat.Median(r.Fastest)
	}
}

// A side is one of the programs that take turns.
type side struct {
	run   func(calls int) (time.Duration, error)
	times *Times
	rival *Rival // nil for ours
	err   error
	// fastest is the shortest call of the last run, math.MaxInt64 if its calls were too short
	// to be timed one by one.
	fastest time.Duration
}

// minTimedCall is the least duration of a call that is timed by itself: reading the clock
// takes a hundredth of a percent of it.
const minTimedCall = 500 * time.Microsecond

// timeCalls returns a side's run for a function of this program. It makes fewer calls if
// the context is done, and sets the side's fastest call.
func (r *runner) timeCalls(call func(), s *side) func(int) (time.Duration, error) {
	return func(calls int) (elapsed time.Duration, err error) {
		err = r.interruptible(func() error {
			s.fastest = math.MaxInt64
			start := time.Now()
			last := start
			for i := 0; i < calls && !r.stopped.Load(); i++ {
				call()
				if r.Time >= time.Duration(calls)*minTimedCall {
					now := time.Now()
					s.fastest, last = min(s.fastest, now.Sub(last)), now
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
			for _, s := range peerSettings(threads, v.blas) {
				v.threads, v.blasThreads = s.Threads, s.BLAS
				rivals = append(rivals, v)
			}
		}
	}
	limits.sampleAll(op.need)
	ours := &side{times: &row.Times}
	ours.run = r.timeCalls(op.call, ours)
	sides := []*side{ours}
	if _, err := ours.run(1); err != nil { // gives the results that rivals are compared with
		return nil, err
	}
	row.Rivals = make([]Rival, len(rivals))
	for i := range rivals {
		amount := rivals[i].amount
		if rivals[i].perThread {
			amount *= float64(rivals[i].threads)
		}
		row.Rivals[i].Amount = cmp.Or(amount, op.amount)
		if s := r.prepareRival(&rivals[i], &row.Rivals[i]); s != nil {
			sides = append(sides, s)
		}
	}
	memory := threadMemory(threads, 1<<17)
	runtime.GC() // before the clock runs
	for _, s := range sides {
		if s.times.Calls, s.err = r.calibrate(s.run); s.err != nil && s == sides[0] {
			return nil, s.err
		}
	}
	for range r.Repetitions {
		if err := r.interruptible(func() error {
			row.Control = append(row.Control, timeControl(limits.workers, memory, min(r.Time, time.Second)/10))
			return nil
		}); err != nil {
			return nil, err
		}
		for _, s := range sides {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			if s.err != nil {
				continue
			}
			if r.repeat(s); s == sides[0] && s.err != nil {
				return nil, s.err
			}
		}
	}
	row.Times.summarize()
	row.Rate = row.Amount / row.Median
	limits.sampleAll(op.need)
	row.setFloor(limits, op.need)
	for _, s := range sides[1:] {
		rival := s.rival
		if s.err != nil {
			rival.Status, rival.Detail, rival.Times = Failed, s.err.Error(), nil
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

// threadCounts returns the powers of two below n, and n.
func threadCounts(n int) (numbers []int) {
	for k := 1; k < n; k *= 2 {
		numbers = append(numbers, k)
	}
	return append(numbers, n)
}

// peerSettings returns the settings that a peer is tried with beside a row of the given
// number of threads, as more threads are not always faster. OpenMP has each of threadCounts.
// If matrix products take part of the time, OpenBLAS has as many threads, one, or all.
func peerSettings(threads int, blas bool) (settings []peers.Setting) {
	for _, n := range threadCounts(threads) {
		settings = append(settings, peers.Setting{Threads: n})
		for _, k := range slices.Compact([]int{1, threads}) {
			if blas && k != n {
				settings = append(settings, peers.Setting{Threads: n, BLAS: k})
			}
		}
	}
	return settings
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

// repeat warms a side up and times it once more. A long call needs no warming up.
func (r *runner) repeat(s *side) {
	if s.times.Calls > 1 {
		if _, s.err = s.run(max(1, s.times.Calls/10)); s.err != nil {
			return
		}
	}
	elapsed, err := s.run(s.times.Calls)
	if err != nil {
		s.err = err
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
		// Aim 10 % higher, and at no more than a hundred times as many calls.
		factor := 1.1 * float64(r.Time) / float64(max(elapsed, 1))
		calls = max(calls+1, int(float64(calls)*min(factor, 100)))
	}
}

// prepareRival makes a rival ready and checks its results. It returns nil if the rival
// cannot be timed, and says why in result.
func (r *runner) prepareRival(rv *rival, result *Rival) *side {
	result.Name, result.Program, result.Threads, result.BLAS, result.Detail = rv.name, rv.name, rv.threads, rv.blasThreads, rv.caveat
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
		s.run = r.timeCalls(rv.call, s)
	}
	var agreed agreement
	err := r.interruptible(func() (err error) {
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
	if err, ok := r.peerErrors[key]; ok {
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
	r.Log("starting %s with %s", definition.Summary, describeThreads(key.setting.Threads, key.setting.BLAS))
	p, err := r.workshop.Start(definition, key.setting)
	about := ""
	if err == nil {
		if about, err = p.About(); err != nil {
			_ = p.Close()
		}
	}
	if err != nil {
		r.peerErrors[key] = err
		r.Log("%v", err)
		about = err.Error()
	} else {
		r.processes[key] = p
	}
	r.report.Machine.Peers = append(r.report.Machine.Peers, About{key.name, key.setting.Threads, key.setting.BLAS, about})
	return p, err
}

// describeThreads writes a peer's setting.
func describeThreads(threads, blas int) string {
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
	if r.Fraction > 0 { // 0 for systems whose work nobody has counted
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
