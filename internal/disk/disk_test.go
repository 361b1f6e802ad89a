package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/revgen/revgen/internal/long"
)

func TestReadWantsRegularFilesOfASensibleSize(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(pipe, link))
	for path, want := range map[string]string{
		pipe: "is a pipe; a regular file is needed", link: "is a pipe", dir: "is a directory",
		"/dev/zero": "is a device", "/dev/tty": "is a device",
	} {
		_, err := Read(path, 10) // and does not wait
		require.ErrorContains(t, err, path+": "+want)
	}
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	data, err := Read(path, 10)
	require.NoError(t, err)
	require.Equal(t, "0123456789", string(data))
	_, err = Read(path, 9)
	require.ErrorContains(t, err, path+": longer than 9 bytes")
	_, err = Read("/proc/self/maps", 10) // which has no size
	require.ErrorContains(t, err, "longer than 10 bytes")
	_, err = Read(filepath.Join(dir, "none"), 9)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "open ")
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.Symlink("a/b", filepath.Join(dir, "in")))
	require.NoError(t, os.Symlink("in/../file", filepath.Join(dir, "chain")))
	require.NoError(t, os.Symlink("chain", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	got, err := Follow(filepath.Join(dir, "link"))
	require.NoError(t, err)
	require.NoError(t, Write(filepath.Join(dir, "link"), []byte("x")))
	data, err := os.ReadFile(filepath.Join(dir, "a", "file"))
	require.NoError(t, err, "%s: a/b/.. is a", got)
	require.Equal(t, "x", string(data))
	for _, name := range []string{"link", "chain"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, "%s stays a link", name)
	}
	_, err = Follow(filepath.Join(dir, "loop"))
	require.ErrorIs(t, err, unix.ELOOP)
}

func TestWriteLeavesNothingBeside(t *testing.T) {
	elsewhere, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", elsewhere)
	path := filepath.Join(dir, "file")
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	temp, err := Create(path)
	require.NoError(t, err)
	require.Equal(t, dir, filepath.Dir(temp.Name()), "a temporary file is beside its target")
	info, err := temp.Stat()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the umask holds while it is written")
	require.NoError(t, temp.Commit())
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, Write(path, []byte("new")))
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "modes that somebody chose stay")

	failed := errors.New("not now")
	require.ErrorIs(t, Replace(path, func(w io.Writer) error { _, err := w.Write([]byte("newer")); return err }, func() error { return failed }), failed)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	for _, d := range []string{dir, elsewhere} {
		entries, err := os.ReadDir(d)
		require.NoError(t, err)
		require.Len(t, entries, map[string]int{dir: 1, elsewhere: 0}[d])
	}
	require.EqualError(t, Write(filepath.Join(dir, "none", "file"), nil), "writing "+filepath.Join(dir, "none", "file")+": no such file or directory")
}

func TestPublishLeavesNothingBeside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Publish(path, []byte("old")))
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, Publish(filepath.Join(dir, "link"), []byte("new")))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "modes that somebody chose stay")

	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.Mkdir(taken, 0o700))
	require.EqualError(t, Publish(taken, nil), "writing "+taken+": file exists")
	none := filepath.Join(dir, "none", "file")
	require.EqualError(t, Publish(none, nil), "writing "+none+": no such file or directory")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

// TestLongFilesAreWhole writes more than goes to the disk at once.
func TestLongFilesAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	data := make([]byte, 2*writebackLen+writebackLen/2)
	for i := range data {
		data[i] = byte(i >> 10)
	}
	require.NoError(t, Replace(path, func(w io.Writer) error {
		for rest := data; len(rest) > 0; rest = rest[min(len(rest), 1<<20+1):] {
			if _, err := w.Write(rest[:min(len(rest), 1<<20+1)]); err != nil {
				return err
			}
		}
		return nil
	}, func() error { return nil }))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
}

func TestRemoveTemporaryRemovesWhatIsNotBeingWritten(t *testing.T) {
	dir := t.TempDir()
	live, err := Create(filepath.Join(dir, "x.npy"))
	require.NoError(t, err)
	defer live.Cleanup()
	for _, name := range []string{".x.npy123", ".x.npy", ".x.npy12a", ".y.npy123", "x.npy123"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	RemoveTemporary(dir, "x.npy", "model.rvg")
	RemoveTemporary(filepath.Join(dir, "none"), "x.npy")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.ElementsMatch(t, []string{".x.npy", ".x.npy12a", ".y.npy123", "x.npy123", filepath.Base(live.Name())}, names)
	require.NoError(t, live.Commit())
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	require.NoError(t, os.WriteFile(path, []byte(`{"host":"gone","process":7}`), 0o600), "what a killed process left")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".file12"), nil, 0o600))
	first, err := Own(dir, "file")
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, ".file12"))
	host, err := os.Hostname()
	require.NoError(t, err)
	var o Owner
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &o))
	require.Equal(t, host, o.Host)
	require.Equal(t, os.Getpid(), o.Process)

	_, err = Own(dir)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, o.Process, held.Process)
	require.Equal(t, host, held.Host)
	require.NoError(t, first.Release())
	require.NoFileExists(t, path)
	second, err := Own(dir)
	require.NoError(t, err)
	require.NoError(t, second.Release())
	var none *Lock
	require.NoError(t, none.Release())

	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err = Own(dir)
	require.ErrorContains(t, err, "is a pipe")
	_, err = Own(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The file can be removed from under the owner of a directory, and the directory not.
func TestLockOutlivesItsFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	first, err := Own(dir)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	_, err = Own(dir)
	require.EqualError(t, err, dir+": in use by another process; wait until it ends, or choose another directory")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, first.Release())
	require.FileExists(t, path, "which is somebody else's")
	second, err := Own(dir)
	require.NoError(t, err)
	require.NoError(t, second.Release())
}

// Links in a directory lead out of it, and are refused at once, wherever they lead.
func TestLockFollowsNoLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("theirs"), 0o600))
	for _, name := range []string{"lock", "journal.ndjson"} {
		for _, to := range []string{outside, "nowhere", name} {
			dir := t.TempDir()
			require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
			_, err := Own(dir, "journal.ndjson")
			require.ErrorContains(t, err, dir+": "+name+" is a symbolic link; ")
		}
	}
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "theirs", string(text))
	link := filepath.Join(t.TempDir(), "link")
	dir := t.TempDir()
	require.NoError(t, os.Symlink(dir, link))
	lock, err := Own(link)
	require.NoError(t, err, "a link that leads to the directory is followed")
	require.FileExists(t, filepath.Join(dir, "lock"))
	require.NoError(t, lock.Release())
}

// One of many that want the lock at once has it at a time, though its file
// comes and goes.
func TestLockIsExclusive(t *testing.T) {
	long.SkipShort(t)
	dir := t.TempDir()
	inside := make(chan struct{}, 1)
	done := make(chan error)
	const many, times = 8, 10
	for range many {
		go func() {
			for n := 0; n < times; {
				lock, err := Own(dir)
				var held *HeldError
				if errors.As(err, &held) {
					continue
				}
				if err != nil {
					done <- err
					return
				}
				select {
				case inside <- struct{}{}:
				default:
					done <- errors.New("two have the lock")
					return
				}
				<-inside
				if err := lock.Release(); err != nil {
					done <- err
					return
				}
				n++
			}
			done <- nil
		}()
	}
	for range many {
		require.NoError(t, <-done)
	}
}

func TestOutputsAreWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	only := func(names ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		var found []string
		for _, e := range entries {
			found = append(found, e.Name())
		}
		require.Equal(t, names, found)
	}
	w, err := CreateOutput(t.Context(), path, 4)
	require.NoError(t, err)
	_, err = w.Write([]byte("abc"))
	require.NoError(t, err)
	require.NoFileExists(t, path)
	require.NoError(t, w.Cleanup())
	only()

	w, err = CreateOutput(t.Context(), path, 4)
	require.NoError(t, err)
	_, err = w.Write([]byte("abcd"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	require.NoError(t, w.Cleanup())
	only("a")
	old, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	mask := unix.Umask(0)
	unix.Umask(mask)
	require.Equal(t, os.FileMode(0o644&^mask), info.Mode().Perm())

	w, err = CreateOutput(t.Context(), path, 4)
	require.NoError(t, err)
	_, err = w.Write([]byte("ef"))
	require.NoError(t, err)
	require.NoError(t, w.Cleanup())
	only("a")
	same, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, old, same)

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(path, link))
	w, err = CreateOutput(t.Context(), link, 4)
	require.NoError(t, err)
	_, err = w.Write([]byte("efgh"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	only("a", "link")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(data, []byte("efgh")))
	_, err = os.Readlink(link)
	require.NoError(t, err)

	_, err = CreateOutput(t.Context(), dir, 4)
	require.ErrorContains(t, err, "is a directory")
	_, err = CreateOutput(t.Context(), filepath.Join(dir, "none", "a"), 4)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOutputsToPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o600))
	read := make(chan []byte)
	go func() {
		b, _ := os.ReadFile(path)
		read <- b
	}()
	w, err := CreateOutput(t.Context(), path, 2)
	require.NoError(t, err)
	_, err = w.Write([]byte("xy"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	b := <-read
	require.True(t, bytes.HasSuffix(b, []byte("xy")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type(), "the pipe is still one")
}

// A file that no disk holds is refused before anything is written.
func TestOutputWithoutRoom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the room on a disk is known on Linux alone")
	}
	dir := t.TempDir()
	_, err := CreateOutput(t.Context(), filepath.Join(dir, "x"), 1<<61)
	require.ErrorIs(t, err, unix.ENOSPC)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
