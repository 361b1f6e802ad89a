package pool

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The last value is remembered by its key, and errors are not.
func TestRecall(t *testing.T) {
	p := New(1)
	defer p.Close()
	made := 0
	compute := func() (any, error) { made++; return made, nil }
	for _, c := range []struct {
		key  any
		want int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"b", 2}, {"a", 3}, {1.0, 4}, {1, 5}, {1, 5}} {
		v, err := p.Recall(c.key, compute)
		require.NoError(t, err)
		require.Equal(t, c.want, v, "%v", c.key)
	}
	wrong := errors.New("wrong")
	_, err := p.Recall("c", func() (any, error) { return nil, wrong })
	require.ErrorIs(t, err, wrong)
	v, err := p.Recall("c", compute)
	require.NoError(t, err)
	require.Equal(t, 6, v)
}
