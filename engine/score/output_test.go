package score

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestHeaderOfCSV: names of columns, which a target may choose, are one cell each, and no
// formula of a spreadsheet.
func TestHeaderOfCSV(t *testing.T) {
	var b bytes.Buffer
	workers := pool.New(1)
	defer workers.Close()
	o, err := NewOutput(&b, "csv", []string{"energy", "=1+1", "a,b"}, -1, workers)
	require.NoError(t, err)
	require.NoError(t, o.WriteRows([]float64{1, -2, 3}))
	require.Equal(t, "energy,'=1+1,\"a,b\"\n1,-2,3\n", b.String())
}
