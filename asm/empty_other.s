//go:build !amd64 || purego

// The compiler lets a package declare functions without bodies if it has a file of assembly.
