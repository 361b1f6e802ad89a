package asm

import "fmt"

func checkLengths(ok bool, what string) {
	if !ok {
		panic("asm: mismatched lengths in " + what)
	}
}

func panicIf(invalid bool, why string) {
	if invalid {
		panic("asm: " + why)
	}
}

func checkSame(kernel, arg string, have, need int) {
	if have != need {
		panic(lengthError(kernel, arg, have, need))
	}
}

func checkLen(kernel, arg string, have, need int) {
	if have < need {
		panic(lengthError(kernel, arg, have, need))
	}
}

func lengthError(kernel, arg string, have, need int) string {
	return fmt.Sprintf("asm: %s: %s has %d elements, needs %d", kernel, arg, have, need)
}
