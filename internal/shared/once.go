package shared

import "sync"

// A Once is a value that is computed when it is first asked for, and kept unless that fails.
type Once[T any] struct {
	mutex sync.Mutex
	value *T
}

// Get returns the value, by compute if it is not kept.
func (o *Once[T]) Get(compute func() (*T, error)) (_ *T, err error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.value == nil {
		o.value, err = compute()
	}
	return o.value, err
}
