package run

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/number"
)

// A Status is status.json: what a run was doing when it was last heard of.
type Status struct {
	Schema         int                 `json:"schema"`
	State          string              `json:"state"` // setting up, running, stopped, failed or done
	Step           int                 `json:"step"`
	Steps          int                 `json:"steps"`
	Checkpoint     int                 `json:"checkpoint"`       // step of the last checkpoint, -1 for none
	StepsPerSecond float64             `json:"steps_per_second"` // since the run was started or resumed
	Loss           *float64            `json:"loss,omitempty"`   // of the last step of this process
	Acceptance     *float64            `json:"acceptance,omitempty"`
	Seconds        float64             `json:"seconds"`               // of training
	Setup          float64             `json:"setup"`                 // seconds of this process between Options.Asked and its first step
	Evaluations    *engine.Evaluations `json:"evaluations,omitempty"` // of the target, where they are counted
	Updated        time.Time           `json:"updated"`
	Host           string              `json:"host"`
	Process        int                 `json:"process"`
	Path           string              `json:"path"`
	Threads        int                 `json:"threads"`
	Error          string              `json:"error,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s Status) MarshalJSON() ([]byte, error) { return number.Marshal(s) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Status) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, s) }

// statusEvery is the least time between two statuses of a run under way. Tests replace it.
var statusEvery = 2 * time.Second

// status rewrites status.json. problem is the error that ended the run, if one did.
func (r *run) status(problem error) error {
	if r.dir == "" {
		return nil
	}
	state, message := "running", ""
	switch {
	case problem == nil && r.placing:
		state = "setting up"
	case errors.Is(problem, ErrStopped):
		state = "stopped"
	case problem != nil:
		state, message = "failed", problem.Error()
	case r.complete:
		state = "done"
	}
	r.statusTime = time.Now()
	s := Status{State: state, Step: r.trainer.Steps(), Steps: r.totalSteps(), Checkpoint: r.savedStep, Seconds: r.secondsBefore, Threads: r.workers.Threads(), Error: message, Evaluations: r.countedEvaluations()}
	if !r.started.IsZero() {
		s.Setup = r.setupSeconds
		if elapsed := time.Since(r.started).Seconds(); elapsed > 0 {
			s.StepsPerSecond = float64(r.trainer.Steps()-r.firstStep) / elapsed
		}
		s.Seconds = r.seconds()
	}
	if r.trainer.Steps() > r.firstStep {
		last := r.trainer.Record()
		s.Loss, s.Acceptance = &last.Loss, &last.Acceptance
	}
	write := disk.Publish
	if problem != nil || r.complete {
		write = disk.Write // durably: it is the last one
	}
	return s.write(r.dir, write)
}

// write writes status.json of a run directory, with time and place.
func (s *Status) write(dir string, write func(path string, text []byte) error) error {
	s.Schema, s.Updated, s.Process, s.Path = engine.SchemaVersion, time.Now().UTC(), os.Getpid(), activePath()
	s.Host, _ = os.Hostname()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return write(statusFile(dir), append(text, '\n'))
}
