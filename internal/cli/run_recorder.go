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

// A recorder records a batch: it keeps the journal, writes the records in the order of the jobs,
// and shows how far the batch is.
type recorder struct {
	p              *program
	dir            string
	journal        *batch.Journal
	jobs           []*batch.Job
	finishedBefore int // jobs that the journal had as finished
	meter          *meter
	startTime      time.Time
	done           chan struct{} // closed when all jobs have ended
	follower       sync.WaitGroup
	stopBatch      context.CancelFunc // called when dirErr is set

	mutex        sync.Mutex
	results      *disk.Pending       // results.ndjson
	records      map[int]batch.Entry // of jobs that have ended, by the job's index
	nextJob      int                 // whose record is written next
	firstFailure *batch.Record       // of the first job of the list that failed, without its result
	succeeded    int                 // jobs, those finished before and those with a failed check included
	failed       int
	running      int
	checkFailed  int   // jobs of which a check failed
	dirErr       error // of the journal and other files of dir
	stdoutErr    error
}

func (p *program) newRecorder(jobs []*batch.Job, finished map[int]batch.Entry, dir string, journal *batch.Journal, cancel context.CancelFunc) *recorder {
	w := &recorder{p: p, dir: dir, journal: journal, jobs: jobs, finishedBefore: len(finished), startTime: time.Now(), done: make(chan struct{}), stopBatch: cancel, records: finished}
	var err error
	w.results, err = disk.Create(w.resultsPath())
	w.failResults(err)
	for _, entry := range finished {
		w.count(entry.Exit)
	}
	w.meter = p.newMeter(int64(len(jobs)), "jobs")
	w.writeReady()
	w.follower.Go(w.showEverySecond)
	return w
}

// showEverySecond shows the state until the batch is done, also while no job ends.
func (w *recorder) showEverySecond() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		w.show("running")
		select {
		case <-w.done:
			return
		case <-tick.C:
		}
	}
}

// show updates the line on stderr and status.json.
func (w *recorder) show(state string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	ended := w.succeeded + w.failed
	w.meter.update(int64(ended), float64(ended-w.finishedBefore)/time.Since(w.startTime).Seconds(), fmt.Sprintf("%d done, %d failed, %d running, %d left", w.succeeded, w.failed, w.running, len(w.jobs)-ended-w.running))
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
	}{state, len(w.jobs), w.succeeded, w.failed, w.running, len(w.jobs) - ended - w.running, host, os.Getpid(), w.startTime, time.Now()}))
}

// fail keeps the first error of the directory's files, and stops the batch.
func (w *recorder) fail(err error) {
	if w.dirErr == nil && err != nil {
		w.dirErr = err
		w.stopBatch()
	}
}

func (w *recorder) count(exit int) {
	switch {
	case exit == exitCheck:
		w.checkFailed++
		w.succeeded++
	case isFinished(exit):
		w.succeeded++
	default:
		w.failed++
	}
}

func (w *recorder) jobStarted(*batch.Job) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.running++
}

func (w *recorder) jobEnded(j *batch.Job, r *batch.Record) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if r.Digest == "" { // it was not started
		r.Describe(j)
	} else {
		w.running--
	}
	if w.dirErr != nil {
		return
	}
	if r.Exit == exitStopped { // the same command continues it
		w.p.say("%s: %s", r.ID, r.Error)
		return
	}
	if w.count(r.Exit); !isFinished(r.Exit) {
		w.p.say("%s failed: %s", r.ID, r.Error)
		if w.firstFailure == nil || r.Job < w.firstFailure.Job {
			w.firstFailure = &batch.Record{Job: r.Job, Line: r.Line, ID: r.ID, Error: r.Error}
		}
	}
	entry, err := w.journal.Add(r)
	if err != nil {
		w.fail(err)
		return
	}
	w.records[j.Index] = entry
	w.writeReady()
}

// writeReady writes, to stdout and results.ndjson, the records that follow those written so far.
func (w *recorder) writeReady() {
	for ; w.nextJob < len(w.jobs); w.nextJob++ {
		r := w.record(w.jobs[w.nextJob])
		if r == nil {
			return
		}
		if w.stdoutErr == nil {
			w.stdoutErr = json.NewEncoder(w.p.stdout).Encode(r)
		}
		w.writeResult(r)
	}
}

// record reads a job's record from the journal. It returns nil if there is none, or on an error.
func (w *recorder) record(j *batch.Job) *batch.Record {
	entry, ok := w.records[j.Index]
	if !ok {
		return nil
	}
	r, err := w.journal.Record(j, entry)
	w.fail(err)
	return r
}

func (w *recorder) writeResult(r *batch.Record) {
	if w.dirErr == nil {
		w.failResults(json.NewEncoder(w.results).Encode(r))
	}
}

func (w *recorder) resultsPath() string { return filepath.Join(w.dir, "results.ndjson") }

// failResults is fail for an error of results.ndjson.
func (w *recorder) failResults(err error) {
	w.fail(writeError(w.resultsPath(), err))
}

// conclude writes the remaining records, and returns the error with which the batch ended.
func (w *recorder) conclude() error {
	close(w.done)
	w.follower.Wait()
	state := "done"
	if w.succeeded+w.failed < len(w.jobs) {
		state = "stopped"
	}
	w.show(state)
	w.meter.end()
	for _, j := range w.jobs[w.nextJob:] {
		if r := w.record(j); r != nil {
			w.writeResult(r)
		}
	}
	if w.dirErr == nil {
		w.failResults(w.results.Commit())
	} else if w.results != nil {
		_ = w.results.Cleanup()
	}
	switch {
	case w.dirErr != nil:
		return w.dirErr
	case state == "stopped":
		return &batchStop{w.dir, w.succeeded, len(w.jobs)}
	case w.failed > 0:
		first := w.firstFailure
		line := ""
		if first.Line > 0 {
			line = fmt.Sprintf(" in line %d", first.Line)
		}
		return fmt.Errorf("%d of %d jobs failed; the same command tries them again; the first failure is %s%s: %s", w.failed, len(w.jobs), first.ID, line, first.Error)
	case w.checkFailed > 0:
		return errCheckFailed
	}
	return w.stdoutErr
}
