package disk

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// An Output is a file, pipe or device that a user has named. Commit completes it, and Cleanup
// gives it up. A file, which is Pending, does not appear before its Commit.
type Output interface {
	io.Writer
	Commit() error
	Cleanup() error
}

// A specialFile is a device or a pipe. Readers of a pipe see it end early when it is given up.
type specialFile struct{ *os.File }

func (s specialFile) Commit() error { return s.Close() }

func (s specialFile) Cleanup() error {
	_ = s.Close()
	return nil
}

// CreateOutput begins a file of size bytes, as Begin does. It opens a device or a pipe that
// exists at path for direct writes. It waits for a reader of a pipe until ctx ends.
func CreateOutput(ctx context.Context, path string, size int64) (Output, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		return openSpecial(ctx, path)
	}
	p, err := Begin(path, size)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Begin is Create of a file of size bytes, 0 if that is not known. It first removes temporary
// files of path that killed processes have left, and returns an error if the disk is too small.
func Begin(path string, size int64) (*Pending, error) {
	path, err := Follow(path)
	if err != nil {
		return nil, err
	}
	RemoveTemporary(filepath.Dir(path), filepath.Base(path))
	if err := checkSpace(path, size); err != nil {
		return nil, err
	}
	return Create(path)
}

func openSpecial(ctx context.Context, path string) (Output, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if ctx.Err() != nil && err == nil {
			_ = file.Close() // too late
		}
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		return specialFile{o.file}, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
