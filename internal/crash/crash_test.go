package crash

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatch(t *testing.T) {
	failed := errors.New("failed")
	require.ErrorIs(t, Catch(func() error { return failed }), failed)
	require.NoError(t, Catch(func() error { return nil }))

	var none []int
	_, _, line, _ := runtime.Caller(0)
	causes := []func(){
		func() { panic("wrong") }, // two lines below that call
		func() { panic(failed) },
		func() { none[3]++ },
		func() { none = slices.Grow(none, -1) }, // the place is not in the library
	}
	for i, want := range []string{
		"wrong", "failed", "runtime error: index out of range [3] with length 0", "cannot be negative",
	} {
		err := Catch(func() error { causes[i](); return nil })
		var p *Panic
		require.ErrorAs(t, err, &p)
		// What is raised again, on whatever goroutine, keeps its place.
		again := make(chan error)
		go func() { again <- Catch(func() error { panic(p) }) }()
		require.Same(t, p, <-again)
		require.EqualError(t, err, fmt.Sprintf("%s (internal/crash/crash_test.go:%d)", want, line+2+i))
	}
	require.EqualError(t, &Panic{Value: 7}, "7")
}

func TestFolder(t *testing.T) {
	for function, want := range map[string]string{
		module + "/engine/nn.(*MLP).Forward": "engine/nn", module + ".Train": "", module + "/engine/nn.lanes[...].func1": "engine/nn",
	} {
		require.Equal(t, want, folder(function))
	}
}

func TestMust(t *testing.T) {
	require.Equal(t, 3, Must(3, nil))
	failed := errors.New("failed")
	require.PanicsWithValue(t, failed, func() { Must(3, failed) })
	require.Equal(t, &Panic{Value: 3}, Recovered(3), "nothing has panicked")
}
