package mmd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// Gram computes the reversibility loss of real-valued states and its gradient,
// without ever holding an n×n matrix. It evaluates unordered pairs only, as the
// loss is symmetric in i and j. It leaves out the columns whose move was rejected,
// s′_j = s_j, which contribute exactly nothing. Rows of rejected moves have
// gradients from the moved columns.
//
// A Gram is bound to one batch size and reuses its buffers: LossGradient
// allocates nothing and must not be called concurrently. The result has the
// same bits for any number of threads.
type Gram struct {
	n, dim  int
	stat    Statistic
	kernel  *asm.Radial
	workers *pool.Pool

	s, t, grad []float32 // the arguments of the call in progress

	order []int32       // batch index of each packed pair, moved pairs first
	batch asm.GramBatch // the packed pairs
	moved int           // number of moved pairs

	strip        int         // pairs of a strip
	tileLoss     []float64   // [tiles]
	rowSums      []float32   // [tiles][dim][strip]
	colSums      []float32   // [tiles][dim][tileStrips·strip]
	rejectedSums []float32   // [strips][2·dim+1][strip], kernel sums of rejected rows
	sums         []float64   // [strips][dim][strip]
	diagonal     []float32   // [strips][3][strip+1]: squared distances, k, k′
	diagLoss     []float64   // [strips]
	scratch      [][]float32 // [pieces]

	sumPiece, gatherPiece func(piece int)
}

// NewGram prepares the loss of batches of n states of the given dimension, for a valid kernel. The
// U-statistic needs n ≥ 2.
func NewGram(n, dim int, k Kernel, stat Statistic, workers *pool.Pool) *Gram {
	k.mustBeValid()
	c := layoutOf(n)
	stride, strip, strips, tiles := c.stride, c.strip, c.strips, tilesOf(c.strips)
	g := &Gram{
		n: n, dim: dim, stat: stat, workers: workers, kernel: k.radial(),
		order:        make([]int32, n),
		batch:        asm.GramBatch{Planes: make([]float32, 3*dim*stride), Stride: stride, Dim: dim},
		strip:        strip,
		tileLoss:     make([]float64, tiles),
		rowSums:      make([]float32, tiles*dim*strip),
		colSums:      make([]float32, tiles*dim*tileStrips*strip),
		rejectedSums: make([]float32, strips*(2*dim+1)*strip),
		sums:         make([]float64, strips*dim*strip),
		diagonal:     make([]float32, strips*3*(strip+1)),
		diagLoss:     make([]float64, strips),
		scratch:      make([][]float32, tiles+strips),
	}
	for i := range g.scratch {
		g.scratch[i] = make([]float32, asm.GramScratch(2*dim))
	}
	g.sumPiece, g.gatherPiece = g.sumTile, g.gatherStrip
	return g
}

// A batch is cut into strips of pairs, and the pairs of pairs into tiles, one
// strip high and several wide: small enough for a balanced division among
// threads, wide enough for the kernel's inner loop, and few enough that the
// tiles' own buffers stay small.
const (
	minStrip   = 32
	maxStrips  = 32
	tileStrips = 4 // strips of a tile's columns
)

// A layout has the padded length of a batch, the pairs of a strip, and the number of strips.
type layout struct{ stride, strip, strips int }

func layoutOf(n int) layout {
	strip := max(minStrip, roundUp((n+maxStrips-1)/maxStrips, asm.GramPad))
	return layout{roundUp(n, asm.GramPad), strip, (n + strip - 1) / strip}
}

// tileIndex numbers the tiles. Tile (row, column) covers strip row and tileStrips strips from
// tileStrips·column on. Only tiles with pairs i < j exist, row < tileStrips·(column+1).
func tileIndex(row, column int) int { return tileStrips*column*(column+1)/2 + row }

// tilesOf returns the number of tiles of a number of strips.
func tilesOf(strips int) int {
	if strips == 0 {
		return 0
	}
	return tileIndex(strips, (strips-1)/tileStrips)
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// radial compiles the kernel for the assembly.
func (k *Kernel) radial() *asm.Radial {
	multiquadrics := lists.Map(k.IMQ, func(q IMQ) asm.Multiquadric {
		return asm.Multiquadric{C2: q.C * q.C, Beta: q.Beta, Weight: q.Weight}
	})
	materns := lists.Map(k.Matern, func(m Matern) asm.Matern {
		return asm.Matern{Order: int(m.Nu), Length: m.Length, Weight: m.Weight}
	})
	return asm.NewRadial(k.Gaussians(), multiquadrics, materns)
}

// LossGradient returns the loss of the batch of moves s → t and sets grad to
// its gradient in s with t held fixed. All three are row-major [n][dim]. A NaN
// or an infinity anywhere in s or t makes the loss NaN.
func (g *Gram) LossGradient(s, t, grad []float32) float64 {
	if want := g.n * g.dim; len(s) != want || len(t) != want || len(grad) != want {
		panic(fmt.Sprintf("mmd: slices of length %d, %d and %d; want %d", len(s), len(t), len(grad), want))
	}
	g.s, g.t, g.grad = s, t, grad
	loss := g.pack()

	strips, rejectedStrips := g.strips(g.moved), g.strips(g.n-g.moved)
	tiles := tilesOf(strips)
	size := g.dim * g.strip
	g.workers.Share(rejectedStrips+tiles, g.sumPiece,
		pool.SpanOf(g.tileLoss[:tiles], 1), pool.SpanOf(g.rowSums[:tiles*size], size), pool.SpanOf(g.colSums[:tiles*tileStrips*size], tileStrips*size),
		pool.SpanOf(g.rejectedSums, 2*size+g.strip).From(tiles))
	g.workers.Run(strips+rejectedStrips, g.gatherPiece)
	g.s, g.t, g.grad = nil, nil, nil

	for _, l := range g.tileLoss[:tiles] {
		loss += 2 * l
	}
	if g.stat != U {
		for _, l := range g.diagLoss[:strips] {
			loss += l
		}
	}
	return 2 * pairNorm(g.stat, g.n) * loss
}

// strips returns the number of strips that hold n pairs.
func (g *Gram) strips(n int) int { return (n + g.strip - 1) / g.strip }

// width returns the number of moved pairs in some strips, padded for the kernel.
func (g *Gram) width(first, strips int) int {
	return min(strips*g.strip, roundUp(g.moved, asm.GramPad)-first*g.strip)
}

// pack orders the pairs, moved pairs first, and writes their planes. It returns
// zero, or NaN if a value is not finite.
func (g *Gram) pack() (poison float64) {
	dim, front, back := g.dim, 0, g.n
	for i := range g.n {
		moved := false
		for c := range dim {
			a, b := g.s[i*dim+c], g.t[i*dim+c]
			moved = moved || a != b
			poison += 0 * (float64(a) + float64(b))
		}
		if moved {
			g.order[front] = int32(i)
			front++
		} else {
			back--
			g.order[back] = int32(i)
		}
	}
	g.moved, g.batch.N = front, front
	stride := g.batch.Stride
	for c := range dim {
		u := g.batch.Planes[c*stride:][:stride]
		v := g.batch.Planes[(dim+c)*stride:][:stride]
		w := g.batch.Planes[(2*dim+c)*stride:][:stride]
		for k, i := range g.order {
			a, b := float64(g.s[int(i)*dim+c]), float64(g.t[int(i)*dim+c])
			u[k] = float32((a + b) * (math.Sqrt2 / 2))
			v[k] = float32((a - b) * (math.Sqrt2 / 2))
			w[k] = float32(a * (math.Sqrt2 / 2))
		}
	}
	return poison
}

// sumTile computes one tile of the moved pairs or the rows of one strip of the rejected
// pairs. The strips of rejected pairs are the longest pieces. They have the highest numbers,
// since a pool begins with these.
func (g *Gram) sumTile(tile int) {
	scratch := g.scratch[tile]
	if tiles := tilesOf(g.strips(g.moved)); tile >= tiles {
		g.sumRejected(tile-tiles, scratch)
		return
	}
	column := 0
	for tileIndex(0, column+1) <= tile {
		column++
	}
	row := tile - tileIndex(0, column)
	height, width := g.width(row, 1), g.width(column*tileStrips, tileStrips)
	r := asm.GramRange{
		Row0: row * g.strip, Row1: row*g.strip + height,
		Col0: column * tileStrips * g.strip, Col1: column*tileStrips*g.strip + width,
	}
	size := g.dim * g.strip
	g.tileLoss[tile] = asm.GramTile(g.kernel, &g.batch, r,
		g.rowSums[tile*size:][:g.dim*height], g.colSums[tile*tileStrips*size:][:g.dim*width], scratch)
}

// sumRejected sums k′·(v_i − v_j) = −k′·v_j over the moved columns j, for the rows i of one
// strip of rejected pairs. They have v_i = 0 and d²_xx = d²_xy.
func (g *Gram) sumRejected(strip int, scratch []float32) {
	first := g.moved + strip*g.strip
	rows := min(g.strip, g.n-first)
	out := g.rejectedSums[strip*(2*g.dim+1)*g.strip:][:(2*g.dim+1)*g.strip]
	clear(out)
	planes, stride := g.batch.Planes, g.batch.Stride
	asm.KernelSums(g.kernel, out[2*g.dim*g.strip:], out, g.strip, planes[first:], stride, rows, planes, stride, g.moved, 2*g.dim, 2*g.dim, scratch)
}

// gatherStrip adds up the tiles of one strip of pairs in a fixed order, adds the terms i = j of
// the V-statistic, and writes the gradient.
func (g *Gram) gatherStrip(strip int) {
	movedStrips := g.strips(g.moved)
	scale := 8 * pairNorm(g.stat, g.n) * math.Sqrt2
	if strip >= movedStrips {
		strip -= movedStrips
		first := g.moved + strip*g.strip
		for c := range g.dim {
			sums := g.rejectedSums[(strip*(2*g.dim+1)+g.dim+c)*g.strip:]
			for k, i := range g.order[first:min(first+g.strip, g.n)] {
				g.grad[int(i)*g.dim+c] = float32(scale * float64(sums[k]))
			}
		}
		return
	}
	first := strip * g.strip
	width, size := g.width(strip, 1), g.dim*g.strip
	sums := g.sums[strip*size:][:g.dim*width]
	clear(sums)
	group := strip / tileStrips
	for column := group; column*tileStrips < movedStrips; column++ {
		accumulate(sums, g.rowSums[tileIndex(strip, column)*size:])
	}
	groupWidth := g.width(group*tileStrips, tileStrips)
	for row := range min(movedStrips, tileStrips*(group+1)) {
		cols := g.colSums[tileIndex(row, group)*tileStrips*size:][strip%tileStrips*g.strip:]
		for c := range g.dim {
			accumulate(sums[c*width:][:width], cols[c*groupWidth:])
		}
	}
	valid := min(width, g.moved-first)
	if g.stat != U {
		g.addOwnTerms(strip, first, valid, width, sums)
	}
	for c := range g.dim {
		for k, i := range g.order[first:][:valid] {
			g.grad[int(i)*g.dim+c] = float32(scale * sums[c*width+k])
		}
	}
}

// addOwnTerms adds the terms i = j: k(0) − k(|2v_i|²) to the loss and
// −k′(|2v_i|²)·v_i to the sums.
func (g *Gram) addOwnTerms(strip, first, valid, width int, sums []float64) {
	d := g.diagonal[strip*3*(g.strip+1):]
	d2 := d[:valid+1]
	value := d[g.strip+1:][:valid+1]
	derivative := d[2*(g.strip+1):][:valid+1]
	clear(d2)
	stride := g.batch.Stride
	for c := range g.dim {
		for k, v := range g.batch.Planes[(g.dim+c)*stride+first:][:valid] {
			d2[k] += 4 * v * v
		}
	}
	asm.RadialValues(g.kernel, value, derivative, d2) // the last entry is k(0)
	var loss float64
	for _, v := range value[:valid] {
		loss += float64(value[valid] - v)
	}
	g.diagLoss[strip] = loss
	for c := range g.dim {
		for k, v := range g.batch.Planes[(g.dim+c)*stride+first:][:valid] {
			sums[c*width+k] -= float64(derivative[k] * v)
		}
	}
}

func accumulate(sums []float64, terms []float32) {
	for i, x := range terms[:len(sums)] {
		sums[i] += float64(x)
	}
}
