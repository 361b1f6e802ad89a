//go:build !amd64 || purego

package asm

func withoutVPOPCNTDQ(f func()) { f() }
