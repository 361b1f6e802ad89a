package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		p.lastWrite = time.Time{} // long ago
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

// TestPagesLeft: what is left is found by whoever asks about the same, whatever he does with it.
func TestPagesLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	ctx := About(With(t.Context(), Open(dir)), "a recipe")
	PageOf(AboutOnly(ctx, "a target", 1), "found").Leave(7)
	for _, c := range []struct {
		about []any
		want  int
	}{{[]any{"a target", 1}, 7}, {[]any{"a target", 2}, 0}, {[]any{"a recipe"}, 0}} {
		var n int
		again := About(With(t.Context(), Open(dir)), "a run")
		PageOf(AboutOnly(again, c.about...), "found").Recall(&n)
		require.Equal(t, c.want, n)
	}
	var p *Page
	p.Leave(7)
}

// TestWhenPagesAreWritten: not before what the page holds has stood for its time, and the end of
// no trifle always.
func TestWhenPagesAreWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	ctx := With(t.Context(), Open(dir))
	holds := func(by ...any) (n int) {
		PageOf(With(t.Context(), Open(dir)), by...).Recall(&n)
		return n
	}
	p := PageOf(ctx, "a")
	require.Equal(t, minInterval, p.interval)
	p.interval = time.Hour
	p.Keep(1)
	require.Zero(t, holds("a"))
	require.NoDirExists(t, dir)
	p.lastWrite = time.Now().Add(-p.interval - time.Minute)
	p.Keep(2)
	require.Equal(t, 2, holds("a"))
	require.Less(t, time.Since(p.lastWrite), time.Minute)
	require.GreaterOrEqual(t, p.interval, minInterval)
	p.interval = time.Hour
	p.Keep(3)
	require.Equal(t, 2, holds("a"), "what it holds is recent")
	p.lastWrite = time.Now().Add(-minWork)
	p.Done(4)
	require.Equal(t, 4, holds("a"))
	p.lastWrite = time.Now().Add(time.Hour)
	p.Done(5)
	require.Equal(t, 4, holds("a"), "a trifle")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.True(t, info.IsDir())

	// Pages are those of what they are called by, and files of other names are none.
	for i, by := range [][]any{{"a", 1}, {"a", "1"}, {1.0}, {[]float64{1}}, {[]float32{1}}, {[]float64{1, 2}}, {"a"}, {}} {
		q := PageOf(ctx, by...)
		q.lastWrite = time.Time{}
		q.Done(10 + i)
	}
	for i, by := range [][]any{{"a", 1}, {"a", "1"}, {1.0}, {[]float64{1}}, {[]float32{1}}, {[]float64{1, 2}}, {"a"}, {}} {
		require.Equal(t, 10+i, holds(by...))
	}
	require.Len(t, Open(dir).pages, 8)
	whole, err := os.ReadFile(filepath.Join(dir, p.name))
	require.NoError(t, err)
	for _, name := range []string{"short", p.name + "0", p.name[1:]} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), whole, 0o600))
	}
	require.NoError(t, os.Symlink(p.name, filepath.Join(dir, strings.Repeat("f", 64))))
	require.Len(t, Open(dir).pages, 8)
	var none *Book
	none.Remove()
	b := Open(dir)
	b.Remove()
	require.Empty(t, b.pages)
	_, err = Read([]byte("x"))
	require.Error(t, err)
	// Where there is no directory to write to, the work is done again.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	q := PageOf(With(t.Context(), Open(filepath.Join(file, "below"))), "a")
	q.lastWrite, q.interval = time.Time{}, time.Hour
	q.Keep(1)
	require.Equal(t, time.Hour, q.interval)
	require.True(t, q.lastWrite.IsZero())
}
