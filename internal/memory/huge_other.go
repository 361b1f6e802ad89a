//go:build !linux

package memory

// Huge asks for large pages where that is possible.
func Huge([]byte) {}
