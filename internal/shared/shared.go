// Package shared keeps results that depend on a lattice or a target alone, so that runs
// side by side in one process compute them once.
package shared

import (
	"cmp"
	"slices"
	"sync"
)

// A Cache keeps the values of the keys that were asked for last. Its zero value is empty. The first
// caller who asks for a key computes its value, and others wait for it. Callers share values and must
// not change them.
type Cache[K comparable, V any] struct {
	MaxKept int // values to keep; 0 means eight
	mutex   sync.Mutex
	kept    []*entry[K, V] // in the order in which they were last asked for
}

type entry[K comparable, V any] struct {
	key   K
	value func() V
}

// Get returns the value of a key, by compute if it is not kept. If compute panics, Get panics for
// every caller until the key is no longer kept.
func (c *Cache[K, V]) Get(key K, compute func() V) V {
	c.mutex.Lock()
	e := &entry[K, V]{key, sync.OnceValue(compute)}
	if i := slices.IndexFunc(c.kept, func(e *entry[K, V]) bool { return e.key == key }); i >= 0 {
		e = c.kept[i]
		c.kept = slices.Delete(c.kept, i, i+1)
	} else if len(c.kept) == cmp.Or(c.MaxKept, 8) {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, e)
	c.mutex.Unlock()
	return e.value()
}
