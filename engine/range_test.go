package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSampleRange(t *testing.T) {
	for _, c := range []struct {
		first, n uint64
		refine   int
		want     string
	}{
		{0, 100, 0, ""}, {99, 1, 5, ""}, {100, 0, 0, ""},
		{0, 101, 0, "number: samples 0 to 100 are not all among the 100 of a seed"},
		{99, 2, 0, "number: samples 99 to 100 "}, {101, 0, 0, "number: "},
		{1, math.MaxUint64, 0, "number: "}, {math.MaxUint64 - 1, 5, 0, "number: samples 18446744073709551614 to 18446744073709551615 are"},
		{0, 1, 6, "refine: 6 is not between 0 and 5"}, {0, 1, -1, "refine: -1 "},
	} {
		err := SampleRange(c.first, 100, c.n, c.refine, 5)
		if c.want == "" {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorContains(t, err, c.want, "%+v", c)
		}
	}
}
