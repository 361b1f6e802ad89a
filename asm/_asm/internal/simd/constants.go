package simd

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A Pool is a read-only section of vector constants without duplicates.
type Pool struct {
	section Mem
	size    int
	entries map[string]Mem
}

// NewPool returns a pool in a section of its own.
func NewPool(name string) *Pool {
	return &Pool{section: GLOBL(name, RODATA|NOPTR), entries: map[string]Mem{}}
}

// Number returns one float32, to be broadcast.
func (p *Pool) Number(value float64) Mem { return p.Vector32(math.Float32bits(float32(value))) }

// Vector32 returns a vector of 32-bit integers.
func (p *Pool) Vector32(values ...uint32) Mem {
	key := fmt.Sprint(values)
	if m, ok := p.entries[key]; ok {
		return m
	}
	m := p.section.Offset(p.size)
	for _, v := range values {
		DATA(p.size, U32(v))
		p.size += 4
	}
	p.entries[key] = m
	return m
}

// Vector64 returns a vector of 64-bit integers.
func (p *Pool) Vector64(values ...uint64) Mem {
	halves := make([]uint32, 0, 2*len(values))
	for _, v := range values {
		halves = append(halves, uint32(v), uint32(v>>32))
	}
	return p.Vector32(halves...)
}
