package batch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/ndjson"
)

// Stopped is the exit code of a job that was stopped, and continues when the batch does.
const Stopped = 75

// A Record is what the journal and the results say of one job.
type Record struct {
	Job      int             `json:"job"`            // index in the batch, from 0
	Line     int             `json:"line,omitempty"` // of the list
	ID       string          `json:"id"`
	Verb     string          `json:"verb"`
	Args     []string        `json:"args,omitempty"`
	Values   json.RawMessage `json:"values,omitempty"` // object of the job's flags and settings, with its values of the grid
	Out      string          `json:"out,omitempty"`
	Exit     int             `json:"exit"`
	Error    string          `json:"error,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Seconds  float64         `json:"seconds"`
	Setup    float64         `json:"setup,omitempty"` // seconds before the first step of a training
	Threads  int             `json:"threads"`
	Result   json.RawMessage `json:"result,omitempty"` // what the verb prints with --json
	Digest   string          `json:"digest"`           // of all that decides what the job does
}

// Describe sets the fields of a record that identify its job.
func (r *Record) Describe(j *Job) {
	r.Job, r.Line, r.ID, r.Verb, r.Args, r.Out, r.Digest = j.Index, j.Line, j.ID, j.Verb, j.Args, j.Out, fmt.Sprintf("%x", j.digest)
	if values := j.Values(); len(values) > 0 {
		v := ndjson.Value{Kind: ndjson.Object, Members: values}
		r.Values = v.Append(nil)
	}
}

// A Journal is a file of the records of jobs in the order in which they ended. Records are read
// from the disk when they are needed, since there may be a million of them.
type Journal struct {
	file *os.File
	end  int64 // size of the file
}

// An Entry says how a job ended, and where the journal has its record.
type Entry struct {
	Exit   int
	offset int64
	size   int
}

// OpenJournal opens the journal at path, and returns the entries of the jobs that need not run
// again according to isFinished, by the job's index. It removes the beginning of a line that a
// killed process has left.
func OpenJournal(path string, jobs []*Job, isFinished func(*Record) bool) (*Journal, map[int]Entry, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	entries, end, err := restore(file, path, jobs, isFinished)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &Journal{file, end}, entries, nil
}

// ErrChanged reports a job that is finished in the journal, and has changed since.
var ErrChanged = errors.New("is not what it was when it was finished")

func restore(file *os.File, path string, jobs []*Job, isFinished func(*Record) bool) (entries map[int]Entry, end int64, err error) {
	in, _, err := disk.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	lines := bufio.NewReader(in)
	byID := make(map[string]*Job, len(jobs))
	for _, j := range jobs {
		byID[j.ID] = j
	}
	entries = make(map[int]Entry)
	for line := 1; ; line++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		r := new(Record)
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: line %d: damaged: %w", path, line, err)
		}
		offset := end
		end += int64(len(text))
		j := byID[r.ID]
		switch {
		case j == nil:
		case !isFinished(r):
			delete(entries, j.Index)
		case r.Digest != fmt.Sprintf("%x", j.digest):
			return nil, 0, fmt.Errorf("%s: %s: the job %q %w; give it another id, or the batch another directory", path, j.location(), j.ID, ErrChanged)
		default:
			entries[j.Index] = Entry{r.Exit, offset, len(text)}
		}
	}
	if err := file.Truncate(end); err != nil {
		return nil, 0, err
	}
	_, err = file.Seek(end, io.SeekStart)
	return entries, end, err
}

// Add appends a record. When it returns no error the record is on the disk.
func (j *Journal) Add(r *Record) (Entry, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return Entry{}, err
	}
	line = append(line, '\n')
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return Entry{}, fmt.Errorf("writing %s: %w", j.file.Name(), disk.Cause(err))
	}
	e := Entry{r.Exit, j.end, len(line)}
	j.end += int64(len(line))
	return e, nil
}

// Record reads the record of a job.
func (j *Journal) Record(job *Job, e Entry) (*Record, error) {
	line, r := make([]byte, e.size), new(Record)
	_, err := j.file.ReadAt(line, e.offset)
	if err == nil {
		err = json.Unmarshal(line, r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", j.file.Name(), disk.Cause(err))
	}
	r.Describe(job)
	return r, nil
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }
