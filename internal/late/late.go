// Package late has a context for tests of work that asks whether its context has ended.
package late

import (
	"context"
	"sync/atomic"
)

// A Context ends when it has been asked often enough.
type Context struct {
	context.Context
	times int64
	asked atomic.Int64
}

// After returns a context that may be asked so many times before it has ended.
func After(parent context.Context, times int) *Context {
	return &Context{Context: parent, times: int64(times)}
}

// Err implements context.Context.
func (c *Context) Err() error {
	if c.asked.Add(1) > c.times {
		return context.Canceled
	}
	return nil
}

// Asked returns how often it has been asked, and how often of these it had ended.
func (c *Context) Asked() (all, ended int) {
	n := c.asked.Load()
	return int(n), int(max(0, n-c.times))
}
