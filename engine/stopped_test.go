package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// What reads samples may stop to read them; a cancellation is heeded
// nevertheless.
func TestStreamStopsThoughNobodyReads(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(1)
	defer workers.Close()
	c := config(t)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	stream, err := engine.NewStream(c, trainer.Params(), workers)
	require.NoError(t, err)
	format, err := stream.Format("")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	w := make(blocked)
	defer close(w)
	done := make(chan error, 1)
	go func() { done <- stream.Write(ctx, w, format, 0, 1<<34, 0, nil) }()
	w <- struct{}{} // it writes
	cancel()
	select {
	case err = <-done:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		t.Fatal("it waits for whoever reads")
	}
}

// blocked is a writer that says that it was called and returns when it is
// closed.
type blocked chan struct{}

func (w blocked) Write(p []byte) (int, error) {
	<-w
	<-w
	return len(p), nil
}
