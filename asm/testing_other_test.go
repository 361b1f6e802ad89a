//go:build !linux

package asm

import "testing"

// endOfPage returns plain slices where pages cannot be protected.
func endOfPage[T number](_ testing.TB, _ int) func(n int) []T {
	return func(n int) []T { return make([]T, n) }
}
