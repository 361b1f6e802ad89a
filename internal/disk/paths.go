package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// CheckDistinct returns an error if a file that is to be written is also read, or written twice,
// by whatever name or link. Devices and pipes may be read and written.
func CheckDistinct(reads, writes []string) error {
	for i, out := range writes {
		for _, in := range reads {
			if Same(out, in) {
				if out == in {
					return fmt.Errorf("%s: is read, and would be written over; choose another name", out)
				}
				return fmt.Errorf("%s: is %s, which is read, and would be written over; choose another name", out, in)
			}
		}
		for _, other := range writes[:i] {
			if Same(out, other) || RealPath(out) == RealPath(other) {
				return fmt.Errorf("%s and %s are one file; give them names of their own", other, out)
			}
		}
	}
	return nil
}

// Same reports whether two paths lead to one regular file, or one directory.
func Same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil || !first.Mode().IsRegular() && !first.IsDir() {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// CheckLinks returns an error if one of the names in a directory is a symbolic link, since
// writing to it would replace a file elsewhere.
func CheckLinks(dir string, names ...string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if to, err := os.Readlink(path); err == nil {
			return fmt.Errorf("%s: is a link to %s, which would be written over; remove the link, or choose another directory", path, to)
		}
	}
	return nil
}

// RealPath returns an absolute path without links, "." and "..", as far as the path exists.
func RealPath(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for parent, suffix := path, ""; ; parent, suffix = filepath.Dir(parent), filepath.Join(filepath.Base(parent), suffix) {
		if realParent, err := filepath.EvalSymlinks(parent); err == nil || !os.IsNotExist(err) || parent == filepath.Dir(parent) {
			if err != nil {
				return path
			}
			return filepath.Join(realParent, suffix)
		}
	}
}
