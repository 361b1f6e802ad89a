// Package ctxtest has a context for tests of work that asks whether its context has ended.
package ctxtest

import (
	"context"
	"sync/atomic"
)

// A Context ends after a number of calls of Err.
type Context struct {
	context.Context
	limit int64
	calls atomic.Int64
}

// CancelAfter returns a context that ends after the given number of calls of Err.
func CancelAfter(parent context.Context, calls int) *Context {
	return &Context{Context: parent, limit: int64(calls)}
}

// Err implements context.Context.
func (c *Context) Err() error {
	if c.calls.Add(1) > c.limit {
		return context.Canceled
	}
	return nil
}

// Asked returns the number of calls of Err, and how many of them found that the context had ended.
func (c *Context) Asked() (calls, ended int) {
	n := c.calls.Load()
	return int(n), int(max(0, n-c.limit))
}
