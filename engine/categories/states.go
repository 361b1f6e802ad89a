package categories

import "fmt"

// columns sets a block's states, [site][64], to those of up to 64 configurations, one after
// another; the last fills up.
func columns(dst, batch []byte, n int) {
	rows := len(batch) / n
	for b := range block {
		for i, x := range batch[min(b, rows-1)*n:][:n] {
			dst[i*block+b] = x
		}
	}
}

// rows sets configurations to those of a block from sample first on.
func rows(dst, state []byte, n, first int) {
	for b := first; len(dst) > 0; b, dst = b+1, dst[n:] {
		for i := range dst[:n] {
			dst[i] = state[i*block+b]
		}
	}
}

// check reports the first state of configurations that a site does not have.
func (t *Target) check(batch []byte) error {
	n := t.N()
	for k, s := range batch {
		if int(s) >= t.States[k%n] {
			return fmt.Errorf("states: site %d of configuration %d is in state %d; its states are 0 to %d", k%n, k/n, int8(s), t.States[k%n]-1)
		}
	}
	return nil
}
