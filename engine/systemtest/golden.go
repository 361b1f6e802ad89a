package systemtest

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// Golden checks that the configuration, which should be small, still gives the
// bits that it gave when want was written. A line of want has the first bytes of a hash: of
// the starting values, of the parameters after a few steps, and of the first samples in each
// format, unrefined and refined. Draws from the wrong stream of random numbers change them,
// which no other test notices. Whoever changes bits on purpose says so in the commit and
// copies the lines that the failure prints.
//
// It runs on the generic path, whose bits are the same on any amd64 processor. Other
// architectures may fuse products and sums, and skip it.
func Golden(t *testing.T, cfg engine.Config, want string) {
	t.Helper()
	defer useGeneric(t)()
	workers := pool.New(1)
	defer workers.Close()
	trainer, err := engine.NewTrainer(cfg, workers)
	require.NoError(t, err)
	var lines []string
	hash := func(label string, data []byte) {
		sum := sha256.Sum256(data)
		lines = append(lines, fmt.Sprintf("%s %x", label, sum[:6]))
	}
	hash("start", asm.Bytes(trainer.Params()))
	for range 4 {
		require.NoError(t, trainer.Step())
	}
	hash("trained", asm.Bytes(trainer.Params()))
	if s, ok := trainer.System().(engine.Sampler); ok {
		const n = 100
		for _, f := range s.Formats() {
			for _, refine := range []int{0, 3} {
				if refine > 0 && f.Unrefined {
					continue
				}
				hash(fmt.Sprintf("%s, refined by %d", f.Name, refine), samplesOf(t, s, f, trainer.Params(), span{n: n, refine: refine}))
			}
		}
	}
	require.Equal(t, strings.TrimSpace(want), strings.Join(lines, "\n"))
}

// useGeneric chooses the generic path until restore is called.
func useGeneric(t *testing.T) (restore func()) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the bits of generic arithmetic are those of amd64")
	}
	path, _, _ := asm.Active()
	require.NoError(t, asm.Use(asm.Generic))
	return func() { require.NoError(t, asm.Use(path)) }
}
