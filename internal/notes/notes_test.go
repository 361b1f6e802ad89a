package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

func TestPages(t *testing.T) {
	long.SkipShort(t)
	dir := filepath.Join(t.TempDir(), "notes")
	type state struct {
		At int
		X  []float32
	}
	page := func(ctx context.Context, by ...any) *Page {
		p := PageOf(ctx, by...)
		p.written = time.Time{} // long ago
		return p
	}
	ctx := About(With(t.Context(), Open(dir)), "a target")
	var none state
	require.False(t, page(ctx, "walk", 1).Recall(&none))
	page(ctx, "walk", 1).Keep(&state{3, []float32{1, 2}})
	page(ctx, "walk", 2).Done(&state{4, nil})
	PageOf(ctx, "walk", 3).Done(&state{5, nil})
	stopped, stop := context.WithCancel(ctx)
	stop()
	page(stopped, "stopped").Done(&state{6, nil})
	page(Unless(ctx, func() error { return errors.New("it has failed") }), "failed").Done(&state{7, nil})

	again := About(With(t.Context(), Open(dir)), "a target")
	for i, want := range []state{3: {}, 1: {3, []float32{1, 2}}, 2: {4, nil}} {
		var s state
		require.Equal(t, want.At > 0, PageOf(again, "walk", i).Recall(&s))
		require.Equal(t, want, s)
	}
	require.False(t, PageOf(again, "stopped").Recall(&none))
	require.False(t, PageOf(again, "failed").Recall(&none))
	require.False(t, PageOf(About(again, "another"), "walk", 1).Recall(&none))
	var p *Page
	require.Equal(t, p, PageOf(t.Context(), "walk", 1))
	p.Keep(&none)
	p.Done(&none)
	require.False(t, p.Recall(&none))

	text, err := Open(dir).Text()
	require.NoError(t, err)
	told, err := Read(text)
	require.NoError(t, err)
	var s state
	require.True(t, PageOf(About(With(t.Context(), told), "a target"), "walk", 1).Recall(&s))
	page(With(t.Context(), told), "walk", 4).Done(&s)

	// Nothing of damaged pages is believed.
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, path := range files {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range whole {
			bad := append([]byte{}, whole...)
			bad[i] ^= 1
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			require.NotContains(t, Open(dir).pages, filepath.Base(path))
			require.NoError(t, os.WriteFile(path, whole[:i], 0o600))
			require.NotContains(t, Open(dir).pages, filepath.Base(path))
		}
	}
	Open(dir).Remove()
	require.NoDirExists(t, dir)
}
