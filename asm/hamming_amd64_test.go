//go:build !purego

package asm

// withoutVPOPCNTDQ runs f as on a CPU that has AVX-512 but does not count bits
// in vector lanes.
func withoutVPOPCNTDQ(f func()) {
	before := hasVPOPCNTDQ
	hasVPOPCNTDQ = false
	defer func() { hasVPOPCNTDQ = before }()
	f()
}
