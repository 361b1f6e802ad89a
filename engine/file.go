package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/google/renameio/v2"
)

// Models and checkpoints share one container, the .rvg file:
//
//	8 bytes   magic "RevGen\x00\x01"; the last byte is the container's version
//	8 bytes   length of the header, little-endian
//	…         header, a JSON object
//	…         the sections' elements, little-endian, in the header's order
//	32 bytes  SHA-256 of all that precedes
//
// A file appears under its name whole or not at all, and is read whole or
// refused.
const magic = "RevGen\x00\x01"

type header struct {
	Schema   int             `json:"schema"`
	Kind     string          `json:"kind"` // "model" or "checkpoint"
	System   string          `json:"system"`
	Step     int             `json:"step"`
	Seconds  float64         `json:"seconds,omitempty"`       // of training, in a checkpoint
	Metrics  int64           `json:"metrics_bytes,omitempty"` // length of metrics.jsonl at that step
	Path     string          `json:"path"`                    // kernel path that computed it
	Config   json.RawMessage `json:"config"`
	Sections []sectionHeader `json:"sections"`
}

type sectionHeader struct {
	Name string `json:"name"`
	Type string `json:"type"` // "float32" or "float64"
	Len  int    `json:"len"`
}

func describe(s Section) sectionHeader {
	if s.Float64 != nil {
		return sectionHeader{s.Name, "float64", len(s.Float64)}
	}
	return sectionHeader{s.Name, "float32", len(s.Float32)}
}

func (s sectionHeader) bytes() (int, error) {
	size := map[string]int{"float32": 4, "float64": 8}[s.Type]
	if size == 0 || s.Len < 0 || s.Len > math.MaxInt32 {
		return 0, fmt.Errorf("section %q has %d elements of type %q", s.Name, s.Len, s.Type)
	}
	return size * s.Len, nil
}

// writeFile writes a container under path by way of a temporary file beside it.
func writeFile(path string, h header, sections []Section) error {
	h.Schema = SchemaVersion
	for i := range sections {
		h.Sections = append(h.Sections, describe(sections[i]))
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	data := append([]byte(magic), make([]byte, 8)...)
	binary.LittleEndian.PutUint64(data[8:], uint64(len(head)))
	data = append(data, head...)
	for _, s := range sections {
		if data, err = binary.Append(data, binary.LittleEndian, s.Float32); err != nil {
			return err
		}
		if data, err = binary.Append(data, binary.LittleEndian, s.Float64); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(data)
	return writeAtomically(path, append(data, sum[:]...))
}

// writeAtomically writes, syncs and renames, so that path holds its old or its
// new content at any time, whatever happens.
func writeAtomically(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, rootCause(err))
	}
	return nil
}

// rootCause strips the temporary file's name, which says nothing to a user.
func rootCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// A FileError reports a model or checkpoint file that cannot be used.
type FileError struct {
	Path   string
	Reason string
}

func (e *FileError) Error() string { return e.Path + ": " + e.Reason }

// readFile reads and checks a container of the given kind. It returns the
// header and the sections' bytes.
func readFile(path, kind string) (*header, [][]byte, error) {
	bad := func(format string, args ...any) (*header, [][]byte, error) {
		return nil, nil, &FileError{path, fmt.Sprintf(format, args...)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if len(data) < 8 || string(data[:7]) != magic[:7] {
		return bad("not a RevGen %s file", kind)
	}
	if data[7] != magic[7] {
		return bad("container version %d; this program reads version %d", data[7], magic[7])
	}
	if len(data) < 16+sha256.Size {
		return bad("truncated: %d bytes are too few for a %s", len(data), kind)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return bad("damaged: its checksum does not match its content (truncated, or changed on disk)")
	}
	n := binary.LittleEndian.Uint64(body[8:])
	if n > uint64(len(body)-16) {
		return bad("damaged: a header of %d bytes does not fit", n)
	}
	h := new(header)
	if err := json.Unmarshal(body[16:16+n], h); err != nil {
		return bad("damaged header: %v", err)
	}
	if h.Schema != SchemaVersion {
		return bad("schema version %d; this program reads version %d", h.Schema, SchemaVersion)
	}
	if h.Kind != kind {
		return bad("holds a %s, not a %s", h.Kind, kind)
	}
	rest := body[16+n:]
	var sections [][]byte
	for _, s := range h.Sections {
		size, err := s.bytes()
		if err != nil {
			return bad("%v", err)
		}
		if size > len(rest) {
			return bad("damaged: section %q does not fit", s.Name)
		}
		sections = append(sections, rest[:size])
		rest = rest[size:]
	}
	if len(rest) != 0 {
		return bad("damaged: %d bytes follow the last section", len(rest))
	}
	return h, sections, nil
}

// fill copies a container's sections into those that the program expects.
func fill(path string, h *header, data [][]byte, want []Section) error {
	if len(want) != len(h.Sections) {
		return &FileError{path, fmt.Sprintf("holds %d sections where the configuration needs %d", len(h.Sections), len(want))}
	}
	for i := range want {
		if got, need := h.Sections[i], describe(want[i]); got != need {
			return &FileError{path, fmt.Sprintf("section %d is %s (%d × %s) where the configuration needs %s (%d × %s)",
				i, got.Name, got.Len, got.Type, need.Name, need.Len, need.Type)}
		}
	}
	for i := range want {
		var err error
		if want[i].Float64 != nil {
			_, err = binary.Decode(data[i], binary.LittleEndian, want[i].Float64)
		} else {
			_, err = binary.Decode(data[i], binary.LittleEndian, want[i].Float32)
		}
		if err != nil {
			return &FileError{path, err.Error()}
		}
	}
	return nil
}

// A Model is a trained generator as a file holds it.
type Model struct {
	System string          // name of its system
	Config json.RawMessage // configuration of the run that trained it
	Params []float32
	Step   int    // steps of training behind it
	Path   string // kernel path that computed it
}

// ReadModel reads a model file, or the model of a run directory.
func ReadModel(path string) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = modelFile(path)
	}
	h, data, err := readFile(path, "model")
	if err != nil {
		return nil, err
	}
	if len(h.Sections) != 1 {
		return nil, &FileError{path, fmt.Sprintf("a model has one section, not %d", len(h.Sections))}
	}
	m := &Model{System: h.System, Config: h.Config, Step: h.Step, Path: h.Path, Params: make([]float32, h.Sections[0].Len)}
	return m, fill(path, h, data, []Section{{Name: "params", Float32: m.Params}})
}
