package run_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/run"
)

// TestMetricsOfAnotherKind: records are not written into a pipe.
func TestMetricsOfAnotherKind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "metrics.jsonl")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir})
	require.EqualError(t, err, path+": not a regular file")
}
