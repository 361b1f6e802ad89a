// Package crash makes a panic an error that says where it happened, wherever it
// is caught in the end. A panic that nobody catches would end the process with the exit
// code of wrong usage; one raised again on another goroutine would lose its place.
package crash

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// A Panic is a mistake in the program, and not in its use.
type Panic struct {
	Value any
	Place string // "engine/nn/mlp.go:36", within the module; "" where it cannot be told
}

func (p *Panic) Error() string {
	if p.Place == "" {
		return fmt.Sprint(p.Value)
	}
	return fmt.Sprintf("%v (%s)", p.Value, p.Place)
}

// Must returns a value where an error would be a mistake in the program: of arguments that
// are constants, say.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Catch calls f and returns its error, or its panic as a *Panic.
func Catch(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Recovered(v)
		}
	}()
	return f()
}

// Recovered returns what recover did, with its place. It must be called in the
// function that recovered. What has a place keeps it.
func Recovered(v any) *Panic {
	if p, ok := v.(*Panic); ok {
		return p
	}
	return &Panic{v, place()}
}

// module is that of this program.
const module = "github.com/revgen/revgen"

// place is the innermost of the module's functions that panicked.
func place() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for raised := false; ; {
		f, more := frames.Next()
		if raised && strings.HasPrefix(f.Function, module) {
			return fmt.Sprintf("%s:%d", path.Join(folder(f.Function), path.Base(f.File)), f.Line)
		}
		raised = raised || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// folder returns that of the package of one of the module's functions, whose
// name is like "github.com/revgen/revgen/engine/nn.(*MLP).Forward".
func folder(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return strings.TrimPrefix(strings.TrimPrefix(function[:slash]+name, module), "/")
}
