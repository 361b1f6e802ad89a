package engine

import "github.com/revgen/revgen/internal/pool"

// Workers are the threads that a system computes with. They serve one call at a
// time and live until they are closed.
type Workers = pool.Pool

// NewWorkers returns as many threads, the caller's included; 0 or less means one for
// each processor.
func NewWorkers(threads int) *Workers { return pool.New(threads) }
