package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
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
	Schema        int                 `json:"schema"`
	Kind          string              `json:"kind"` // "model" or "checkpoint"
	System        string              `json:"system"`
	Step          int                 `json:"step"`
	Seconds       float64             `json:"seconds,omitempty"`       // of training, in a checkpoint
	MetricsBytes  int64               `json:"metrics_bytes,omitempty"` // length of metrics.jsonl at that step
	Evaluations   *engine.Evaluations `json:"evaluations,omitempty"`
	Path          string              `json:"path"` // kernel path that computed it
	Warnings      []string            `json:"warnings,omitempty"`
	AcceptanceSum float64             `json:"acceptance_sum,omitempty"` // over the stretch that the step is in
	Pending       *engine.Record      `json:"pending,omitempty"`        // of that step, while it is not in metrics.jsonl
	Refuge        *refuge             `json:"good,omitempty"`           // state to go back to
	Config        json.RawMessage     `json:"config"`
	Sections      []sectionHeader     `json:"sections"`
}

type sectionHeader struct {
	Name string `json:"name"`
	Type string `json:"type"` // "float32" or "float64"
	Len  int    `json:"len"`
}

func headerOf(s engine.Section) sectionHeader {
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

// encode writes a container to w, in chunks: checkpoints may be as large as
// memory.
func encode(w io.Writer, h header, sections []engine.Section) error {
	h.Schema = engine.SchemaVersion
	h.Sections = lists.Map(sections, headerOf)
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	if _, err := both.Write(append(binary.LittleEndian.AppendUint64([]byte(magic), uint64(len(head))), head...)); err != nil {
		return err
	}
	buffer := make([]byte, 0, chunkBytes)
	for numbers := range chunks(sections) {
		if _, err := both.Write(appendNumbers(buffer, numbers)); err != nil {
			return err
		}
	}
	_, err = w.Write(sum.Sum(nil))
	return err
}

const chunkBytes = 1 << 18

// chunks yields the numbers of sections in order, as []float32 or []float64 of at most chunkBytes.
func chunks(sections []engine.Section) iter.Seq[any] {
	return func(yield func(numbers any) bool) {
		for _, s := range sections {
			for x := range slices.Chunk(s.Float32, chunkBytes/4) {
				if !yield(x) {
					return
				}
			}
			for x := range slices.Chunk(s.Float64, chunkBytes/8) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// appendNumbers is binary.Append without its call for each number.
func appendNumbers(dst []byte, numbers any) []byte {
	switch x := numbers.(type) {
	case []float32:
		for _, v := range x {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	case []float64:
		for _, v := range x {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	}
	return dst
}

// writeFile writes a container under path.
func writeFile(path string, h header, sections []engine.Section) error {
	return disk.Replace(path, func(w io.Writer) error { return encode(w, h, sections) }, func() error { return nil })
}

// A FileError reports a model or checkpoint file that cannot be used.
type FileError struct {
	Path   string
	Reason string
}

func (e *FileError) Error() string { return e.Path + ": " + e.Reason }

func fileErrorf(path, format string, args ...any) error {
	return &FileError{path, fmt.Sprintf(format, args...)}
}

// maxFile and maxHeader bound the bytes that are read into memory before they are known to be
// a container's. No container is as large.
const (
	maxFile   = 1 << 36
	maxHeader = 1 << 26
)

// readFile reads and checks a container of the given kind. It returns the header and the
// bytes of all sections.
func readFile(path, kind string) (*header, []byte, error) {
	file, size, err := disk.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	h, start, err := readHeader(path, file, size, kind)
	if err != nil {
		return nil, nil, err
	}
	data := make([]byte, size-int64(len(start)))
	sum := sha256.New()
	sum.Write(start)
	content := data[:len(data)-sha256.Size]
	for chunk := range slices.Chunk(content, chunkBytes) {
		if _, err := io.ReadFull(file, chunk); err != nil {
			return nil, nil, fileErrorf(path, "%v", disk.Cause(err))
		}
		sum.Write(chunk)
	}
	checksum := data[len(content):]
	if _, err := io.ReadFull(file, checksum); err != nil {
		return nil, nil, fileErrorf(path, "%v", disk.Cause(err))
	}
	if !bytes.Equal(sum.Sum(nil), checksum) {
		return nil, nil, fileErrorf(path, "damaged: its checksum does not match its content (truncated, or changed on disk)")
	}
	if h.Schema != engine.SchemaVersion {
		return nil, nil, fileErrorf(path, "schema version %d; this program reads version %d", h.Schema, engine.SchemaVersion)
	}
	if h.Kind != kind {
		return nil, nil, fileErrorf(path, "holds a %s, not a %s", h.Kind, kind)
	}
	return h, content, nil
}

// readHeader reads a container up to its sections. It returns the header and the
// bytes that were read. It has checked only that the file is as long as the header says.
func readHeader(path string, file io.Reader, size int64, kind string) (*header, []byte, error) {
	start := make([]byte, min(size, 16))
	if _, err := io.ReadFull(file, start); err != nil {
		return nil, nil, fileErrorf(path, "%v", disk.Cause(err))
	}
	if len(start) < 8 || string(start[:7]) != magic[:7] {
		return nil, nil, fileErrorf(path, "not a RevGen %s file", kind)
	}
	if start[7] != magic[7] {
		return nil, nil, fileErrorf(path, "container version %d; this program reads version %d", start[7], magic[7])
	}
	if size < 16+sha256.Size {
		return nil, nil, fileErrorf(path, "truncated: %d bytes are too few for a %s", size, kind)
	}
	if size > maxFile {
		return nil, nil, fileErrorf(path, "%d bytes are too many for a %s", size, kind)
	}
	n := binary.LittleEndian.Uint64(start[8:])
	if n > min(maxHeader, uint64(size)-16-sha256.Size) {
		return nil, nil, fileErrorf(path, "damaged: a header of %d bytes does not fit", n)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(file, head); err != nil {
		return nil, nil, fileErrorf(path, "%v", disk.Cause(err))
	}
	h := new(header)
	if err := json.Unmarshal(head, h); err != nil {
		return nil, nil, fileErrorf(path, "damaged header: %v", err)
	}
	want := int64(16+sha256.Size) + int64(n)
	for _, s := range h.Sections {
		length, err := s.bytes()
		if err != nil {
			return nil, nil, fileErrorf(path, "damaged: %v", err)
		}
		want += int64(length)
	}
	if want != size {
		return nil, nil, fileErrorf(path, "damaged: it has %d bytes where its header says %d (truncated, or changed on disk)", size, want)
	}
	return h, append(start, head...), nil
}

// fill copies a container's sections into those that the program expects.
func fill(path string, h *header, data []byte, want []engine.Section) error {
	if len(want) != len(h.Sections) {
		return fileErrorf(path, "holds %d sections where the configuration needs %d", len(h.Sections), len(want))
	}
	for i := range want {
		if got, need := h.Sections[i], headerOf(want[i]); got != need {
			return fileErrorf(path, "section %d is %s (%d × %s) where the configuration needs %s (%d × %s)",
				i, got.Name, got.Len, got.Type, need.Name, need.Len, need.Type)
		}
	}
	for numbers := range chunks(want) {
		n, _ := binary.Decode(data, binary.LittleEndian, numbers) // as long as the header says
		data = data[n:]
	}
	return nil
}
