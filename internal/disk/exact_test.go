package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// kindOf is the description of a file of some mode.
type kindOf struct {
	fs.FileInfo
	mode fs.FileMode
}

func (k kindOf) Mode() fs.FileMode { return k.mode }

// TestKindsOfFiles: what a file is that is no regular one.
func TestKindsOfFiles(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0: "", 0o644: "", fs.ModeDir | 0o755: "a directory", fs.ModeNamedPipe: "a pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDevice | fs.ModeCharDevice: "a device", fs.ModeIrregular: "a special file", fs.ModeSymlink: "a special file",
	} {
		err := checkRegular("p", kindOf{mode: mode})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, "p: is "+want+"; a regular file is needed")
		}
	}
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer l.Close()
	_, _, err = Open(filepath.Join(dir, "s"))
	require.ErrorContains(t, err, "s: is a socket; a regular file is needed")
	_, _, err = Open(filepath.Join(dir, "none"))
	require.EqualError(t, err, "open "+filepath.Join(dir, "none")+": no such file or directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("abc"), 0o600))
	file, size, err := Open(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
	require.NoError(t, file.Close())
}

// TestChainsOfLinks: as many links as the kernel follows, and one more.
func TestChainsOfLinks(t *testing.T) {
	dir := t.TempDir()
	in := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
	for n := range 41 {
		require.NoError(t, os.Symlink(fmt.Sprint(n), in(n+1)))
	}
	got, err := Follow(in(39))
	require.NoError(t, err)
	require.Equal(t, dir+"/0", filepath.Clean(got))
	_, err = Follow(in(40))
	require.ErrorIs(t, err, unix.ELOOP)
	require.ErrorContains(t, err, "open "+in(40))
	require.NoError(t, os.WriteFile(in(0), nil, 0o600))
	_, err = Follow(filepath.Join(in(0), "below"))
	require.ErrorIs(t, err, unix.ENOTDIR)
	for _, begin := range []func(string) error{
		func(path string) error { _, err := Create(path); return err }, func(path string) error { _, err := Begin(path, 1); return err },
		func(path string) error { _, err := CreateOutput(context.Background(), path, 1); return err }, func(path string) error { return Write(path, nil) },
		func(path string) error { return Publish(path, nil) }, func(path string) error { return WriteJSON(path, 1) },
	} {
		require.ErrorIs(t, begin(in(41)), unix.ELOOP)
	}
}

// TestCheckDistinct: files that are one, by whatever name.
func TestCheckDistinct(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("a"), nil, 0o600))
	require.NoError(t, os.Link(in("a"), in("hard")))
	require.NoError(t, os.Symlink("a", in("soft")))
	require.NoError(t, os.Mkdir(in("d"), 0o700))
	require.NoError(t, os.Symlink("d", in("e")))
	for _, c := range []struct {
		reads, writes []string
		want          string
	}{
		{[]string{in("a")}, []string{in("b")}, ""},
		{[]string{in("a")}, []string{in("a")}, in("a") + ": is read, and would be written over; choose another name"},
		{[]string{in("b"), in("a")}, []string{in("c"), in("hard")}, in("hard") + ": is " + in("a") + ", which is read, and would be written over; choose another name"},
		{[]string{in("soft")}, []string{in("a")}, in("a") + ": is " + in("soft") + ", which is read, and would be written over; choose another name"},
		{nil, []string{in("hard"), in("a")}, in("hard") + " and " + in("a") + " are one file; give them names of their own"},
		{nil, []string{in("d/x"), in("e/x")}, in("d/x") + " and " + in("e/x") + " are one file; give them names of their own"},
		{nil, []string{in("new"), in("./new")}, in("new") + " and " + in("./new") + " are one file; give them names of their own"},
		{nil, []string{in("new"), in("new2"), in("d/new")}, ""},
		{[]string{"/dev/null"}, []string{"/dev/null"}, ""},
	} {
		err := CheckDistinct(c.reads, c.writes)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	require.True(t, Same(in("d"), in("e")))
	require.False(t, Same(in("a"), in("d")))
	require.False(t, Same(in("none"), in("none")))
	require.False(t, Same(in("a"), in("none")))
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	for path, want := range map[string]string{in("e/x/y"): filepath.Join(real, "d/x/y"), in("soft"): filepath.Join(real, "a"), in("none/./x"): filepath.Join(real, "none/x"), "/": "/", in("a/below"): in("a/below")} {
		require.Equal(t, want, RealPath(path))
	}
	require.NoError(t, CheckLinks(dir, "a", "hard", "none"))
	require.EqualError(t, CheckLinks(dir, "a", "soft"), in("soft")+": is a link to a, which would be written over; remove the link, or choose another directory")
}

// TestWhoHoldsALock: the owner that the file names, where another has it, and what says that
// there are no locks.
func TestWhoHoldsALock(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "lock"))
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, flock(file))
	_, err = file.WriteString(`{"host":"h","process":7,"since":"2020-01-02T03:04:05Z"}`)
	require.NoError(t, err)
	_, err = Own(dir)
	since := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).Local().Format(time.DateTime)
	require.EqualError(t, err, dir+": in use by process 7 on h since "+since+"; wait until it ends, or choose another directory")
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, 7, held.Process)
	require.NoError(t, file.Close())
	lock, err := Own(dir)
	require.NoError(t, err, "the directory is not held by what could not have it")
	text, err := os.ReadFile(filepath.Join(dir, "lock"))
	require.NoError(t, err)
	require.Regexp(t, `^\{"host":".*","process":\d+,"since":"[^".]*"\}\n$`, string(text), "what stood there is gone")
	require.NoError(t, lock.Release())
	require.Zero(t, owner(filepath.Join(dir, "none")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "odd"), []byte("{"), 0o600))
	require.Zero(t, owner(filepath.Join(dir, "odd")))
	for _, err := range []error{unix.ENOTSUP, unix.ENOSYS, unix.ENOLCK, unix.EBADF, unix.EINVAL} {
		require.True(t, lacksLocks(err) && lacksLocks(fmt.Errorf("of: %w", err)))
	}
	for _, err := range []error{unix.EWOULDBLOCK, unix.EIO, nil} {
		require.False(t, lacksLocks(err))
	}
	_, err = Own(filepath.Join(dir, "odd"))
	require.EqualError(t, err, filepath.Join(dir, "odd")+": not a directory")
}

// TestOutputs: what is written to, and what is left of it.
func TestOutputs(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	path := filepath.Join(dir, "x")
	_, err := CreateOutput(ctx, dir, 1)
	require.EqualError(t, err, dir+" is a directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".x123"), nil, 0o600))
	o, err := CreateOutput(ctx, path, 3)
	require.NoError(t, err)
	require.IsType(t, &Pending{}, o)
	require.NoFileExists(t, filepath.Join(dir, ".x123"), "what a killed process left")
	_, err = o.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoFileExists(t, path)
	require.NoError(t, o.Commit())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "abc", string(text))
	o, err = CreateOutput(ctx, "/dev/null", 3)
	require.NoError(t, err)
	require.IsType(t, specialFile{}, o)
	require.NoError(t, o.Commit())
	require.Error(t, o.Commit(), "it is closed")
	require.NoError(t, o.Cleanup())
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = CreateOutput(cancelled, pipe, 3)
	require.ErrorIs(t, err, context.Canceled)
	late, err := os.OpenFile(pipe, os.O_RDONLY, 0) // for the one that waits, which closes what it opens
	require.NoError(t, err)
	require.NoError(t, late.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = late.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.NoError(t, late.Close())
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer reader.Close()
	o, err = CreateOutput(ctx, pipe, 3)
	require.NoError(t, err)
	require.NoError(t, o.Cleanup())
	_, err = o.Write([]byte("a"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, WriteJSON(path, map[string]int{"a": 1}))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "{\n  \"a\": 1\n}\n", string(text))
	require.Error(t, WriteJSON(path, func() {}))
	require.ErrorIs(t, SyncDir(filepath.Join(dir, "none")), fs.ErrNotExist)
	bad := errors.New("bad")
	for _, err := range []error{&fs.PathError{Op: "open", Path: "p", Err: bad}, &os.LinkError{Op: "rename", Err: bad}, bad, fmt.Errorf("of: %w", &fs.PathError{Err: bad})} {
		require.Equal(t, bad, Cause(err))
	}
	require.EqualError(t, Replace(path, func(io.Writer) error { return &fs.PathError{Op: "write", Path: "p", Err: bad} }, nil), "writing "+path+": bad")
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.NotEmpty(t, text)
}

// TestWayToTheDisk begins whenever as much as goes there at once has been written.
func TestWayToTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	p, err := Create(path)
	require.NoError(t, err)
	defer p.Cleanup()
	data := make([]byte, writebackLen)
	for _, c := range []struct{ n, started int64 }{{writebackLen - 1, 0}, {1, writebackLen}, {10, writebackLen}, {writebackLen, 2*writebackLen + 10}} {
		n, err := p.Write(data[:c.n])
		require.NoError(t, err)
		require.EqualValues(t, c.n, n)
		require.Equal(t, c.started, p.started)
	}
	require.EqualValues(t, 2*writebackLen+10, p.written)
}

// TestWritesThatFailLate: what was written leaves nothing where the disk or the name fails, and the old
// content stays.
func TestWritesThatFailLate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	require.NoError(t, Write(path, []byte("old")))
	var temporary string
	nothing := func() error { return nil }
	for want, c := range map[string]struct {
		write func(p *Pending) error
		ready func() error
	}{
		"file already closed":       {func(p *Pending) error { return p.File.Close() }, nothing},
		"no such file or directory": {func(*Pending) error { return nil }, func() error { return os.Remove(temporary) }},
	} {
		err := Replace(path, func(w io.Writer) error {
			temporary = w.(*Pending).Name()
			return c.write(w.(*Pending))
		}, c.ready)
		require.EqualError(t, err, "writing "+path+": "+want)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "old", string(text))
	}
	p, err := Create(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(p.Name()))
	require.ErrorIs(t, p.Commit(), fs.ErrNotExist)
	require.ErrorIs(t, p.File.Close(), os.ErrClosed)
}
