package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/batch"
)

// newTestRecorder begins a batch of so many jobs in dir, of which some are finished already.
func newTestRecorder(t *testing.T, dir string, n int, stdout io.Writer, before map[int]int) (w *recorder, jobs []*batch.Job, journal *batch.Journal, cancelled *int) {
	t.Helper()
	jobs, err := batch.Read(strings.NewReader(strings.Repeat("{\"look\":\"x\"}\n", n)), []batch.Verb{{Name: "look"}}, dir)
	require.NoError(t, err)
	journal, _, err = batch.OpenJournal(filepath.Join(t.TempDir(), "journal"), jobs, func(*batch.Record) bool { return true })
	require.NoError(t, err)
	have := map[int]batch.Entry{}
	for i, exit := range before {
		r := &batch.Record{Exit: exit}
		r.Describe(jobs[i])
		have[i], err = journal.Add(r)
		require.NoError(t, err)
	}
	cancelled = new(int)
	p := &program{stdout: stdout, stderr: io.Discard}
	return p.newRecorder(jobs, have, dir, journal, func() { *cancelled++ }), jobs, journal, cancelled
}

// ends carries out a job for a recorder.
func ends(w *recorder, j *batch.Job, exit int, text string) {
	w.jobStarted(j)
	r := &batch.Record{Exit: exit, Error: text}
	r.Describe(j)
	w.jobEnded(j, r)
}

// ids are those of the records in a text, with their exit codes.
func ids(t *testing.T, text string) (all []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r batch.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		all = append(all, fmt.Sprint(r.ID, ":", r.Exit))
	}
	return all
}

// TestRecorder: records are written in the order of the list, whichever job ends first, and
// status.json says how many there are of each kind.
func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	w, jobs, _, cancelled := newTestRecorder(t, dir, 6, &out, map[int]int{1: exitOK, 5: exitCheck})
	status := func() (s map[string]any) {
		w.show("running")
		require.NoError(t, json.Unmarshal([]byte(content(t, dir, "status.json")), &s))
		return s
	}
	ends(w, jobs[2], exitOK, "")
	require.Empty(t, out.String(), "the first is not there yet")
	w.jobStarted(jobs[4])
	s := status()
	for key, want := range map[string]any{"state": "running", "jobs": 6., "done": 3., "failed": 0., "running": 1., "left": 2., "process": float64(os.Getpid())} {
		require.Equal(t, want, s[key], key)
	}
	ends(w, jobs[0], exitError, "no room")
	require.Equal(t, []string{"1:1", "2:0", "3:0"}, ids(t, out.String()))
	ends(w, jobs[3], exitStopped, "later")
	w.jobEnded(jobs[4], &batch.Record{Exit: exitError, Error: "it was not begun"})
	s = status()
	for key, want := range map[string]any{"done": 3., "failed": 2., "running": 1., "left": 0.} {
		require.Equal(t, want, s[key], key)
	}
	err := w.conclude()
	var stop *batchStop
	require.ErrorAs(t, err, &stop)
	require.Equal(t, []string{"1:1", "2:0", "3:0"}, ids(t, out.String()))
	require.Equal(t, []string{"1:1", "2:0", "3:0", "5:1", "6:3"}, ids(t, content(t, dir, "results.ndjson")), "what comes after a gap is there too")
	require.Contains(t, content(t, dir, "status.json"), `"state": "stopped"`)
	require.Zero(t, *cancelled)

	out.Reset()
	w, _, _, _ = newTestRecorder(t, t.TempDir(), 3, &out, map[int]int{0: exitOK, 1: exitCheck})
	require.Equal(t, []string{"1:0", "2:3"}, ids(t, out.String()), "what is known is written at once")
	require.ErrorAs(t, w.conclude(), &stop)

	for _, c := range []struct {
		exits []int
		want  string
	}{
		{[]int{exitOK, exitOK}, ""}, {[]int{exitOK, exitCheck}, errCheckFailed.Error()},
		{[]int{exitCheck, exitError}, "1 of 2 jobs failed; the same command tries them again; the first failure is 2 in line 2: bad"},
		{[]int{exitError, exitUsage}, "2 of 2 jobs failed; the same command tries them again; the first failure is 1 in line 1: bad"},
	} {
		w, jobs, _, _ := newTestRecorder(t, t.TempDir(), 2, io.Discard, nil)
		for i := range jobs {
			ends(w, jobs[1-i], c.exits[1-i], "bad") // the last first
		}
		err := w.conclude()
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
		require.Contains(t, content(t, w.dir, "status.json"), `"state": "done"`)
	}
}

// TestRecorderWithoutADisk: a batch whose journal or results cannot be written does not go on, and
// one whose reader has gone does.
func TestRecorderWithoutADisk(t *testing.T) {
	dir := t.TempDir()
	w, jobs, journal, cancelled := newTestRecorder(t, dir, 2, io.Discard, nil)
	require.NoError(t, journal.Close())
	ends(w, jobs[0], exitOK, "")
	require.Equal(t, 1, *cancelled)
	ends(w, jobs[1], exitOK, "")
	require.Equal(t, 1, *cancelled, "once")
	require.ErrorContains(t, w.conclude(), "journal: file already closed")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "status.json alone")

	w, _, _, cancelled = newTestRecorder(t, filepath.Join(dir, "none"), 1, io.Discard, nil)
	require.Equal(t, 1, *cancelled)
	require.ErrorContains(t, w.conclude(), "results.ndjson")

	gone := errors.New("nobody reads")
	w, jobs, _, cancelled = newTestRecorder(t, t.TempDir(), 2, writes{gone}, nil)
	ends(w, jobs[0], exitOK, "")
	ends(w, jobs[1], exitOK, "")
	require.Zero(t, *cancelled)
	require.Equal(t, gone, w.conclude())
	require.Equal(t, []string{"1:0", "2:0"}, ids(t, content(t, w.dir, "results.ndjson")))

	// A record that is gone from the journal.
	w, jobs, journal, cancelled = newTestRecorder(t, t.TempDir(), 2, io.Discard, nil)
	ends(w, jobs[1], exitOK, "")
	require.NoError(t, journal.Close())
	w.mutex.Lock()
	w.nextJob = 1
	w.writeReady()
	w.mutex.Unlock()
	require.Equal(t, 1, *cancelled)
	require.ErrorContains(t, w.conclude(), "journal: file already closed")
}
