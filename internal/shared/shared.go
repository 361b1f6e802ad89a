// Package shared keeps what runs side by side in one process would each compute
// again: what depends on a lattice or a target alone.
package shared

import "sync"

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
	at := -1
	for i, e := range c.kept {
		if e.key == key {
			at = i
		}
	}
	var e *entry[K, V]
	switch {
	case at >= 0:
		e = c.kept[at]
		copy(c.kept[at:], c.kept[at+1:])
		c.kept[len(c.kept)-1] = e
	default:
		e = &entry[K, V]{key, sync.OnceValue(compute)}
		most := c.Most
		if most == 0 {
			most = 8
		}
		if len(c.kept) == most {
			copy(c.kept, c.kept[1:])
			c.kept[most-1] = e
		} else {
			c.kept = append(c.kept, e)
		}
	}
	c.mutex.Unlock()
	return e.value()
}
