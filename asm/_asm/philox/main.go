// Command philox generates the kernels of the Philox 4x32-10 streams: blocks,
// uniforms, standard normals and comparisons of binary digits.
//
// A set of blocks is one vector register per word, one block to a lane of 64
// bits with the word in its low half. VPMULUDQ reads low halves only, so a
// round is, for the words x0 … x3 with keys k0 and k1,
//
//	p0 = x0·M0, p1 = x2·M1                    two multiplications,
//	x0 = p1>>32 ^ x1 ^ k0, x1 = p1,           two shifts,
//	x2 = p0>>32 ^ x3 ^ k1, x3 = p0            two three-way XORs,
//
// and never clears the upper halves. All blocks of a call share x1, x2 and x3, of
// which the first two rounds leave something behind: in the first three, the
// schedule holds in place of a key what the key and words in common combine to.
// The six instructions of a round wait for
// one another, so a group of several sets advances together. Every kernel takes
// whole groups.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

const (
	rounds      = 10
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
)

// A path is an instruction set.
type path struct {
	*ISA
	sets int // registers per word of a group

	key   [2]VecVirtual // of the round, with AVX2
	pause func()        // called between the parts of a transform
}

var (
	avx512 = &path{ISA: AVX512, sets: 4}
	avx2   = &path{ISA: AVX2, sets: 2}
)

// group returns the number of words in a group.
func (p *path) group() int { return p.sets * p.Bytes / 2 }

// breathe marks a place where other instructions may be put in between.
func (p *path) breathe() {
	if p.pause != nil {
		p.pause()
	}
}

var constants = NewPool("philoxConstants")

func main() {
	ConstraintExpr("amd64,!purego")
	for _, p := range []*path{avx512, avx2} {
		p.kernel("philoxBlocks", inOrder, p.interleave64)
		p.kernel("uniforms", inOrder, func() func(a, b VecVirtual) [2]VecVirtual {
			interleave, scale := p.interleave64(), p.Vector()
			VBROADCASTSS(constants.Number(1.0/(1<<23)), scale)
			return func(a, b VecVirtual) [2]VecVirtual {
				y := interleave(a, b)
				for _, v := range y {
					VPSRLD(Imm(9), v, v)
					VCVTDQ2PS(v, v)
					p.multiplyAdd(v, scale, 1.0/(1<<24))
				}
				return y
			}
		})
	}
	avx512.pipelinedNormals()
	avx2.kernel("normals", radiusAndAngle, avx2.boxMuller)
	Generate()
}

// A pairing says which words of a block share a lane of 64 bits after the last
// round.
type pairing [2][2]int

var (
	inOrder        = pairing{{0, 1}, {2, 3}}
	radiusAndAngle = pairing{{0, 2}, {1, 3}}
)

// kernel emits a function that fills dst group by group. Output is called
// once, before the loop, to set up constants; the function that it returns
// turns the two pairs of words of a set of blocks into two vectors of results.
func (p *path) kernel(name string, pairs pairing, output func() func(a, b VecVirtual) [2]VecVirtual) {
	p.Kernel(name, "func(dst []uint32, first uint64, s *[20]uint32)",
		fmt.Sprintf("is %sGeneric for a multiple of %d elements.", name, p.group()))
	to, n, first, s := Address("dst"), Length("dst"), Number("first"), Number("s")
	m0, m1 := p.broadcast32(multiplier0), p.broadcast32(multiplier1)
	odd := p.oddLanes()
	finish := output()

	JMP(LabelRef("next"))
	Label("group")
	words := p.counters(first)
	for round := range rounds {
		for i := range words {
			p.round(round, &words[i], m0, m1, p.keys(s, round, i))
		}
	}
	for i := range words {
		p.pairs(&words[i], pairs, odd)
	}
	for i, x := range words {
		for j, y := range finish(x[pairs[0][0]], x[pairs[1][0]]) {
			VMOVUPS(y, Mem{Base: to, Disp: (2*i + j) * p.Bytes})
		}
	}
	ADDQ(U32(4*p.group()), to)
	SUBQ(U32(p.group()), n)
	Label("next")
	CMPQ(n, U32(p.group()))
	JGE(LabelRef("group"))
	Leave()
}

// A words holds one word of each block of a set in each register.
type words [4]VecVirtual

// counters returns the counters of a group, of which only the first word differs
// from block to block, and advances first.
func (p *path) counters(first Register) []words {
	group := make([]words, p.sets)
	for i := range group {
		group[i][0] = p.Vector()
		VPBROADCASTQ(p.asVector(first), group[i][0])
		VPADDQ(p.lanes(uint64(i*p.Bytes/8)), group[i][0], group[i][0])
	}
	ADDQ(Imm(uint64(p.sets*p.Bytes/8)), first)
	return group
}

// keys returns the keys of a round for set i: broadcast once for all sets with
// AVX2, by each instruction with AVX-512.
func (p *path) keys(s Register, round, i int) [2]Op {
	key := Mem{Base: s, Disp: 8 * round}
	if p.Wide() {
		return [2]Op{key, key.Offset(4)}
	}
	if i == 0 {
		p.key = [2]VecVirtual{p.Vector(), p.Vector()}
		VPBROADCASTD(key, p.key[0])
		VPBROADCASTD(key.Offset(4), p.key[1])
	}
	return [2]Op{p.key[0], p.key[1]}
}

// round applies one round to a set.
func (p *path) round(number int, x *words, m0, m1 VecVirtual, k [2]Op) {
	// multiply makes the product of a word, and of its upper half a new one.
	multiply := func(m, x VecVirtual) VecVirtual {
		h := p.Vector()
		VPMULUDQ(m, x, x)
		VPSRLQ(Imm(32), x, h)
		return h
	}
	switch number {
	case 0:
		h0 := multiply(m0, x[0])
		p.xor(k[1], h0)
		*x = words{nil, nil, h0, x[0]}
		return
	case 1:
		h1 := multiply(m1, x[2])
		p.xor(k[0], h1)
		p.xor(k[1], x[3])
		*x = words{h1, x[2], x[3], nil}
		return
	}
	h0, h1 := p.Vector(), p.Vector()
	VPMULUDQ(m0, x[0], x[0])
	VPMULUDQ(m1, x[2], x[2])
	VPSRLQ(Imm(32), x[2], h1)
	VPSRLQ(Imm(32), x[0], h0)
	p.xor3(k[0], x[1], h1)
	if number == 2 {
		p.xor(k[1], h0)
	} else {
		p.xor3(k[1], x[3], h0)
	}
	*x = words{h1, x[2], h0, x[0]}
}

// xor combines a key with x.
func (p *path) xor(key Op, x VecVirtual) {
	if p.Wide() {
		VPXORD_BCST(key, x, x)
	} else {
		VPXOR(key, x, x)
	}
}

// xor3 combines a key and a word, which it may use up, with x.
func (p *path) xor3(key Op, word, x VecVirtual) {
	if p.Wide() {
		VPTERNLOGD_BCST(Imm(0x96), key, word, x)
		return
	}
	VPXOR(key, word, word)
	VPXOR(word, x, x)
}

// pairs joins the words that share a lane.
func (p *path) pairs(x *words, pairs pairing, odd Register) {
	for _, pair := range pairs {
		p.pair(x[pair[0]], x[pair[1]], odd)
	}
}

// oddLanes returns a mask of the odd lanes of 32 bits.
func (p *path) oddLanes() Register {
	if !p.Wide() {
		return nil
	}
	r, k := GP32(), K()
	MOVL(U32(0xAAAA), r)
	KMOVW(r, k)
	return k
}

// pair puts the low halves of odd into the upper halves of even.
func (p *path) pair(even, odd VecVirtual, lanes Register) {
	if p.Wide() {
		VPSHUFD(Imm(0xA0), odd, lanes, even)
		return
	}
	VPSLLQ(Imm(32), odd, odd)
	VPBLENDD(Imm(0xAA), odd, even, even)
}

// interleave64 returns a function that merges the lanes of 64 bits of two
// vectors alternately.
func (p *path) interleave64() func(a, b VecVirtual) [2]VecVirtual {
	orders := [2]Mem{constants.Vector64(0, 8, 1, 9, 2, 10, 3, 11), constants.Vector64(4, 12, 5, 13, 6, 14, 7, 15)}
	return p.interleave(orders, VMOVDQA64, VPERMT2Q, VPUNPCKLQDQ, VPUNPCKHQDQ)
}

// interleave32 is interleave64 for lanes of 32 bits.
func (p *path) interleave32() func(a, b VecVirtual) [2]VecVirtual {
	orders := [2]Mem{constants.Vector32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), constants.Vector32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)}
	return p.interleave(orders, VMOVAPS, VPERMT2PS, VUNPCKLPS, VUNPCKHPS)
}

func (p *path) interleave(orders [2]Mem, move, permute func(...Op), unpackLow, unpackHigh func(...Op)) func(a, b VecVirtual) [2]VecVirtual {
	if p.Wide() {
		low, high := p.Vector(), p.Vector()
		VMOVDQU64(orders[0], low)
		VMOVDQU64(orders[1], high)
		return func(a, b VecVirtual) [2]VecVirtual {
			first := p.Vector()
			move(a, first)
			permute(b, low, first)
			permute(b, high, a)
			return [2]VecVirtual{first, a}
		}
	}
	return func(a, b VecVirtual) [2]VecVirtual {
		low, high := p.Vector(), p.Vector()
		unpackLow(b, a, low)
		unpackHigh(b, a, high)
		return p.joinHalves(low, high)
	}
}

// joinHalves returns the lower halves of two YMM registers and their upper
// halves.
func (p *path) joinHalves(a, b VecVirtual) [2]VecVirtual {
	upper := p.Vector()
	VPERM2I128(Imm(0x31), b, a, upper)
	VPERM2I128(Imm(0x20), b, a, a)
	return [2]VecVirtual{a, upper}
}

func (p *path) asVector(r Register) VecVirtual {
	x := XMM()
	VMOVQ(r, x)
	return x
}

func (p *path) broadcast32(value uint32) VecVirtual {
	v := p.Vector()
	VPBROADCASTD(constants.Vector32(value), v)
	return v
}

// lanes returns the vector from, from+1, … of 64-bit integers.
func (p *path) lanes(from uint64) Mem {
	values := make([]uint64, p.Bytes/8)
	for i := range values {
		values[i] = from + uint64(i)
	}
	return constants.Vector64(values...)
}

// apply emits a three-operand instruction whose first operand is a constant in
// all lanes of 32 bits: an embedded broadcast with AVX-512, a whole vector in
// memory without.
func (p *path) apply(op, broadcasting func(...Op), value uint32, rest ...Op) {
	if p.Wide() {
		broadcasting(append([]Op{constants.Vector32(value)}, rest...)...)
		return
	}
	op(append([]Op{constants.Vector32(value, value, value, value, value, value, value, value)}, rest...)...)
}

// applyNumber is apply for a number.
func (p *path) applyNumber(op, broadcasting func(...Op), value float64, rest ...Op) {
	p.apply(op, broadcasting, math.Float32bits(float32(value)), rest...)
}
