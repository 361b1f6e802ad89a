package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/disk"
)

// A watch follows a batch: it keeps the journal, writes records in their order,
// and shows how far the batch is.
type watch struct {
	p       *program
	dir     string
	journal *batch.Journal
	jobs    []*batch.Job
	before  int // jobs that were finished before
	meter   *meter
	begun   time.Time
	stop    chan struct{}
	stopped sync.WaitGroup
	cancel  context.CancelFunc // of the batch: without a journal it does not go on

	mutex   sync.Mutex
	results *disk.Pending      // results.ndjson
	records map[int]batch.Kept // of jobs that have ended, in the journal
	next    int                // of jobs, to be written
	first   *batch.Record      // of the jobs that failed, without its result
	done    int                // finished jobs, those before included
	failed  int
	running int
	refused int   // finished jobs of which a check failed
	err     error // of the journal
	unheard error // of stdout
}

func (p *program) newWatch(jobs []*batch.Job, have map[int]batch.Kept, dir string, journal *batch.Journal, cancel context.CancelFunc) *watch {
	w := &watch{p: p, dir: dir, journal: journal, jobs: jobs, before: len(have), begun: time.Now(), stop: make(chan struct{}), cancel: cancel, records: have}
	var err error
	w.results, err = disk.Create(w.path())
	w.lost(err)
	for _, kept := range have {
		w.count(kept.Exit)
	}
	w.meter = p.newMeter(int64(len(jobs)), "jobs")
	w.write()
	w.stopped.Go(w.follow)
	return w
}

// follow shows the state every second, and while nothing ends too.
func (w *watch) follow() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		w.show("running")
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
	}
}

// show updates the line on stderr and status.json.
func (w *watch) show(state string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	ended := w.done + w.failed
	w.meter.update(int64(ended), float64(ended-w.before)/time.Since(w.begun).Seconds(), fmt.Sprintf("%d done, %d failed, %d running, %d left", w.done, w.failed, w.running, len(w.jobs)-ended-w.running))
	host, _ := os.Hostname()
	w.fail(disk.WriteJSON(filepath.Join(w.dir, "status.json"), struct {
		State   string    `json:"state"` // running, stopped or done
		Jobs    int       `json:"jobs"`
		Done    int       `json:"done"`
		Failed  int       `json:"failed"`
		Running int       `json:"running"`
		Left    int       `json:"left"`
		Host    string    `json:"host"`
		Process int       `json:"process"`
		Begun   time.Time `json:"begun"`
		Updated time.Time `json:"updated"`
	}{state, len(w.jobs), w.done, w.failed, w.running, len(w.jobs) - ended - w.running, host, os.Getpid(), w.begun, time.Now()}))
}

// fail keeps the first error of the directory, and stops the batch.
func (w *watch) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
		w.cancel()
	}
}

func (w *watch) count(exit int) {
	switch {
	case exit == exitCheck:
		w.refused++
		w.done++
	case answered(exit):
		w.done++
	default:
		w.failed++
	}
}

func (w *watch) started(*batch.Job) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.running++
}

func (w *watch) finished(j *batch.Job, r *batch.Record) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if r.Digest == "" { // it was not begun
		r.Describe(j)
	} else {
		w.running--
	}
	if w.err != nil {
		return
	}
	if r.Exit == exitStopped { // and goes on the next time
		w.p.say("%s: %s", r.ID, r.Error)
		return
	}
	if w.count(r.Exit); !finished(r) {
		w.p.say("%s failed: %s", r.ID, r.Error)
		if w.first == nil || r.Job < w.first.Job {
			w.first = &batch.Record{Job: r.Job, Line: r.Line, ID: r.ID, Error: r.Error}
		}
	}
	kept, err := w.journal.Add(r)
	if r.Result = nil; err != nil { // others know the record too
		w.fail(err)
		return
	}
	w.records[j.Index] = kept
	w.write()
}

// write writes the records to stdout and to results.ndjson whose turn it is.
func (w *watch) write() {
	for ; w.next < len(w.jobs); w.next++ {
		r := w.take(w.jobs[w.next])
		if r == nil {
			return
		}
		if w.unheard == nil {
			w.unheard = json.NewEncoder(w.p.stdout).Encode(r)
		}
		w.keep(r)
	}
}

func (w *watch) take(j *batch.Job) *batch.Record {
	kept, ok := w.records[j.Index]
	if !ok {
		return nil
	}
	r, err := w.journal.Record(j, kept)
	w.fail(err)
	return r
}

func (w *watch) keep(r *batch.Record) {
	if w.err == nil {
		w.lost(json.NewEncoder(w.results).Encode(r))
	}
}

func (w *watch) path() string { return filepath.Join(w.dir, "results.ndjson") }

// lost reports an error of results.ndjson, if there is one.
func (w *watch) lost(err error) {
	w.fail(writeError(w.path(), err))
}

// conclude writes what is left to write, and says how the batch ended.
func (w *watch) conclude() error {
	close(w.stop)
	w.stopped.Wait()
	state := "done"
	if w.done+w.failed < len(w.jobs) {
		state = "stopped"
	}
	w.show(state)
	w.meter.end()
	for _, j := range w.jobs[w.next:] {
		if r := w.take(j); r != nil {
			w.keep(r)
		}
	}
	if w.err == nil {
		w.lost(w.results.Commit())
	} else if w.results != nil {
		_ = w.results.Cleanup()
	}
	switch {
	case w.err != nil:
		return w.err
	case state == "stopped":
		return &batchStop{w.dir, w.done, len(w.jobs)}
	case w.failed > 0:
		return fmt.Errorf("%d of %d jobs failed; the same command tries them again; the first failure is %s", w.failed, len(w.jobs), w.firstFailed())
	case w.refused > 0:
		return errCheckFailed
	}
	return w.unheard
}

// firstFailed says which the first job is that failed, and why.
func (w *watch) firstFailed() string {
	where := ""
	if w.first.Line > 0 {
		where = fmt.Sprintf(" in line %d", w.first.Line)
	}
	return w.first.ID + where + ": " + w.first.Error
}
