package ndjson

import (
	"math"
	"strconv"
)

// scan stores the numbers of a line that is a bare list, which may be nested. It reports false for
// a line that is no such list or does not fit the field: the other parsers read it, or report an
// error. It needs no tape, which costs some 25 ns for each number.
func (f *Field) scan(dst []byte, line []byte, maxDepth int) bool {
	n, depth, size := 0, 0, typeSizes[f.Type]
	i := skipBlanks(line, 0)
	for { // at the beginning of a value
		for i < len(line) && line[i] == '[' {
			if depth++; depth > maxDepth {
				return false
			}
			i = skipBlanks(line, i+1)
		}
		if depth == 0 || n == f.Count || i == len(line) {
			return false
		}
		if f.Type == Int8 {
			k := scanSigns(dst[n:f.Count-1], line[i:])
			n, i = n+k.numbers, skipBlanks(line, i+k.bytes)
			if i == len(line) || line[i] == '[' {
				continue
			}
		}
		if i = f.scanNumber(dst[n*size:], line, i); i < 0 {
			return false
		}
		n++
		i = skipBlanks(line, i)
		for i < len(line) && line[i] == ']' {
			i = skipBlanks(line, i+1)
			if depth--; depth == 0 {
				return i == len(line) && n == f.Count
			}
		}
		if i == len(line) || line[i] != ',' {
			return false
		}
		i = skipBlanks(line, i+1)
	}
}

// A signRun says how many numbers were stored, and how many bytes of the line they take with their
// commas.
type signRun struct{ numbers, bytes int }

// scanSigns stores numbers 1 and −1, each followed by a comma and at most one blank, as in most
// lists of Int8. It does not branch on the sign, which no processor can predict.
func scanSigns(dst []byte, line []byte) (s signRun) {
	i := 0
	for n := range dst {
		if i+3 > len(line) {
			break
		}
		c := line[i]
		minus := int(^c>>4) & 1 // 1 for '-' and 0 for '1', whose codes differ by 4
		digit := line[i+minus:]
		if (c^byte('1'-4*minus))|(digit[0]^'1')|(digit[1]^',') != 0 {
			break
		}
		dst[n] = byte(1 - 2*minus)
		if i += minus + 2; i < len(line) && line[i] == ' ' {
			i++
		}
		s = signRun{n + 1, i}
	}
	return s
}

func skipBlanks(line []byte, i int) int {
	for i < len(line) && line[i] <= ' ' && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r' || line[i] == '\n') {
		i++
	}
	return i
}

// powersOfTen are the powers of ten that float64 holds exactly.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// scanNumber stores the number at i and returns its end. It returns −1 if there is no number, or
// one that it leaves to the other parsers.
func (f *Field) scanNumber(dst []byte, line []byte, i int) int {
	start := i
	negative := line[i] == '-'
	if negative {
		i++
	}
	var mantissa uint64
	first := i
	for ; i < len(line) && line[i]-'0' <= 9; i++ {
		mantissa = 10*mantissa + uint64(line[i]-'0')
	}
	digits := i - first
	if digits == 0 || digits > 18 || digits > 1 && line[first] == '0' {
		return -1
	}
	if i == len(line) || line[i] != '.' && line[i]|0x20 != 'e' {
		integer := int64(mantissa)
		if negative {
			integer = -integer
		}
		if !f.store(dst, Int, uint64(integer)) {
			return -1
		}
		return i
	}
	exponent := 0
	if line[i] == '.' {
		point := i + 1
		for i++; i < len(line) && line[i]-'0' <= 9; i++ {
			mantissa = 10*mantissa + uint64(line[i]-'0')
		}
		if exponent = point - i; exponent == 0 {
			return -1
		}
		digits -= exponent
	}
	if i < len(line) && line[i]|0x20 == 'e' {
		i++
		negativeShift := false
		if i < len(line) && (line[i] == '-' || line[i] == '+') {
			negativeShift = line[i] == '-'
			i++
		}
		shift, first := 0, i
		for ; i < len(line) && line[i]-'0' <= 9; i++ {
			shift = 10*shift + int(line[i]-'0')
		}
		if i == first || i-first > 3 || mantissa == 0 {
			return -1
		}
		if negativeShift {
			shift = -shift
		}
		exponent += shift
	}
	var x float64
	if digits <= 18 && mantissa < 1<<53 && exponent >= -22 && exponent <= 22 {
		// Mantissa and power are exact, so that the quotient or product is rounded once.
		x = float64(mantissa)
		if exponent < 0 {
			x /= powersOfTen[-exponent]
		} else {
			x *= powersOfTen[exponent]
		}
		if negative {
			x = -x
		}
	} else {
		var err error
		if x, err = strconv.ParseFloat(string(line[start:i]), 64); err != nil || x == 0 {
			return -1
		}
	}
	if !f.store(dst, Float, math.Float64bits(x)) {
		return -1
	}
	return i
}
