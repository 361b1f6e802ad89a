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
start e60d83065ebf
trained 930db74c95b4
states, refined by 0 8debb724be86
states, refined by 3 e2674e52de9f
x, refined by 0 7f2abb2ab98c
x, refined by 3 b25a48de06a0
weighted, refined by 0 5af3a1d88d04`},
	} {
		t.Run(c.preset, func(t *testing.T) { systemtest.Golden(t, small(t, c.preset), c.want) })
	}
}
