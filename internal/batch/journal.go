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

// Stopped is the exit code of a job that goes on when the batch does.
const Stopped = 75

// A Record is what a job leaves.
type Record struct {
	Job      int             `json:"job"`            // index in the batch, from 0
	Line     int             `json:"line,omitempty"` // of the list
	ID       string          `json:"id"`
	Verb     string          `json:"verb"`
	Args     []string        `json:"args,omitempty"`
	Values   json.RawMessage `json:"values,omitempty"` // what the job sets, those of the grid among it: flags, and paths of the configuration
	Out      string          `json:"out,omitempty"`
	Exit     int             `json:"exit"`
	Error    string          `json:"error,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Seconds  float64         `json:"seconds"`
	Setup    float64         `json:"setup,omitempty"` // of the seconds, those before the first step of a training
	Threads  int             `json:"threads"`
	Result   json.RawMessage `json:"result,omitempty"` // what the verb prints with --json
	Digest   string          `json:"digest"`           // of all that decides what the job does
}

// Describe says in a record which job it is of.
func (r *Record) Describe(j *Job) {
	r.Job, r.Line, r.ID, r.Verb, r.Args, r.Out, r.Digest = j.Index, j.Line, j.ID, j.Verb, j.Args, j.Out, fmt.Sprintf("%x", j.digest)
	if values := j.Values(); len(values) > 0 {
		v := ndjson.Value{Kind: ndjson.Object, Members: values}
		r.Values = v.Append(nil)
	}
}

// A Journal holds the records of finished jobs in the order in which they ended.
// Each is on the disk before the next begins, and is read from there when it is needed:
// there may be a million of them.
type Journal struct {
	file *os.File
	end  int64
}

// Kept says where the journal has the record of a job that has ended, and how it did.
type Kept struct {
	Exit  int
	first int64
	n     int
}

// OpenJournal opens the journal at path and says of which jobs it has records that, as
// finished says, need not be carried out again, by the jobs' indices. What a process that
// was killed left of a line is removed.
func OpenJournal(path string, jobs []*Job, finished func(*Record) bool) (*Journal, map[int]Kept, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	have, end, err := restore(file, path, jobs, finished)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &Journal{file, end}, have, nil
}

// ErrChanged reports a job that the journal has as finished, and that was
// another then.
var ErrChanged = errors.New("is not what it was when it was finished")

func restore(file *os.File, path string, jobs []*Job, finished func(*Record) bool) (have map[int]Kept, end int64, err error) {
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
	have = make(map[int]Kept)
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
		first := end
		end += int64(len(text))
		j := byID[r.ID]
		switch {
		case j == nil:
		case !finished(r):
			delete(have, j.Index)
		case r.Digest != fmt.Sprintf("%x", j.digest):
			return nil, 0, fmt.Errorf("%s: %s: the job %q %w; give it another id, or the batch another directory", path, j.where(), j.ID, ErrChanged)
		default:
			have[j.Index] = Kept{r.Exit, first, len(text)}
		}
	}
	if err := file.Truncate(end); err != nil {
		return nil, 0, err
	}
	_, err = file.Seek(end, io.SeekStart)
	return have, end, err
}

// Add appends a record. When it returns no error the record is on the disk.
func (j *Journal) Add(r *Record) (Kept, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return Kept{}, err
	}
	line = append(line, '\n')
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return Kept{}, fmt.Errorf("writing %s: %w", j.file.Name(), disk.Cause(err))
	}
	kept := Kept{r.Exit, j.end, len(line)}
	j.end += int64(len(line))
	return kept, nil
}

// Record reads the record of a job.
func (j *Journal) Record(of *Job, kept Kept) (*Record, error) {
	line, r := make([]byte, kept.n), new(Record)
	_, err := j.file.ReadAt(line, kept.first)
	if err == nil {
		err = json.Unmarshal(line, r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", j.file.Name(), disk.Cause(err))
	}
	r.Describe(of)
	return r, nil
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }
