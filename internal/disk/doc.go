// Package disk reads and writes the program's own files so that nothing is lost
// and no call waits for a pipe or a device. Files appear under their names whole
// or not at all, and are on the disk when the call returns. Only regular files
// of a sensible size are read. A lock says who owns a directory.
package disk
