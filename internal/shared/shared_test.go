package shared_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/shared"
)

func TestCacheKeepsTheLast(t *testing.T) {
	var c shared.Cache[int, int]
	computed := 0
	get := func(key int) {
		require.Equal(t, key*key, c.Get(key, func() int { computed++; return key * key }))
	}
	for range 2 {
		for key := range 8 {
			get(key)
		}
	}
	require.Equal(t, 8, computed)
	get(0) // the one asked for last
	get(8) // in place of 1
	get(0)
	require.Equal(t, 9, computed)
	get(1) // in place of 2
	for key := 3; key < 9; key++ {
		get(key)
	}
	require.Equal(t, 10, computed)
}

// TestCacheComputesOnce: whoever asks while a value is computed waits for it, and
// those who ask for others do not.
func TestCacheComputesOnce(t *testing.T) {
	var c shared.Cache[string, *int]
	var computed atomic.Int32
	begun, proceed := make(chan bool), make(chan bool)
	var all sync.WaitGroup
	values := make([]*int, 8)
	for i := range values {
		all.Go(func() {
			values[i] = c.Get("slow", func() *int {
				computed.Add(1)
				close(begun)
				<-proceed
				return new(int)
			})
		})
	}
	<-begun
	require.NotNil(t, c.Get("fast", func() *int { return new(int) }))
	close(proceed)
	all.Wait()
	require.EqualValues(t, 1, computed.Load())
	for _, v := range values {
		require.Same(t, values[0], v)
	}
}

// TestOnce: what is computed is kept, and errors are not.
func TestOnce(t *testing.T) {
	var o shared.Once[int]
	wrong, computed := errors.New("wrong"), 0
	_, err := o.Get(func() (*int, error) { return nil, wrong })
	require.Equal(t, wrong, err)
	for range 3 {
		v, err := o.Get(func() (*int, error) { computed++; return &computed, nil })
		require.NoError(t, err)
		require.Same(t, &computed, v)
	}
	require.Equal(t, 1, computed)
}

// TestMaxKept: a cache keeps as many values as it is told.
func TestMaxKept(t *testing.T) {
	c := shared.Cache[int, int]{MaxKept: 2}
	computed := 0
	for _, key := range []int{1, 2, 1, 3, 1, 3, 2} { // 3 in place of 2, and 2 of 1
		c.Get(key, func() int { computed++; return key })
	}
	require.Equal(t, 4, computed)
}
