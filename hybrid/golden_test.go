package hybrid

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

func TestGolden(t *testing.T) {
	for _, c := range []struct{ preset, want string }{
		{"paper", `
start 4345a25332b4
trained 43d467cfc1c2
states, refined by 0 5a7222d0ea54
states, refined by 3 c658afc4dcc3
x, refined by 0 db9a13ce432d
x, refined by 3 6a06da09346a`},
		{"best", `
start 0971db89fed0
trained b1d32aa2ec9f
states, refined by 0 b2d06f63adbc
states, refined by 3 cad8d72f134e
x, refined by 0 6b240dedf3d3
x, refined by 3 f638d764a37f
weighted, refined by 0 b95b40c1ce2d`},
	} {
		t.Run(c.preset, func(t *testing.T) { systemtest.Golden(t, small(t, c.preset), c.want) })
	}
}
