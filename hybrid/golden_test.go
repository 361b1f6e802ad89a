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
		{"moves", `
start cd8258e1c38b
trained 58bc8890042e
states, refined by 0 199dbf5a7e3e
states, refined by 3 d871ec0f4de6
x, refined by 0 0962f7c6df42
x, refined by 3 6c9d8abc50c9`},
	} {
		t.Run(c.preset, func(t *testing.T) { systemtest.Golden(t, small(t, c.preset), c.want) })
	}
}
