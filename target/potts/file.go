package potts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
)

// parse reads a graph: JSON with the keys of graph, or a first line "# q=3", to which "model=clock"
// may be added, and lines "i j J".
func parse(file string, data []byte) (*graph, error) {
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\ufeff"), []byte("{")) {
		g := &graph{Model: "potts"}
		if err := conf.Decode(data, file, g); err != nil {
			return nil, err
		}
		if g.Q == 0 {
			for _, q := range g.States {
				g.Q = max(g.Q, q)
			}
		}
		if g.Sites == 0 {
			g.Sites = max(len(g.States), len(g.Labels))
		}
		t := TargetConfig{Q: g.Q, Model: g.Model, Sites: g.Sites, States: g.States, Edges: g.Edges, Tables: g.Tables, Fields: g.Fields, Offset: g.Offset, Labels: g.Labels}
		if err := conf.OneOf("model", g.Model, models); err != nil {
			return nil, conf.At(data, file, "model", err)
		}
		if _, err := t.law(); err != nil {
			key, _, _ := strings.Cut(err.Error(), ":")
			return nil, conf.At(data, file, key, err)
		}
		return g, nil
	}
	m := header.FindSubmatch(data)
	if m == nil {
		return nil, fmt.Errorf(`%s: is neither JSON nor begins with a line "# q=3", the number of states of the sites that lines "i j J" couple`, file)
	}
	g := &graph{Model: "potts"}
	g.Q, _ = strconv.Atoi(string(m[1]))
	if len(m[2]) > 0 {
		g.Model = string(m[2])
		if err := conf.OneOf("model", g.Model, models); err != nil {
			return nil, fmt.Errorf("%s:1: %w", file, err)
		}
	}
	lineNumber := 0
	for line := range bytes.Lines(data) {
		lineNumber++
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", file, lineNumber, fmt.Sprintf(format, args...))
		}
		f := strings.Fields(string(line))
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if len(f) != 3 {
			return nil, fail(`%q where a line is "i j J", two numbers of sites and their coupling`, strings.TrimSpace(string(line)))
		}
		var e spins.Edge
		var err error
		for k, site := range []*int{&e.I, &e.J} {
			if *site, err = strconv.Atoi(f[k]); err != nil || *site < 0 {
				return nil, fail("%q is not the number of a site", f[k])
			}
			g.Sites = max(g.Sites, *site+1)
		}
		if e.Coupling, err = strconv.ParseFloat(f[2], 64); err != nil || !number.Finite(e.Coupling) {
			return nil, fail("%q is not a finite number", f[2])
		}
		if e.I == e.J {
			return nil, fail("site %d is coupled to itself; an edge joins two sites", e.I)
		}
		g.Edges = append(g.Edges, e)
	}
	return g, nil
}

var models = []string{"potts", "clock"}

var header = regexp.MustCompile(`(?m)\A[ \t]*#[ \t]*q[ \t]*=[ \t]*([0-9]+)(?:[ \t]+model[ \t]*=[ \t]*(\S+))?[ \t]*\r?$`)

// recognise reports whether a file holds a graph of sites with states, and returns the settings that
// make it the target.
func recognise(data []byte, path string) (set []string, ok bool) {
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		var keys struct{ System, Q, States json.RawMessage }
		if json.Unmarshal(data, &keys) != nil || keys.System != nil || keys.Q == nil && keys.States == nil {
			return nil, false
		}
	} else if !header.Match(data) {
		return nil, false
	}
	quoted, err := json.Marshal(path)
	return []string{"target.l=0", "target.file=" + string(quoted)}, err == nil
}
