package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
)

// The files of a run directory.
func modelFile(dir string) string      { return filepath.Join(dir, "model.rvg") }
func checkpointFile(dir string) string { return filepath.Join(dir, "checkpoint.rvg") }
func previousFile(dir string) string   { return filepath.Join(dir, "checkpoint.prev.rvg") }
func configFile(dir string) string     { return filepath.Join(dir, "config.json") }
func metricsFile(dir string) string    { return filepath.Join(dir, "metrics.jsonl") }
func statusFile(dir string) string     { return filepath.Join(dir, "status.json") }
func summaryFile(dir string) string    { return filepath.Join(dir, "summary.json") }

// A directory is where a run keeps its files.
type directory struct {
	dir          string // "" if nothing is written
	lock         *disk.Lock
	metrics      *os.File // metrics.jsonl
	metricsBytes int64    // its length
	savedStep    int      // step of the last checkpoint, -1 for none
	dirty        bool     // the last checkpoint does not hold the present state
}

// open takes possession of the run directory, if that has not been done, and restores a
// checkpoint if there is one.
func (r *run) open() error {
	if r.dir == "" {
		if r.Resume == "must" {
			return errors.New("resume: there is no run directory to resume from")
		}
		return mayResume("", r.Resume, false)
	}
	setup := r.Setup
	if setup == nil {
		var err error
		if setup, err = claim(r.dir, r.Resume, r.report); err != nil {
			return err
		}
		if !setup.hasCheckpoint {
			_ = os.Remove(recipeFile(r.dir)) // which a run that never began has left
		}
	}
	r.lock, setup.handedOver = setup.lock, true
	if setup.hasCheckpoint {
		if err := r.restore(checkpointFile(r.dir)); err != nil {
			return err
		}
	}
	r.tally.Restore(spentIn(r.dir))
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := r.openMetrics(); err != nil {
		return err
	}
	return r.status(nil)
}

// lockDirectory makes a run directory if need be, locks it for this process, and removes files
// that a killed process left half-written. If the file system has no locks, it calls warn.
func lockDirectory(dir string, warn func(string)) (*disk.Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run directory %s: %w", dir, disk.Cause(err))
	}
	lock, err := disk.Own(dir, "model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "config.json", "metrics.jsonl", "status.json", "summary.json")
	switch {
	case errors.Is(err, disk.ErrNoLocks):
		warn(err.Error())
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("run directory %w", err)
	}
	return lock, nil
}

// writeConfig writes config.json if it differs: on resumption, keys that do not change the
// run's numbers may have new values.
func (r *run) writeConfig() error {
	if have, err := disk.Read(configFile(r.dir), int64(len(r.config))); err == nil && bytes.Equal(have, r.config) {
		return nil
	}
	return disk.Write(configFile(r.dir), r.config)
}

// openMetrics opens metrics.jsonl and cuts it to its length at the checkpoint: records that an
// interrupted run logged after it are logged again.
func (r *run) openMetrics() error {
	path := metricsFile(r.dir)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	r.metrics = file
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	end, err := lineEnd(file, min(r.metricsBytes, info.Size()))
	if err != nil {
		return err
	}
	if end < r.metricsBytes {
		r.report(fmt.Sprintf("%s holds %d bytes of the %d that the checkpoint counts: the records between are lost", path, end, r.metricsBytes))
		r.metricsBytes = end
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	_, err = file.Seek(end, io.SeekStart)
	return err
}

// lineEnd returns where the last line that ends at or before n ends.
func lineEnd(file io.ReaderAt, n int64) (int64, error) {
	text := make([]byte, n)
	if _, err := file.ReadAt(text, 0); err != nil {
		return 0, err
	}
	return int64(bytes.LastIndexByte(text, '\n') + 1), nil
}

// restore continues from the checkpoint at path.
func (r *run) restore(path string) error {
	h, err := r.load(path)
	if bad, ok := errors.AsType[*FileError](err); ok {
		if step, ok := intactStep(previousFile(r.dir)); ok {
			bad.Reason += fmt.Sprintf("; %s, of step %d, is intact: rename it to %s to continue from there",
				previousFile(r.dir), step, filepath.Base(path))
		}
	}
	if err != nil {
		return err
	}
	for _, warning := range h.Warnings {
		r.report(warning)
	}
	if h.Path != activePath() {
		r.report(fmt.Sprintf("resumed on kernel path %s a run that began on %s: its numbers will differ in their last bits from those of an uninterrupted run", activePath(), h.Path))
	}
	if h.Evaluations != nil {
		r.tally.Restore(*h.Evaluations)
	}
	r.savedStep, r.secondsBefore, r.metricsBytes, r.acceptanceSum, r.pending = h.Step, h.Seconds, h.MetricsBytes, h.AcceptanceSum, h.Pending
	r.dirty = false
	return nil
}

// load fills the trainer from the checkpoint at path.
func (r *run) load(path string) (*header, error) {
	h, data, err := readFile(path, "checkpoint")
	if err != nil {
		return nil, err
	}
	if err := sameRun(path, conf.WithoutSettled(h.Config, r.cfg), r.config, r.Extend); err != nil {
		return nil, err
	}
	if h.Step > r.common.Training.Steps {
		return nil, fmt.Errorf("training.steps: the run in %s has taken %d steps already, more than %d", r.dir, h.Step, r.common.Training.Steps)
	}
	if slices.ContainsFunc(h.Sections, func(s sectionHeader) bool { return s.Name == "journal.points" }) {
		return nil, fmt.Errorf("%s: holds the steps of many particles since a keyframe, as former versions wrote them; finish the run with one of these, or begin anew in another directory", path)
	}
	r.trainer.Resume(h.Step)
	want := r.trainer.State()
	if f := h.Refuge; f != nil {
		if f.Step != h.Step {
			f.sections = refugeSections(want)
			want = slices.Concat(want, f.sections)
		}
		r.refuge = *f
		r.ease()
	}
	return h, fill(path, h, data, want)
}

// intactStep returns the step of the checkpoint at path, ok if the file can be read.
func intactStep(path string) (step int, ok bool) {
	h, _, err := readFile(path, "checkpoint")
	if err != nil {
		return 0, false
	}
	return h.Step, true
}

// checkpoint saves the state after the current step and keeps the one before.
// When it returns nil, that state and the records up to it are on the disk.
func (r *run) checkpoint() error {
	if r.dir == "" || !r.dirty {
		return nil
	}
	if err := r.metrics.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", metricsFile(r.dir), disk.Cause(err))
	}
	path := checkpointFile(r.dir)
	write := func(w io.Writer) error { return encode(w, r.checkpointHeader(), r.checkpointSections()) }
	if err := disk.Replace(path, write, func() error { return keepPrevious(path, previousFile(r.dir)) }); err != nil {
		return err
	}
	r.savedStep, r.dirty = r.trainer.Steps(), false
	r.notes.Remove()
	r.notes = nil
	return r.status(nil)
}

// checkpointSections returns the present state, and the refuge's if that is another one.
func (r *run) checkpointSections() []engine.Section {
	sections := r.trainer.State()
	if r.refuge.sections != nil && r.refuge.Step != r.trainer.Steps() {
		sections = slices.Concat(sections, r.refuge.sections)
	}
	return sections
}

// keepPrevious gives the checkpoint at path a second name, so that it stays when path
// names a new one. At any time path names a whole checkpoint.
func keepPrevious(path, previous string) error {
	if err := os.Remove(previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(path, previous)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// The file system may have no links.
	data, err := disk.Read(path, maxFile)
	if err != nil {
		return err
	}
	return disk.Write(previous, data)
}

func (r *run) header(kind string) header {
	return header{Kind: kind, System: r.common.System, Step: r.trainer.Steps(), Path: activePath(), Config: r.config}
}

func (r *run) checkpointHeader() header {
	h := r.header("checkpoint")
	h.Evaluations = r.countedEvaluations()
	h.Seconds, h.MetricsBytes, h.AcceptanceSum, h.Pending, h.Warnings = r.secondsBefore, r.metricsBytes, r.acceptanceSum, r.pending, r.warnings
	if r.canRetreat() {
		h.Refuge = &r.refuge
	}
	if !r.started.IsZero() {
		h.Seconds = r.seconds()
	}
	return h
}

func (r *run) logRecord(record engine.Record) error {
	if r.dir == "" {
		return nil
	}
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	n, err := r.metrics.Write(append(line, '\n'))
	r.metricsBytes += int64(n)
	if err != nil {
		return fmt.Errorf("writing %s: %w", metricsFile(r.dir), disk.Cause(err))
	}
	return nil
}

// close gives up the directory, after everything has been written.
func (r *run) close() {
	if r.metrics != nil {
		_ = r.metrics.Close()
	}
	_ = r.lock.Release()
}
