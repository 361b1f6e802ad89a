// Package crash turns a panic into an error that says where it happened. A panic that
// nobody catches would end the process with the exit code of wrong usage. One that is raised
// again on another goroutine would lose its place.
package crash

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// A Panic is the error of a mistake in the program, not in its use.
type Panic struct {
	Value any
	Place string // within the module, like "engine/nn/mlp.go:36"; "" if unknown
}

func (p *Panic) Error() string {
	if p.Place == "" {
		return fmt.Sprint(p.Value)
	}
	return fmt.Sprintf("%v (%s)", p.Value, p.Place)
}

// Must returns the value of a call whose error would be a mistake in the program, because its arguments
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

// Recovered returns the panic with the value v of recover. It must be called in the function that
// recovered. A Panic that is raised again keeps its place.
func Recovered(v any) *Panic {
	if p, ok := v.(*Panic); ok {
		return p
	}
	return &Panic{v, place()}
}

// module is the path of this module.
const module = "github.com/revgen/revgen"

// place returns the line of the innermost of the module's functions that panicked.
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

// folder returns the folder of a function of the module, whose name is like
// "github.com/revgen/revgen/engine/nn.(*MLP).Forward".
func folder(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return strings.TrimPrefix(strings.TrimPrefix(function[:slash]+name, module), "/")
}
