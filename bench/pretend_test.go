package bench

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/peers"
)

// pretending is the variable of the environment that has this program be a peer.
const pretending = "REVGEN_TEST_PRETEND"

func TestMain(m *testing.M) {
	if os.Getenv(pretending) != "" {
		pretend()
		return
	}
	os.Exit(m.Run())
}

// pretenders puts this program in the place of Python and of compilers, so that all peers
// are loops in float64.
func pretenders(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	us, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	run := "exec env " + pretending + "=1 " + us + "\n"
	for name, script := range map[string]string{
		"python3": "[ \"$1\" = -c ] && exit 0\n" + run,
		"gcc":     "while [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\n" + strings.TrimSpace(run) + "\\n' >$2\nchmod +x $2\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755)) //nolint:gosec // it is run
	}
}

// pretender starts a peer that is this program.
func pretender(t *testing.T, name string) *peers.Process {
	t.Helper()
	pretenders(t)
	w, err := peers.NewWorkshop(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	peer, err := peers.Find(name)
	require.NoError(t, err)
	p, err := w.Start(peer, peers.Setting{Threads: 1})
	require.NoError(t, err)
	return p
}

// commands is how many commands a pretender has had.
func commands(t *testing.T, p *peers.Process) (n int) {
	t.Helper()
	about, err := p.About()
	require.NoError(t, err)
	_, err = fmt.Sscan(about, &n)
	require.NoError(t, err)
	return n
}

// A stage is what a pretender has been told.
type stage struct {
	arrays   map[string][]float64
	results  map[string]any
	call     func() error
	commands int
	failing  int // so many commands from now fails; 0 for none
}

func pretend() {
	s := &stage{arrays: map[string][]float64{}, results: map[string]any{}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer, err := s.obey(strings.Fields(in.Text()))
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Println(answer)
	}
}

func (s *stage) obey(words []string) (answer string, err error) {
	if s.commands++; s.failing > 0 {
		if s.failing--; s.failing == 0 {
			return "", errors.New("it fails on purpose")
		}
	}
	switch words[0] {
	case "about":
		return fmt.Sprint("ok ", s.commands), nil
	case "forget":
		clear(s.arrays)
	case "load":
		data, err := os.ReadFile(words[2])
		if err != nil {
			return "", err
		}
		s.arrays[words[1]] = nil
		for i := 0; i+4 <= len(data); i += 4 {
			s.arrays[words[1]] = append(s.arrays[words[1]], float64(math.Float32frombits(binary.NativeEndian.Uint32(data[i:]))))
		}
	case "store":
		result, ok := s.results[words[1]]
		if !ok {
			return "", errors.New("no array " + words[1])
		}
		if x, ok := result.([]float64); ok && words[1] != "loss" {
			result = float32s(x)
		}
		data, err := binary.Append(nil, binary.NativeEndian, result)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(words[2], data, 0o600); err != nil {
			return "", err
		}
	case "run":
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return "", err
		}
		for range n {
			if err := s.call(); err != nil {
				return "", err
			}
		}
		return fmt.Sprint("ok ", 1000*n), nil
	case "select":
		s.call, err = s.operation(words[1:])
		if err != nil {
			return "", err
		}
	}
	return "ok", nil
}

func float32s(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

// operation returns one by its name and arguments.
func (s *stage) operation(words []string) (func() error, error) {
	n := make([]int, len(words))
	for i, w := range words {
		n[i], _ = strconv.Atoi(w)
	}
	a := s.arrays
	set := func(name string, x []float64) { s.results[name] = x }
	switch words[0] {
	case "failing":
		s.failing = n[1]
	case "randn":
		return func() error {
			random, y := rand.New(rand.NewPCG(1, 2)), make([]float64, n[1])
			for i := range y {
				y[i] = random.NormFloat64()
			}
			set("y", y)
			return nil
		}, nil
	case "exp":
		return func() error {
			var y []float64
			for _, x := range a["x"][:n[1]] {
				y = append(y, math.Exp(x))
			}
			set("y", y)
			return nil
		}, nil
	case "forward": // of X[rows][in] and W[in][out]
		rows, in, out := n[1], n[2], n[3]
		x, w := a["x"], a["w"]
		return func() error {
			y := make([]float64, rows*out)
			for r := range rows {
				for i := range in {
					for o := range out {
						y[r*out+o] += x[r*in+i] * w[i*out+o]
					}
				}
			}
			set("y", y)
			return nil
		}, nil
	case "gram":
		var k kernel
		dim := 2
		if len(words) == 5 && words[3] == "V" {
			dim = n[2]
			if err := read(words[4], &k); err != nil {
				return nil, err
			}
		} else { // bandwidths, and c of a multiquadric of power ½
			for _, w := range words[2:] {
				x, _ := strconv.ParseFloat(w, 64)
				k.Bandwidths = append(k.Bandwidths, x)
			}
			last := len(k.Bandwidths) - 1
			k.IMQ, k.Bandwidths = append(k.IMQ, multiquadric{k.Bandwidths[last], 0.5, 1}), k.Bandwidths[:last]
		}
		return func() error {
			if len(a["s"]) != n[1]*dim {
				return errors.New("s has another length")
			}
			loss, grad, _ := reversibility(n[1], a["s"], a["t"], nil, nil, k)
			set("loss", []float64{loss})
			set("grad", grad)
			return nil
		}, nil
	case "gradient", "iteration":
		var c settings64
		if err := read(words[1], &c); err != nil {
			return nil, err
		}
		return func() error {
			if c.System != "hybrid" && a["u"] != nil {
				return errors.New("u is of another system")
			}
			if words[0] == "gradient" {
				loss, grad := c.gradient(a)
				set("loss", []float64{loss})
				set("grad", grad)
			}
			return nil
		}, nil
	default:
		return nil, errors.New("unknown operation " + words[0])
	}
	return nil, nil
}

func read(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

type multiquadric struct{ C, Beta, Weight float64 }

// A kernel is a sum of functions of the squared distance.
type kernel struct {
	Bandwidths []float64
	IMQ        []multiquadric
}

func (k kernel) at(d2 float64) (value, slope float64) {
	for _, s := range k.Bandwidths {
		v := math.Exp(-d2 / (2 * s * s))
		value, slope = value+v, slope-v/(2*s*s)
	}
	for _, q := range k.IMQ {
		v := q.Weight * math.Pow(q.C*q.C+d2, -q.Beta)
		value, slope = value+v, slope-q.Beta*v/(q.C*q.C+d2)
	}
	return value, slope
}

// reversibility is the V-statistic of n moves from s to t, where the kernel of two moves has
// the factor e·e′ f·f′ if e and f are given, that of a move and a reverse one e·f′ f·e′. It
// returns the gradients with respect to s and e.
func reversibility(n int, s, t, e, f []float64, k kernel) (loss float64, gs, ge []float64) {
	gs, ge = make([]float64, len(s)), make([]float64, len(e))
	d, m := len(s)/n, len(e)/n
	dot := func(a, b []float64, i, j int) float64 {
		if m == 0 {
			return 1
		}
		sum := 0.0
		for c := range m {
			sum += a[i*m+c] * b[j*m+c]
		}
		return sum
	}
	scale := 2 / float64(n*n)
	for i := range n {
		for j := range n {
			same, across := 0.0, 0.0
			for c := range d {
				a, b, u, v := s[i*d+c], t[i*d+c], s[j*d+c], t[j*d+c]
				same += (a-u)*(a-u) + (b-v)*(b-v)
				across += (a-v)*(a-v) + (b-u)*(b-u)
			}
			p, dp := k.at(same)
			q, dq := k.at(across)
			ee, ff, ef, fe := dot(e, e, i, j), dot(f, f, i, j), dot(e, f, i, j), dot(f, e, i, j)
			loss += scale * (p*ee*ff - q*ef*fe)
			for c := range d {
				gs[i*d+c] += 4 * scale * (dp*ee*ff*(s[i*d+c]-s[j*d+c]) - dq*ef*fe*(s[i*d+c]-t[j*d+c]))
			}
			for c := range m {
				ge[i*m+c] += 2 * scale * (p*ff*e[j*m+c] - q*fe*f[j*m+c])
			}
		}
	}
	return loss, gs, ge
}

// A perceptron64 is one by loops: its weights [in][out] and biases follow each other.
type perceptron64 struct {
	sizes        []int
	slope        float64
	params, grad []float64
}

// forward returns the values of every layer for one input.
func (p *perceptron64) forward(x []float64) (layers [][]float64) {
	layers = [][]float64{x}
	at := 0
	for l := range len(p.sizes) - 1 {
		in, out := p.sizes[l], p.sizes[l+1]
		y := slices.Clone(p.params[at+in*out : at+in*out+out])
		for i := range in {
			for o := range out {
				y[o] += layers[l][i] * p.params[at+i*out+o]
			}
		}
		for o, v := range y {
			if v < 0 && l < len(p.sizes)-2 {
				y[o] = p.slope * v
			}
		}
		layers, at = append(layers, y), at+in*out+out
	}
	return layers
}

// backward adds to grad and returns the gradient with respect to the input.
func (p *perceptron64) backward(layers [][]float64, dy []float64) []float64 {
	at := len(p.params)
	for l := len(p.sizes) - 2; l >= 0; l-- {
		in, out := p.sizes[l], p.sizes[l+1]
		at -= in*out + out
		dy = slices.Clone(dy)
		for o := range dy {
			if layers[l+1][o] < 0 && l < len(p.sizes)-2 {
				dy[o] *= p.slope
			}
			p.grad[at+in*out+o] += dy[o]
		}
		dx := make([]float64, in)
		for i := range in {
			for o := range out {
				p.grad[at+i*out+o] += layers[l][i] * dy[o]
				dx[i] += p.params[at+i*out+o] * dy[o]
			}
		}
		dy = dx
	}
	return dy
}

// A settings64 is what of a configuration the loops need.
type settings64 struct {
	System    string
	Generator struct {
		Latent, Depth int
		Hidden        []int
		Slope, Clamp  float64
		Width         struct {
			Start float64
			Unit  string
		}
	}
	Loss struct {
		Kernel   kernel
		Boundary struct {
			Weight, Sharpness, Radius float64
			Center                    []float64
		}
	}
	Target struct {
		L  int
		Mu []float64
	}
}

func (c *settings64) latent() int {
	if c.System == "gmm" {
		return 2
	}
	return c.Generator.Latent
}

// nets are the perceptrons of a generator.
func (c *settings64) nets(params []float64) (all []*perceptron64) {
	add := func(sizes ...int) {
		p := &perceptron64{sizes: sizes, slope: c.Generator.Slope}
		n := 0
		for i := range len(sizes) - 1 {
			n += (sizes[i] + 1) * sizes[i+1]
		}
		p.params, p.grad, params = params[:n], make([]float64, n), params[n:]
		all = append(all, p)
	}
	g := &c.Generator
	switch c.System {
	case "ising":
		add(slices.Concat([]int{g.Latent}, g.Hidden, []int{c.Target.L * c.Target.L})...)
	case "hybrid":
		add(slices.Concat([]int{g.Latent}, g.Hidden, []int{1 + len(c.Target.Mu)})...)
	case "gmm":
		for range 2 * g.Depth {
			add(slices.Concat([]int{1}, g.Hidden, []int{1})...)
		}
	}
	return all
}

// generate returns the states of noise, and what goes back from the gradient with respect to
// states, or to the coordinate and the mode, to that of parameters.
func (c *settings64) generate(a map[string][]float64) (outputs, states []float64, back func(ds []float64) []float64) {
	nets := c.nets(a["params"])
	n := len(a["z"]) / c.latent()
	if c.System == "gmm" {
		return c.flow(nets, a["z"])
	}
	var tapes [][][]float64
	for i := range n {
		layers := nets[0].forward(a["z"][i*c.latent() : (i+1)*c.latent()])
		tapes, outputs = append(tapes, layers), append(outputs, layers[len(layers)-1]...)
	}
	width := len(outputs) / n
	slopes := make([]float64, len(outputs)) // of spins
	if c.System == "ising" {
		sum, squares, w := 0.0, 0.0, c.Generator.Width.Start
		for _, h := range outputs {
			sum, squares = sum+h/float64(len(outputs)), squares+h*h/float64(len(outputs))
		}
		if c.Generator.Width.Unit == "spread" {
			w *= math.Sqrt(squares - sum*sum)
		}
		for i, h := range outputs {
			states = append(states, math.Copysign(1, h))
			slopes[i] = 1 / (w * math.Cosh(h/w) * math.Cosh(h/w))
		}
	}
	softmax := func(logits []float64) (p []float64) {
		sum := 0.0
		for _, h := range logits {
			sum += math.Exp(h)
		}
		for _, h := range logits {
			p = append(p, math.Exp(h)/sum)
		}
		return p
	}
	for i := 0; i < len(outputs) && c.System == "hybrid"; i += width {
		mode, left := 0, a["u"][i/width]
		p := softmax(outputs[i+1 : i+width])
		for left -= p[0]; left >= 0 && mode < len(p)-1; left -= p[mode] {
			mode++
		}
		state := make([]float64, width)
		state[0], state[1+mode] = outputs[i], 1
		states = append(states, state...)
	}
	return outputs, states, func(ds []float64) []float64 {
		for i, tape := range tapes {
			d := slices.Clone(ds[i*width : (i+1)*width])
			if c.System == "ising" {
				for j := range d {
					d[j] *= slopes[i*width+j]
				}
			} else {
				p, mean := softmax(outputs[i*width+1:(i+1)*width]), 0.0
				for k := range p {
					mean += p[k] * d[1+k]
				}
				for k := range p {
					d[1+k] = p[k] * (d[1+k] - mean)
				}
			}
			nets[0].backward(tape, d)
		}
		return nets[0].grad
	}
}

// flow is generate for affine couplings of two coordinates.
func (c *settings64) flow(nets []*perceptron64, z []float64) (outputs, states []float64, back func(ds []float64) []float64) {
	type step struct {
		scale, shift [][]float64
		before, th   float64
	}
	clamp := c.Generator.Clamp
	var tapes [][]step
	for i := 0; i < len(z); i += 2 {
		v := [2]float64{z[i], z[i+1]}
		var tape []step
		for l := range c.Generator.Depth {
			given := []float64{v[(l+1)%2]}
			s := step{nets[2*l].forward(given), nets[2*l+1].forward(given), v[l%2], 0}
			s.th = math.Tanh(s.scale[len(s.scale)-1][0] / clamp)
			v[l%2] = v[l%2]*math.Exp(clamp*s.th) + s.shift[len(s.shift)-1][0]
			tape = append(tape, s)
		}
		tapes, states = append(tapes, tape), append(states, v[:]...)
	}
	return nil, states, func(ds []float64) (grad []float64) {
		for i, tape := range tapes {
			d := [2]float64{ds[2*i], ds[2*i+1]}
			for l := len(tape) - 1; l >= 0; l-- {
				s := tape[l]
				stretch := math.Exp(clamp * s.th)
				by := d[l%2]
				d[l%2] *= stretch
				d[(l+1)%2] += nets[2*l].backward(s.scale, []float64{by * s.before * stretch * (1 - s.th*s.th)})[0]
				d[(l+1)%2] += nets[2*l+1].backward(s.shift, []float64{by})[0]
			}
		}
		for _, net := range nets {
			grad = append(grad, net.grad...)
		}
		return grad
	}
}

// gradient returns one iteration's loss and gradient for given moves to t.
func (c *settings64) gradient(a map[string][]float64) (loss float64, grad []float64) {
	_, s, back := c.generate(a)
	n := len(a["z"]) / c.latent()
	if c.System != "hybrid" {
		var ds []float64
		loss, ds, _ = reversibility(n, s, a["t"], nil, nil, c.Loss.Kernel)
		b := c.Loss.Boundary
		for i := 0; i < n && c.System == "gmm"; i++ {
			off := append([]float64(nil), s[2*i:2*i+2]...)
			for j := range b.Center {
				off[j] -= b.Center[j]
			}
			p := 1 / (1 + math.Exp(-b.Sharpness*(off[0]*off[0]+off[1]*off[1]-b.Radius*b.Radius)))
			loss += b.Weight * p / float64(n)
			for j := range off {
				ds[2*i+j] += b.Weight * p * (1 - p) * b.Sharpness * 2 * off[j] / float64(n)
			}
		}
		return loss, back(ds)
	}
	width := len(s) / n
	split := func(states []float64) (x, modes []float64) {
		for i := 0; i < len(states); i += width {
			x, modes = append(x, states[i]), append(modes, states[i+1:i+width]...)
		}
		return x, modes
	}
	x, e := split(s)
	y, f := split(a["t"])
	loss, gx, ge := reversibility(n, x, y, e, f, c.Loss.Kernel)
	var ds []float64
	for i := range n {
		ds = append(append(ds, gx[i]), ge[i*(width-1):(i+1)*(width-1)]...)
	}
	return loss, back(ds)
}
