package bench

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

var gemmSuite = Suite{
	Name:    "gemm",
	Summary: "dense layers of the networks, forward and backward",
	Size:    "ROWSxINxOUT",
	Sizes:   []string{"2048x64x64", "2048x256x256", "2048x128x128", "2048x32x256", "2048x256x9", "2048x2x64"},
	sized:   gemmRows,
}

// gemmBlock is the number of rows that a thread takes at a time.
const gemmBlock = 128

func gemmRows(e *environment, size string, v []int) ([]*operation, error) {
	rows, in, out := v[0], v[1], v[2]
	const slope = 0.01
	x, w, bias := noise(rows*in, 1), noise(in*out, 2), noise(out, 3)
	dy := noise(rows*out, 4)
	packed, packedT := make([]float32, asm.PackedLen(in, out)), make([]float32, asm.PackedLen(out, in))
	asm.PackWeights(packed, w, in, out)
	asm.PackWeightsTransposed(packedT, w, in, out)
	y, dx := make([]float32, rows*out), make([]float32, rows*in)
	products := float64(rows) * float64(in) * float64(out)

	// A product of ours is compared with the peer's plain one, to which the
	// epilogue is added after the clock has stopped.
	against := func(peer, product string, inputs map[string][]float32, result string, ours []float32, epilogue func(theirs []float32)) rival {
		return rival{
			name: peer, unlike: "plain product, without our epilogue",
			prepare: func(p *peers.Process) (agreement, error) {
				theirs := make([]float32, len(ours))
				if err := once(p, []any{product, rows, in, out}, inputs, map[string]any{result: theirs}); err != nil {
					return agreement{}, err
				}
				epilogue(theirs)
				// Sums of in, out or rows products of standard normal numbers.
				return agreement{worst(ours, theirs), 1e-4, "largest difference relative to the largest element"}, nil
			},
		}
	}
	blas := "openblas"
	if e.path == asm.AVX2 {
		blas = "openblas-haswell"
	}

	operations := []*operation{{
		name: "forward/" + size, amount: 2 * products, unit: "flop",
		need: alone(map[Resource]float64{FMA: products}),
		call: e.split(rows, gemmBlock, func(lo, hi int) {
			asm.DenseForward(y[lo*out:hi*out], x[lo*in:hi*in], packed, bias, hi-lo, in, out, slope)
		}),
		rivals: []rival{against(blas, "forward", map[string][]float32{"x": x, "w": w}, "y", y, func(theirs []float32) {
			for i, v := range theirs {
				if v += bias[i%out]; v < 0 {
					v *= slope
				}
				theirs[i] = v
			}
		})},
	}, {
		name: "backward-input/" + size, amount: 2 * products, unit: "flop",
		need: alone(map[Resource]float64{FMA: products}),
		call: e.split(rows, gemmBlock, func(lo, hi int) {
			asm.DenseBackwardInput(dx[lo*in:hi*in], dy[lo*out:hi*out], packedT, x[lo*in:hi*in], hi-lo, in, out, slope)
		}),
		rivals: []rival{against(blas, "input", map[string][]float32{"y": dy, "w": w}, "dx", dx, func(theirs []float32) {
			for i, v := range theirs {
				if x[i] <= 0 {
					theirs[i] = v * slope
				}
			}
		})},
	}}
	if e.threads() == 1 {
		dw, db := make([]float32, in*out), make([]float32, out)
		operations = append(operations, &operation{
			name: "backward-weights/" + size, amount: 2 * products, unit: "flop",
			need: alone(map[Resource]float64{FMA: products}),
			call: func() {
				clear(dw)
				clear(db)
				asm.DenseBackwardWeights(dw, db, x, dy, rows, in, out)
			},
			rivals: []rival{against(blas, "weights", map[string][]float32{"x": x, "y": dy}, "dw", dw, func([]float32) {})},
		})
	}
	return operations, nil
}

func load(p *peers.Process, arrays map[string][]float32) error {
	for name, numbers := range arrays {
		if err := p.Load(name, numbers); err != nil {
			return err
		}
	}
	return nil
}

// once loads arrays into a peer, selects an operation, runs it once, and fetches arrays.
func once(p *peers.Process, words []any, inputs map[string][]float32, results map[string]any) error {
	if err := load(p, inputs); err != nil {
		return err
	}
	if err := p.Select(words...); err != nil {
		return err
	}
	if _, err := p.Run(1); err != nil {
		return err
	}
	for name, slice := range results {
		if err := p.Store(name, slice); err != nil {
			return fmt.Errorf("result %s: %w", name, err)
		}
	}
	return nil
}
