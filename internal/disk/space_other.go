//go:build !linux

package disk

// checkSpace reports that a file of n bytes cannot be written beside path, where that is
// known beforehand: nowhere but on Linux.
func checkSpace(string, int64) error { return nil }
