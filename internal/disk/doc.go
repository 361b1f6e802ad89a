// Package disk reads and writes the program's own files so that nothing is
// lost and nothing foreign is waited for: files appear under their names whole
// or not at all and are on the disk when the call returns; only regular files
// of a sensible size are read; and a lock says who owns a directory.
package disk
