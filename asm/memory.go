package asm

import "unsafe"

// Bytes returns the memory of a slice, whose elements hold no pointers, as bytes
// in the machine's order.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// floatWords returns the memory of numbers as words.
func floatWords(x []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

const cacheLine = 64

// aligned returns the part of x from the first cache line that begins in it. A vector that
// straddles two lines costs two accesses.
func aligned[T float32 | uint32 | uint64](x []T) []T {
	return x[-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%cacheLine/unsafe.Sizeof(x[0]):]
}
