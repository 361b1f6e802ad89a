package vectors

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
)

// TestDemands counts what generators and losses take: four bytes of each number of a row, and
// eight of each of a mixture.
func TestDemands(t *testing.T) {
	const n, d = 2048, 3
	paper, modal, best := paperConfig(), modalPaper(), modalBest()
	own := engine.Demand{Key: "target.own", Bytes: 7}
	require.Equal(t, append(paper.Demands(d), own), paper.Demands(d, own))
	require.Equal(t, append(modal.Demands(d, 5), own), modal.Demands(d, 5, own))
	balanced := func(base string, components, depth int, bent bool) *Config {
		of := testConfig{Config: paperConfig()}
		placed(&of, components)
		of.Generator.Base, of.Generator.Bent, of.Generator.Depth, of.Loss.Partners = base, bent, depth, 0.25
		return &of.Config
	}
	learned, judged := paperConfig(), judgedModes(d, "pair").settings()
	learned.Loss.Kind, learned.Loss.Discriminator = "discriminator", judged.Loss.Discriminator
	rows := float64(n + nn.WideBlockRows(n))
	block := float64(nn.LanesOf(n) * nn.WideBlockRows(n))
	for name, c := range map[string]struct {
		*Config
		modes int
		loss  func(passes float64) float64
		// Numbers of a component's factor, and how many densities a row has.
		triangle, densities float64
	}{
		"pairs":            {&paper, 0, func(float64) float64 { return mmd.GramBytes(n, d) }, 0, 0},
		"pairs of modes":   {modal.settings(), 5, func(float64) float64 { return mmd.MixedBytes(n, d, 5) }, 0, 0},
		"learned":          {&learned, 0, func(float64) float64 { return learned.Loss.Discriminator.Bytes(n, d) + 12*n*d }, 0, 0},
		"learned of modes": {judged, 5, func(float64) float64 { return judged.Loss.Discriminator.Bytes(n, d+5) + 12*n*(d+5) }, 0, 0},
		"joint":            {balanced("joint", 4, 0, false), 0, func(p float64) float64 { return 0.75*p + 64*rows }, 6, 1},
		"product":          {balanced("product", 4, 0, false), 0, func(p float64) float64 { return 0.75*p + 64*rows }, 3, 3},
		"bent":             {balanced("joint", 4, 2, true), 0, func(p float64) float64 { return 0.75*p + 64*rows }, 6, 1},
		"balance in five":  {best.settings(), 5, func(p float64) float64 { return 0.5*p + 64*rows }, 6, 1},
	} {
		c.Training.Batch = n
		g, m := &c.Generator, float64(c.modes)
		nets := newGenerator(*g, d, c.modes).networks()
		width, widest := 0., 0.
		for _, net := range nets.nets {
			all, most := net.Widths()
			width, widest = width+float64(all), max(widest, float64(most))
		}
		latent := float64(nets.latent)
		passes := rows*4*(latent+5*d+width+2*latent*float64(g.Depth+2)+2*d+16+4*m) + block*4*8*widest
		want := c.Training.Demands(nets.params)
		if k := float64(g.Components); c.triangle > 0 {
			// Blocks of eight rows, one of each mode in a block of rows all but empty.
			blocked := rows * (1 + 7*max(1, m)/float64(nn.BlockRows()))
			passes += blocked*8*(k+4)*(d+c.densities) + 8*24*k*max(1, m)*c.triangle
			if g.Bent {
				passes += blocked*(24*k+32)*d + rows*d*float64(32*g.Depth+16) + 8*272*k*max(1, m)*d
			}
			want = append(want, engine.Demand{Key: "generator.scout.population", Bytes: 100 * (8*k + 20*d + 128)})
		}
		want = append(want, engine.Demand{Key: "training.batch", Bytes: math.Round(passes + c.loss(passes))})
		got := slices.Clone(c.demands(d, c.modes, nil))
		got[len(got)-1].Bytes = math.Round(got[len(got)-1].Bytes)
		require.Equal(t, want, got, name)
	}
	// Batches smaller than a block, and more modes than rows.
	few := best.settings()
	few.Training.Batch = 64
	sizes := []float64{}
	for _, modes := range []int{64, 65} {
		all := few.demands(d, modes, nil)
		sizes = append(sizes, all[len(all)-1].Bytes)
	}
	k, wide := float64(few.Generator.Components), 64+float64(nn.WideBlockRows(64))
	net := func(modes int) (width, widest float64) {
		for _, net := range newGenerator(few.Generator, d, modes).networks().nets {
			all, most := net.Widths()
			width, widest = width+float64(all), max(widest, float64(most))
		}
		return width, widest
	}
	w, most := net(64)
	w1, most1 := net(65)
	grows := wide*4*(w1-w+4) + float64(nn.LanesOf(64)*nn.WideBlockRows(64))*32*(most1-most) + 8*24*k*6
	if few.Generator.Bent {
		grows += 8 * 272 * k * d
	}
	require.InDelta(t, 1.5*grows, sizes[1]-sizes[0], 1e-6)
}
