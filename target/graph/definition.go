package graph

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
)

// Definition registers the system with the command line.
var Definition = engine.Definition{
	Name:      "spins",
	Summary:   "spins on any graph, of a file or of the configuration",
	Presets:   Presets,
	Verify:    Verify,
	Preset:    engine.PresetOf(Preset),
	Recognise: recognise,
	Files:     "the edges of a graph (formats " + strings.Join(spins.Formats, ", ") + ")",
}

// stateHeader begins a file of sites with more than two states, which belongs to package potts.
var stateHeader = regexp.MustCompile(`\A[ \t]*#[ \t]*q[ \t]*=`)

// recognise reports whether a file holds a graph: JSON with the keys of RevGen's Hamiltonian or of
// bqpjson, or lines of numbers. It returns the settings that make it the target.
func recognise(data []byte, path string) (set []string, ok bool) {
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		var keys struct {
			System, Edges, Q, States json.RawMessage
			Domain                   json.RawMessage `json:"variable_domain"`
		}
		if json.Unmarshal(data, &keys) != nil || keys.System != nil || keys.Edges == nil && keys.Domain == nil || keys.Q != nil || keys.States != nil {
			return nil, false
		}
	} else if !spins.Numbers(data) || stateHeader.Match(data) {
		return nil, false
	}
	quoted, err := json.Marshal(path)
	return []string{"target.file=" + string(quoted)}, err == nil
}
