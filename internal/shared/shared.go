// Package shared keeps results that depend on a lattice or a target alone, so that runs
// side by side in one process compute them once.
package shared

import (
	"cmp"
	"slices"
	"sync"
)

// A Cache keeps the values of the keys that were asked for last. Its zero value is
// empty and keeps eight. Values are computed once, by the first who asks; others wait for them.
// They belong to everyone who has got them and must not be changed.
type Cache[K comparable, V any] struct {
	Most  int // values to keep; 0 means eight
	mutex sync.Mutex
	kept  []*entry[K, V] // the one asked for last is the last
}

type entry[K comparable, V any] struct {
	key   K
	value func() V
}

// Get returns the value of a key, by compute if it is not kept. If compute panics, it
// does so for everyone who asks, until the key has fallen out.
func (c *Cache[K, V]) Get(key K, compute func() V) V {
	c.mutex.Lock()
	e := &entry[K, V]{key, sync.OnceValue(compute)}
	if at := slices.IndexFunc(c.kept, func(e *entry[K, V]) bool { return e.key == key }); at >= 0 {
		e = c.kept[at]
		c.kept = slices.Delete(c.kept, at, at+1)
	} else if len(c.kept) == cmp.Or(c.Most, 8) {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, e)
	c.mutex.Unlock()
	return e.value()
}
