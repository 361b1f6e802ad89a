package batch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/ndjson"
)

// TestEndsOfRanges: a range ends where whole numbers and jobs do.
func TestEndsOfRanges(t *testing.T) {
	for text, want := range map[string]string{
		"18446744073709551614:18446744073709551616:1": `"18446744073709551614:18446744073709551616:1": 18446744073709551616 is beyond the whole numbers of 64 bits`,
		"-9223372036854775809:0:9223372036854775809":  `"-9223372036854775809:0:9223372036854775809": -9223372036854775809 is beyond the whole numbers of 64 bits`,
		"18446744073709551614:18446744073709551615:1": "",
	} {
		all, err := Axis(ndjson.Value{Kind: ndjson.String, Text: text})
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, "18446744073709551615", all[1].String())
			continue
		}
		require.EqualError(t, err, want)
	}
}
