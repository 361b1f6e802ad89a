package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// SchemaVersion is the version of the JSON report.
const SchemaVersion = 2

// A Report is the result of one run of the benchmark.
type Report struct {
	Schema  int     `json:"schema"`
	Machine Machine `json:"machine"`
	Rows    []Row   `json:"rows"`
}

// A Machine is where and how a report was measured.
type Machine struct {
	Time       time.Time `json:"time"`
	CPU        string    `json:"cpu"`
	Processors int       `json:"processors"`
	Platform   string    `json:"platform"`
	Go         string    `json:"go"`
	Version    string    `json:"version"`          // the source's revision
	Peaks      []Peak    `json:"peaks"`            // for the paths and threads of the rows
	Peers      []About   `json:"peers,omitempty"`  // those that ran or were missing
	Load       float64   `json:"load,omitempty"`   // processes ready to run when the measurement began, where known
	Seconds    float64   `json:"seconds"`          // least duration of a repetition
	Others     *float64  `json:"others,omitempty"` // processors that others took during the run, where known
	Warnings   []string  `json:"warnings,omitempty"`
}

// An About is how a peer describes itself, or why it is missing.
type About struct {
	Peer    string `json:"peer"`
	Threads int    `json:"threads"`
	BLAS    int    `json:"blas_threads,omitempty"` // of matrix products, if another number
	Text    string `json:"text"`
}

// A Peak is the highest rate that a resource reaches, in operations or bytes per
// nanosecond of all threads together.
type Peak struct {
	Path     string   `json:"path"`
	Threads  int      `json:"threads"`
	Resource Resource `json:"resource"`
	Bytes    int      `json:"bytes,omitempty"` // of memory that is read or written over and over
	// Rate is the median of Rates. Each of these is the best of some short bursts, at one
	// time of the run.
	Rate  float64   `json:"rate"`
	Rates []float64 `json:"rates"`
}

// Times are repetitions of one measurement.
type Times struct {
	// Nanoseconds holds the time of one call in each repetition, in order.
	Nanoseconds []float64 `json:"ns"`
	// Fastest holds the shortest time of one call in each repetition, to be compared with
	// peak rates, which are those of the fastest bursts. It is empty for calls shorter than
	// minTimedCall.
	Fastest []float64 `json:"fastest_ns,omitempty"`
	Calls   int       `json:"calls"` // per repetition
	Median  float64   `json:"median_ns"`
	// Interval is the 95 % confidence interval of the median, or the
	// extremes where there are too few repetitions for one.
	Interval [2]float64 `json:"interval_ns"`
}

// A Row is one measured operation.
type Row struct {
	Suite   string  `json:"suite"`
	Name    string  `json:"name"`
	Path    string  `json:"path"`
	Threads int     `json:"threads"`
	Amount  float64 `json:"amount"` // of Unit in one call
	Unit    string  `json:"unit"`   // what the throughput counts: flop, number, flip, sample, …
	Times
	// Control holds the time of work that is always the same, before each
	// repetition.
	Control  []float64 `json:"control_ns,omitempty"`
	Rate     float64   `json:"rate"` // Amount per nanosecond, from the median
	Floor    Floor     `json:"floor"`
	Fraction float64   `json:"fraction"` // floor / median
	// Undisturbed is the floor divided by the median of Fastest, 0 if that is empty.
	Undisturbed float64 `json:"undisturbed,omitempty"`
	// Scaling is the throughput divided by that of the same row on one thread,
	// where the report has it.
	Scaling float64 `json:"scaling,omitempty"`
	Rivals  []Rival `json:"peers,omitempty"`
	Note    string  `json:"note,omitempty"`
	// Change compares the row with the one of a former report.
	Change *Change `json:"change,omitempty"`
}

// ID names the row among all rows of a report.
func (r *Row) ID() string {
	return fmt.Sprintf("%s/%s/path=%s/threads=%d", r.Suite, r.Name, r.Path, r.Threads)
}

// A Floor is the least time that one call can take on the machine: the sum over
// its phases of the largest term.
type Floor struct {
	Nanoseconds float64 `json:"ns"`
	Terms       []Term  `json:"terms"`
}

// A Term is the use of one resource in one phase of a call.
type Term struct {
	Phase       string   `json:"phase,omitempty"`
	Resource    Resource `json:"resource"`
	Count       float64  `json:"count"` // operations or bytes
	Nanoseconds float64  `json:"ns"`    // at the peak rate
}

// The outcomes of a comparison with a peer.
const (
	Measured  = "measured"
	Missing   = "missing"   // not installed; Detail says how to
	Disagrees = "disagrees" // computes something else, so its time means nothing
	Failed    = "failed"
)

// A Rival is another way to do what the row does.
type Rival struct {
	Name string `json:"name"`
	// Program is the program that Name is a setting of; in most cases Name itself.
	Program string `json:"program"`
	Threads int    `json:"threads"`
	BLAS    int    `json:"blas_threads,omitempty"` // of matrix products, if another number
	// Best marks the fastest of a program's settings and numbers of threads, which the row is
	// compared with.
	Best   bool   `json:"best,omitempty"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Difference is the largest difference between its result and ours, in
	// the measure that Detail names.
	Difference float64 `json:"difference"`
	*Times
	Amount        float64    `json:"amount"`          // in one call, of the row's unit
	Ratio         float64    `json:"ratio,omitempty"` // its median divided by ours, for the same amount of work
	RatioInterval [2]float64 `json:"ratio_interval"`  // 95 % confidence
}

// WriteJSON writes the report as JSON, the form that ReadJSON and --baseline take.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// ReadJSON reads a report that WriteJSON wrote.
func ReadJSON(r io.Reader) (*Report, error) {
	var report Report
	d := json.NewDecoder(r)
	if err := d.Decode(&report); err != nil {
		return nil, fmt.Errorf("not a report of revgen bench -o json: %w", err)
	}
	if report.Schema != SchemaVersion {
		return nil, fmt.Errorf("report of schema %d; this program reads %d", report.Schema, SchemaVersion)
	}
	for i := range report.Rows {
		if err := report.Rows[i].check(); err != nil {
			return nil, fmt.Errorf("rows[%d]%w", i, err)
		}
	}
	return &report, nil
}

// check returns an error if a row lacks what comparisons and tables rely on.
func (r *Row) check() error {
	switch {
	case r.Suite == "" || r.Name == "":
		return fmt.Errorf(": it has no suite or no name")
	case r.Threads < 1:
		return fmt.Errorf(".threads: %d is not at least 1", r.Threads)
	}
	if err := r.Times.check(); err != nil {
		return err
	}
	for i, v := range r.Rivals {
		if v.Status != Measured {
			continue
		}
		if v.Times == nil {
			return fmt.Errorf(".peers[%d]: %s is said to be measured and has no times", i, v.Name)
		}
		if err := v.Times.check(); err != nil {
			return fmt.Errorf(".peers[%d]%w", i, err)
		}
	}
	return nil
}

func (t *Times) check() error {
	if len(t.Nanoseconds) == 0 {
		return fmt.Errorf(".ns: the list is empty")
	}
	for k, ns := range t.Nanoseconds {
		if !(ns > 0) {
			return fmt.Errorf(".ns[%d]: %v is not a positive time", k, ns)
		}
	}
	return nil
}
