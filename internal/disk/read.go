package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a regular file for reading and returns its size. Pipes and
// devices, which may never end or never begin, are refused without waiting.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: Cause(err)}
	}
	if err := checkRegular(path, info); err != nil {
		return nil, 0, err
	}
	// The file may have become a pipe since; O_NONBLOCK does not wait for it.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	if info, err = file.Stat(); err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	file, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, lengthError(path, limit)
	}
	// A file may grow, and files of /proc have size 0.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = lengthError(path, limit)
	}
	return data, err
}

func lengthError(path string, limit int64) error {
	return fmt.Errorf("%s: longer than %d bytes, which such a file never is", path, limit)
}

func checkRegular(path string, info fs.FileInfo) error {
	kind := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "a special file"
	}
	return fmt.Errorf("%s: is %s; a regular file is needed", path, kind)
}
