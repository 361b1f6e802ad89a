package batch

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// A Plan has the resources that jobs share, and the functions that run and report them.
type Plan struct {
	Cores int
	Bytes float64 // of memory that jobs side by side may need together
	// Do runs a job on so many threads.
	Do func(ctx context.Context, j *Job, threads int) *Record
	// Started and Ended are called, one at a time, as jobs start and end.
	Started func(j *Job)
	Ended   func(j *Job, r *Record)
}

// Run runs the jobs that are not in finished. A job that costs more than the share of one core
// runs alone, on all cores. The others run side by side, the costliest first, each on one thread
// while there are more of them than cores. When ctx is cancelled no more jobs start.
func (p *Plan) Run(ctx context.Context, jobs []*Job, finished map[int]Entry) {
	s := schedule{Plan: p, freeCores: p.Cores, outcome: make(map[int]outcome)}
	s.changed.L = &s.mutex
	for _, j := range jobs {
		if entry, ok := finished[j.Index]; ok {
			s.outcome[j.Index] = outcome{id: j.ID, exit: entry.Exit, ended: true}
			continue
		}
		s.costShare += j.Cost / float64(p.Cores)
		s.waiting = append(s.waiting, j)
	}
	slices.SortStableFunc(s.waiting, func(a, b *Job) int { return cmp.Compare(b.Cost, a.Cost) })
	stop := context.AfterFunc(ctx, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mutex.Lock()
	for ctx.Err() == nil && len(s.waiting) > 0 {
		j, threads := s.next()
		if j == nil {
			s.changed.Wait()
			continue
		}
		if r := s.blocked(j); r != nil {
			s.finish(j, r)
			continue
		}
		s.freeCores -= threads
		s.running++
		s.usedBytes += j.Bytes
		s.Started(j)
		s.jobs.Go(func() {
			r := s.Do(ctx, j, threads)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.freeCores += threads
			s.running--
			s.usedBytes -= j.Bytes
			s.finish(j, r)
			s.changed.Signal()
		})
	}
	s.mutex.Unlock()
	s.jobs.Wait()
}

// An outcome is what the jobs that depend on a job need to know of it.
type outcome struct {
	id    string
	exit  int
	ended bool
}

// A schedule is a plan at work.
type schedule struct {
	*Plan
	mutex     sync.Mutex
	changed   sync.Cond       // signalled when a job has ended or ctx is cancelled
	waiting   []*Job          // the costliest first
	outcome   map[int]outcome // by the job's index
	costShare float64         // cost of all jobs, divided by the cores
	freeCores int
	running   int
	usedBytes float64 // that the running jobs need
	jobs      sync.WaitGroup
}

// next takes the next job that can start from the waiting ones, and returns its number of threads.
// It returns nil if none can start before another ends.
func (s *schedule) next() (*Job, int) {
	for i, j := range s.waiting {
		if j.dependsOn >= 0 && !s.outcome[j.dependsOn].ended {
			continue
		}
		alone := s.Cores > 1 && j.Cost > s.costShare
		if s.running > 0 && (alone || s.freeCores == 0 || s.usedBytes+j.Bytes > s.Bytes) {
			return nil, 0
		}
		threads := s.Cores
		if !alone {
			threads = max(1, s.freeCores/len(s.waiting))
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return j, threads
	}
	return nil, 0
}

// blocked returns the record of a job that cannot run, because the job that writes its input was
// stopped or failed. It returns nil for a job that can run.
func (s *schedule) blocked(j *Job) *Record {
	if j.dependsOn < 0 {
		return nil
	}
	switch writer := s.outcome[j.dependsOn]; writer.exit {
	case 0:
		return nil
	case Stopped:
		return &Record{Exit: Stopped, Error: "it reads what " + writer.id + " is to write, which was stopped"}
	default:
		return &Record{Exit: 1, Error: "it reads what " + writer.id + " was to write, which did not"}
	}
}

func (s *schedule) finish(j *Job, r *Record) {
	s.outcome[j.Index] = outcome{id: j.ID, exit: r.Exit, ended: true}
	s.Ended(j, r)
}
