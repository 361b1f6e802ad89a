package batch

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// A Plan says over what jobs are spread.
type Plan struct {
	Cores int
	Bytes float64 // of memory that jobs side by side may need together
	// Do carries a job out on so many threads.
	Do func(ctx context.Context, j *Job, threads int) *Record
	// Started and Ended are called, one at a time, as jobs begin and end.
	Started func(j *Job)
	Ended   func(j *Job, r *Record)
}

// Run carries jobs out; those in have are finished. One that needs more than its
// share of all cores is carried out alone, on all; the others side by side, the
// longest first, each on one thread while there are more of them than cores.
// When ctx is cancelled no more are begun.
func (p *Plan) Run(ctx context.Context, jobs []*Job, have map[int]Kept) {
	s := schedule{Plan: p, free: p.Cores, outcome: make(map[int]outcome)}
	s.changed.L = &s.mutex
	for _, j := range jobs {
		if kept, ok := have[j.Index]; ok {
			s.outcome[j.Index] = outcome{j.ID, kept.Exit, true}
			continue
		}
		s.share += j.Cost / float64(p.Cores)
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
		j, threads := s.pick()
		if j == nil {
			s.changed.Wait()
			continue
		}
		if r := s.lacks(j); r != nil {
			s.end(j, r)
			continue
		}
		s.free -= threads
		s.running++
		s.bytes += j.Bytes
		s.Started(j)
		s.ended.Go(func() {
			r := s.Do(ctx, j, threads)
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.free += threads
			s.running--
			s.bytes -= j.Bytes
			s.end(j, r)
			s.changed.Signal()
		})
	}
	s.mutex.Unlock()
	s.ended.Wait()
}

// An outcome is what later jobs need to know of one.
type outcome struct {
	id    string
	exit  int
	ended bool
}

// A schedule is a plan that is being carried out.
type schedule struct {
	*Plan
	mutex   sync.Mutex
	changed sync.Cond
	waiting []*Job // the costliest first
	outcome map[int]outcome
	share   float64 // of the whole cost, of one core
	free    int     // cores
	running int
	bytes   float64 // of what runs
	ended   sync.WaitGroup
}

// pick takes the next job that can begin, and says on how many threads; nil if
// none can before another ends.
func (s *schedule) pick() (*Job, int) {
	for i, j := range s.waiting {
		if j.after >= 0 && !s.outcome[j.after].ended {
			continue
		}
		alone := s.Cores > 1 && j.Cost > s.share
		if s.running > 0 && (alone || s.free == 0 || s.bytes+j.Bytes > s.Bytes) {
			return nil, 0
		}
		threads := s.Cores
		if !alone {
			threads = max(1, s.free/len(s.waiting))
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return j, threads
	}
	return nil, 0
}

// lacks is the end of a job that cannot be carried out, because what it reads was not
// written, or not yet.
func (s *schedule) lacks(j *Job) *Record {
	if j.after < 0 {
		return nil
	}
	switch r := s.outcome[j.after]; r.exit {
	case 0:
		return nil
	case Stopped:
		return &Record{Exit: Stopped, Error: "it reads what " + r.id + " is to write, which was stopped"}
	default:
		return &Record{Exit: 1, Error: "it reads what " + r.id + " was to write, which did not"}
	}
}

func (s *schedule) end(j *Job, r *Record) {
	s.outcome[j.Index] = outcome{j.ID, r.Exit, true}
	s.Ended(j, r)
}
