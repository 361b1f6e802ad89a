package bench

import (
	"encoding/json"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

// pyTorch makes rivals of a comparison with PyTorch: PyTorch as it is installed and, on the
// AVX-512 path, PyTorch with its AVX-512 kernels switched on.
func (e *environment) pyTorch(r rival) []rival {
	r.name = "pytorch"
	if e.path != asm.AVX512 {
		return []rival{r}
	}
	wide := r
	wide.name = "pytorch-avx512"
	return []rival{r, wide}
}

// runPeerOnce loads inputs into a peer, runs an operation once, and stores its results in slices.
func runPeerOnce(p *peers.Process, operation []any, inputs map[string][]float32, results map[string]any) error {
	for name, numbers := range inputs {
		if err := p.Load(name, numbers); err != nil {
			return err
		}
	}
	if err := p.Select(operation...); err != nil {
		return err
	}
	if _, err := p.Run(1); err != nil {
		return err
	}
	for name, slice := range results {
		if err := p.Store(name, slice); err != nil {
			return fmt.Errorf("result %s: %w", name, err)
		}
	}
	return nil
}

// writeJSON writes a value to a file that the peer can read, and returns its path.
func writeJSON(p *peers.Process, name string, v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return p.File(name, text)
}
