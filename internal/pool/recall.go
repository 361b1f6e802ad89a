package pool

import "sync"

// A memory holds what one of the pool's runs computed and the next may need again.
type memory struct {
	sync.Mutex
	key, value any
}

// Recall returns what compute last gave, if key is what it was given for, and otherwise
// what it gives now. One value is remembered, so that runs that follow one another with
// the same target share what its reference takes minutes for; an error is not. Whoever
// asks shares the value with all others, and may not change it.
func (p *Pool) Recall(key any, compute func() (any, error)) (any, error) {
	p.memory.Lock()
	defer p.memory.Unlock()
	if p.memory.value != nil && p.memory.key == key {
		return p.memory.value, nil
	}
	p.memory.key, p.memory.value = nil, nil // before memory is needed for the next
	value, err := compute()
	if err != nil {
		return nil, err
	}
	p.memory.key, p.memory.value = key, value
	return value, nil
}
