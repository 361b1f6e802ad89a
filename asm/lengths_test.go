package asm

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// refuses requires a call to take slices of the given lengths, and to refuse each of them that is
// one element longer or shorter, beside all others as they should be.
func refuses(t *testing.T, name string, lengths []int, call func(s [][]float32)) {
	t.Helper()
	slices := func(which, by int) (all [][]float32) {
		for i, n := range lengths {
			if i == which {
				n += by
			}
			all = append(all, make([]float32, n))
		}
		return all
	}
	require.NotPanics(t, func() { call(slices(-1, 0)) }, name)
	for i := range lengths {
		for _, by := range []int{-1, 1} {
			requireRefusal(t, func() { call(slices(i, by)) }, "%s: argument %d by %d", name, i, by)
		}
	}
}

// TestEveryLengthIsLookedAt: each slice of the wrong length is refused, by itself.
func TestEveryLengthIsLookedAt(t *testing.T) {
	k := NewRadial([]Gaussian{{1, 1}}, nil, nil)
	order := []int32{1, 0}
	refuses(t, "RadialValues", []int{3, 3, 3}, func(s [][]float32) { RadialValues(k, s[0], s[1], s[2]) })
	refuses(t, "CountKnots", []int{2, 2}, func(s [][]float32) { CountKnots(s[0], s[1], []float32{1}) })
	refuses(t, "PrefixRows", []int{12, 4}, func(s [][]float32) { PrefixRows(s[0], make([]float32, 4), order, s[1], 2) })
	refuses(t, "PiecewiseForward", []int{6, 3, 3, 8}, func(s [][]float32) { PiecewiseForward(s[0], s[1], s[2], s[3], 2, 0.5) })
	refuses(t, "PiecewiseBackward", []int{8, 3, 3, 3, 6, 8}, func(s [][]float32) { PiecewiseBackward(s[0], s[1], s[2], s[3], s[4], s[5], 2) })
	refuses(t, "PiecewiseSum", []int{3, 3, 3, 8}, func(s [][]float32) { PiecewiseSum(s[0], s[1], s[2], s[3], make([]float32, 2), 0, 0.5) })
	refuses(t, "PiecewiseSumBackward", []int{8, 3, 2, 3, 3, 3, 8}, func(s [][]float32) {
		PiecewiseSumBackward(s[0], s[1], s[2], s[3], s[4], s[5], s[6], make([]float32, 2), 0.5)
	})
	refuses(t, "PiecewiseGradient", []int{2, 2, 4, 2, 12, 4, 8}, func(s [][]float32) { PiecewiseGradient(s[0], s[1], s[2], s[3], s[4], s[5], order, s[6], 2) })
	for _, wrong := range []int32{-1, 2} {
		requireRefusal(t, func() { PrefixRows(make([]float32, 12), make([]float32, 4), []int32{0, wrong}, make([]float32, 4), 2) })
	}
	for _, f := range []func(table []float32){
		func(table []float32) { PiecewiseForward(nil, nil, nil, table, 2, 1) },
		func(table []float32) { PiecewiseBackward(table, nil, nil, nil, nil, table, 2) },
		func(table []float32) { PiecewiseSum(nil, nil, nil, table, make([]float32, 2), 0, 1) },
		func(table []float32) {
			PiecewiseSumBackward(table, nil, make([]float32, 2), nil, nil, nil, table, make([]float32, 2), 1)
		},
	} {
		require.NotPanics(t, func() { f(make([]float32, 4)) })
		requireRefusal(t, func() { f(nil) }, "a table has a piece")
		requireRefusal(t, func() { f(make([]float32, 6)) }, "and whole ones")
	}

	const n = HammingRows
	refuses(t, "HammingGradient", []int{2 * 70, n, 70 * n}, func(s [][]float32) {
		HammingGradient(s[0], s[1], s[2], make([]uint64, 4*n), make([][2]float32, 2), 1, true)
	})
	for words, panics := range map[int]bool{4 * n: false, 4*n - 1: true, 4*n + 1: true} {
		call := func() {
			HammingGradient(make([]float32, 140), make([]float32, n), make([]float32, 70*n), make([]uint64, words), make([][2]float32, 2), 1, true)
		}
		if panics {
			require.PanicsWithValue(t, "asm: sums or rows of the wrong length", call)
		} else {
			require.NotPanics(t, call)
		}
	}
	require.PanicsWithValue(t, "asm: gradients of the wrong length", func() {
		HammingGradient(make([]float32, (n+1)*3), make([]float32, n), make([]float32, 3*n), make([]uint64, 2*n), make([][2]float32, n+1), 1, true)
	})
	require.PanicsWithValue(t, "asm: columns without spins", func() { NewHammingColumns(0, 1) })
	columns := NewHammingColumns(3, 1)
	require.NotPanics(t, func() { columns.Append(make([]uint64, 1), make([]uint64, 1), 1) })
	for _, wrong := range [][2]int{{0, 1}, {2, 1}, {1, 0}, {1, 2}} {
		require.PanicsWithValue(t, "asm: column of the wrong number of words", func() { columns.Append(make([]uint64, wrong[0]), make([]uint64, wrong[1]), 1) })
	}
	tables := func(loss, base, spin int) *HammingTables {
		return NewHammingTables(make([]float32, loss), make([]float32, base), make([]float32, spin))
	}
	columns.Parts()
	columns.PackPart(0)
	for _, c := range []struct {
		loss, base, spin, rows int
		t                      *HammingTables
		want                   string
	}{
		{n, n, 3 * n, 2 * n, tables(7, 7, 7), ""},
		{n - 1, n, 3 * n, 2 * n, tables(7, 7, 7), "asm: sums of the wrong length"}, {n, n + 1, 3 * n, 2 * n, tables(7, 7, 7), "asm: sums of the wrong length"},
		{n, n, 3*n + 1, 2 * n, tables(7, 7, 7), "asm: sums of the wrong length"}, {n, n, 3 * n, 2*n + 1, tables(7, 7, 7), "asm: rows of the wrong length"},
		{n, n, 3 * n, 2 * n, &HammingTables{loss: make([]float32, 8), spin: make([]float32, 7)}, "asm: tables of the wrong length"},
		{n, n, 3 * n, 2 * n, &HammingTables{loss: make([]float32, 7), spin: make([]float32, 8)}, "asm: tables of the wrong length"},
		{n, n, 3 * n, 2 * n, &HammingTables{loss: make([]float32, 7), spin: make([]float32, 7), base: make([]float32, 6)}, "asm: tables of the wrong length"},
	} {
		call := func() {
			HammingSums(make([]float64, c.loss), make([]float32, c.base), make([]float32, c.spin), make([]uint64, c.rows), columns, c.t)
		}
		if c.want == "" {
			require.NotPanics(t, call)
			continue
		}
		require.PanicsWithValue(t, c.want, call)
	}

	batch := func(planes, stride, n int) *GramBatch {
		return &GramBatch{Planes: make([]float32, planes), Stride: stride, Dim: 2, N: n}
	}
	const pad = GramPad
	refuses(t, "GramTile", []int{2 * pad, 4 * pad}, func(s [][]float32) {
		GramTile(k, batch(12*pad, 2*pad, pad+1), GramRange{Row0: 0, Row1: pad, Col0: 0, Col1: 2 * pad}, s[0], s[1], make([]float32, GramScratch(2)))
	})
	for _, c := range []struct {
		batch *GramBatch
		at    GramRange
	}{
		{batch(12*pad+1, 2*pad, 3), GramRange{0, pad, 0, pad}}, {batch(6*(pad+1), pad+1, 3), GramRange{0, pad, 0, pad}}, {batch(6*pad, pad, pad+1), GramRange{0, pad, 0, pad}},
		{batch(6*pad, pad, 3), GramRange{0, 2 * pad, 0, pad}}, {batch(6*pad, pad, 3), GramRange{0, pad, 0, 2 * pad}}, {batch(6*pad, pad, 3), GramRange{-pad, 0, 0, pad}},
		{batch(6*pad, pad, 3), GramRange{0, pad, -pad, 0}}, {batch(6*pad, pad, 3), GramRange{pad, 0, 0, pad}}, {batch(6*pad, pad, 3), GramRange{0, pad, pad, 0}},
		{batch(12*pad, 2*pad, 3), GramRange{1, pad + 1, 0, pad}}, {batch(12*pad, 2*pad, 3), GramRange{0, pad, 1, pad + 1}},
	} {
		rows, cols := max(0, c.at.Row1-c.at.Row0), max(0, c.at.Col1-c.at.Col0)
		requireRefusal(t, func() {
			GramTile(k, c.batch, c.at, make([]float32, 2*rows), make([]float32, 2*cols), make([]float32, GramScratch(2)))
		}, "%+v", c.at)
	}
	requireRefusal(t, func() {
		GramTile(k, batch(6*pad, pad, 3), GramRange{0, pad, 0, pad}, make([]float32, 2*pad), make([]float32, 2*pad), make([]float32, GramScratch(2)-1))
	})
	for _, c := range []struct {
		words, values, rows, n int
		panics                 bool
	}{{4, 130, 2, 65, false}, {0, 0, 0, 1, false}, {3, 130, 2, 65, true}, {4, 131, 2, 65, true}, {0, 0, -1, 1, true}, {0, 0, 2, 0, true}} {
		call := func() { checkSpins(c.words, c.values, c.rows, c.n) }
		if c.panics {
			require.PanicsWithValue(t, "asm: lengths of spins and values do not match rows and n", call)
		} else {
			require.NotPanics(t, call)
		}
	}
	require.PanicsWithValue(t, "asm: unknown probe", func() { Probe(99).run(1) })
}

// TestNothingToDo: calls about nothing leave what they are given, or clear it.
func TestNothingToDo(t *testing.T) {
	k := NewRadial([]Gaussian{{1, 1}}, nil, nil)
	some := []float32{1, 2}
	forEachPath(t, func(t *testing.T, _ Path) {
		PrefixRows(some, nil, nil, nil, 1)
		require.Equal(t, []float32{1, 2}, some)
		PiecewiseForward(nil, some, some, nil, 0, 1)
		dx := []float32{3, 4}
		PiecewiseBackward(nil, dx, some, some, nil, nil, 0)
		require.Equal(t, []float32{0, 0}, dx)
		PiecewiseGradient(nil, nil, nil, dx, []float32{5, 6, 7, 8}, nil, nil, nil, 2)
		require.Zero(t, GramTile(k, &GramBatch{Dim: 2}, GramRange{}, nil, nil, make([]float32, GramScratch(2))))
		full := make([]float32, 2*GramPad)
		for i := range full {
			full[i] = 7
		}
		batch := &GramBatch{Planes: make([]float32, 6*GramPad), Stride: GramPad, Dim: 2, N: 3}
		require.Zero(t, GramTile(k, batch, GramRange{0, GramPad, 0, 0}, full, nil, make([]float32, GramScratch(2))))
		require.Equal(t, make([]float32, 2*GramPad), full)
		KernelSums(k, nil, nil, 0, nil, 0, 0, nil, 0, 3, 2, 2, nil)
	})
}

// TestPaths: names are read as they are written, and paths that are none are refused.
func TestPaths(t *testing.T) {
	require.Equal(t, []string{"generic", "avx2", "avx512", "Path(3)"}, []string{Generic.String(), AVX2.String(), AVX512.String(), Path(3).String()})
	for _, p := range []Path{Generic, AVX2, AVX512} {
		back, err := ParsePath(p.String())
		require.NoError(t, err)
		require.Equal(t, p, back)
	}
	_, err := ParsePath("sse")
	require.EqualError(t, err, `asm: unknown kernel path "sse"; the paths are generic, avx2, avx512`)
	before, why, _ := Active()
	defer activate(before, why)
	all := Supported()
	require.Equal(t, bestPath, all[len(all)-1])
	require.EqualError(t, Use(bestPath+1), "asm: path "+(bestPath+1).String()+" is not supported here; the best is "+bestPath.String())
	now, _, _ := Active()
	require.Equal(t, before, now)
	for i, p := range all {
		require.Equal(t, Path(i), p)
		require.NoError(t, Use(p))
		require.Equal(t, []bool{p >= AVX2, p == AVX512}, []bool{useAVX2, useAVX512})
		now, why, _ := Active()
		require.Equal(t, []any{p, "forced by the program"}, []any{now, why})
	}
}

// TestFeatures: each feature by name, with the path that needs it and whether it is there; what
// the best path needs is.
func TestFeatures(t *testing.T) {
	var names []string
	for _, f := range Features() {
		names = append(names, f.Name+" "+f.Path.String())
		if f.Path <= bestPath && f.Name != "AVX512VPOPCNTDQ" {
			require.True(t, f.Present, f.Name)
		}
	}
	if bestPath > Generic {
		require.Equal(t, []string{
			"AVX avx2", "AVX2 avx2", "FMA3 avx2", "BMI1 avx2", "BMI2 avx2", "POPCNT avx2",
			"AVX512F avx512", "AVX512BW avx512", "AVX512DQ avx512", "AVX512VL avx512", "AVX512VPOPCNTDQ avx512",
		}, names)
	}
}

// TestBytes: of numbers of two and eight bytes, in the order of the machine.
func TestBytes(t *testing.T) {
	require.Nil(t, Bytes([]uint16{}))
	words := []uint64{0x0101010101010101, 0x0202020202020202, 3}
	require.Equal(t, []byte("\x01\x01\x01\x01\x01\x01\x01\x01\x02\x02\x02\x02\x02\x02\x02\x02"), Bytes(words[:2]))
	halves := []uint16{0x0101, 0x0202}
	bytes := Bytes(halves)
	require.Equal(t, []byte{1, 1, 2, 2}, bytes)
	bytes[2], bytes[3] = 7, 7
	require.Equal(t, uint16(0x0707), halves[1])
}

// TestAligned: what begins with a cache line, and loses less than one.
func TestAligned(t *testing.T) {
	x := make([]uint64, 40)
	for k := range 8 {
		y := aligned(x[k:])
		require.Zero(t, uintptr(unsafe.Pointer(&y[0]))%64)
		require.Greater(t, len(y), len(x[k:])-8)
		z := aligned(floatWords(make([]float32, 64))[k:])
		require.Zero(t, uintptr(unsafe.Pointer(&z[0]))%64)
	}
}

// TestPartsOfCalls: how much one call does.
func TestPartsOfCalls(t *testing.T) {
	require.Equal(t, []int{1 << 15, 1 << 15, 1 << 18, 1 << 11, 1 << 16}, []int{streamLimit, mathLimit, piecewiseWork, probeRounds, readLimit}, "what cannot be preempted is short")
	for n, want := range map[int]int{32: 32, 63: 32, 64: 64, 1<<15 - 1: 1<<15 - 32, 1 << 15: 1 << 15, 1<<15 + 1: 1 << 15, 1 << 20: 1 << 15} {
		require.Equal(t, want, streamPart(n))
	}
	for _, c := range [][3]int{{5, 1 << 14, 2}, {1, 1 << 14, 1}, {5, 1 << 15, 1}, {5, 1 << 16, 1}, {1 << 20, 10, 3276}, {1 << 16, 1, 1 << 15}} {
		require.Equal(t, c[2], spinsPart(c[0], c[1]))
	}
	// Sweeps together have the rows that they are at, and four more, in 768 KiB.
	for _, c := range [][3]int{
		{101, 100, 1}, {110, 1, 1}, {112, 1, 4}, {112, 0, 4}, {112, 8, 4}, {112, 9, 4}, {112, 10, 3}, {112, 11, 2}, {112, 13, 2}, {112, 14, 1}, {112, 100, 1}, {2, 3000, 1}, {2, 3072, 1}, {64, 3, 1}, {64, 4, 4},
	} {
		s := Sweep{l: c[0]}
		rows, want := 0, 1
		if bytes := c[0] * 64 * max(1, c[1]); c[0]%2 == 0 && c[0]*bytes > 768<<10 {
			for rows = 0; (rows+1)*bytes <= 768<<10; rows++ {
			}
			want = 1
			for want < 4 && 2*(want+1)+4 <= rows {
				want++
			}
		}
		require.Equal(t, want, s.sweepsInCache(c[1]), "L = %d, %d blocks", c[0], c[1])
		require.Equal(t, c[2], want, "L = %d, %d blocks", c[0], c[1])
	}
}

// TestSizes: what callers lay out their data by, and which layers are computed along the row.
func TestSizes(t *testing.T) {
	require.Equal(t, []int{64, 16, 64, 64, 16}, []int{BitSamples, BitLanes, BitHidden, BitInputs, BitNumber})
	require.Equal(t, []int{16, 8, 512, 32}, []int{Panel, ReplicaWords, ReplicaBits, HammingRows})
	for shape, want := range map[[2]int]int{ // in and out
		{1, 1}: 1, {1, 4}: 4, {1, 5}: 16, {127, 4}: 508, {127, 5}: 127 * 16, {128, 5}: 640, {128, 9}: 1152, {128, 10}: 128 * 16,
		{3, 16}: 48, {3, 17}: 96, {3, 32}: 96, {3, 33}: 144,
	} {
		require.Equal(t, want, PackedLen(shape[0], shape[1]), "%v", shape)
	}
}
