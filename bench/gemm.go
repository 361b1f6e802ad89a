package bench

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

var gemmSuite = Suite{
	Name:    "gemm",
	Summary: "dense layers of the networks",
	Size:    "ROWSxINxOUT",
	Sizes:   []string{"2048x64x64", "2048x256x256", "2048x128x128", "2048x32x256", "2048x256x9", "2048x2x64"},
	sized:   gemmRows,
}

// gemmBlock is the number of rows that a thread takes at a time.
const gemmBlock = 128

func gemmRows(e *environment, size string, v []int) ([]*operation, error) {
	rows, in, out := v[0], v[1], v[2]
	const slope = 0.01
	x, w, bias, y := noise(rows*in, 1), noise(in*out, 2), noise(out, 3), make([]float32, rows*out)
	packed := make([]float32, asm.PackedLen(in, out))
	asm.PackWeights(packed, w, in, out)
	products := float64(rows) * float64(in) * float64(out)
	blas := "openblas"
	if e.path == asm.AVX2 {
		blas = "openblas-haswell"
	}
	return []*operation{{
		name: "forward/" + size, amount: 2 * products, unit: "flop",
		need: need{{counts: work{FMA: products}}},
		call: e.split(rows, gemmBlock, func(lo, hi int) {
			asm.DenseForward(y[lo*out:hi*out], x[lo*in:hi*in], packed, bias, hi-lo, in, out, slope)
		}),
		rivals: []rival{{
			name: blas, caveat: "plain product, without our epilogue",
			prepare: func(p *peers.Process) (agreement, error) {
				theirs := make([]float32, len(y))
				if err := runPeerOnce(p, []any{"forward", rows, in, out}, map[string][]float32{"x": x, "w": w}, map[string]any{"y": theirs}); err != nil {
					return agreement{}, err
				}
				for i, v := range theirs { // the epilogue: bias and LeakyReLU
					if v += bias[i%out]; v < 0 {
						v *= slope
					}
					theirs[i] = v
				}

				return agreement{normError(y, theirs), 1e-4, "largest difference relative to the largest element"}, nil
			},
		}},
	}}, nil
}
