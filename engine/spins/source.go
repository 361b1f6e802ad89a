package spins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
)

// MaxFile is the length in bytes of the longest file that is read.
const MaxFile = 1 << 29

// A Format is the layout of a file and the meaning of its numbers w.
type Format string

// The formats. E is the energy of spins s = ±1 that Boltzmann's law e^(−βE) is
// made of.
const (
	// RevGen is JSON with the keys of Hamiltonian. w is J: E = −Σ w s s.
	RevGen Format = "revgen"
	// Rudy is that of the G-set and of the Biq Mac library, of the Max-Cut
	// problem: a line "n m" and m lines "i j w", numbered from 1. The heavier a
	// cut the lower its energy, E = +Σ w s s = Σ w − 2·cut, so J = −w.
	Rudy Format = "rudy"
	// COO is the coordinate list of D-Wave's dimod: lines "u v w", numbered from
	// 0, where u = v is a linear term, with a first line "# vartype=SPIN" or
	// "# vartype=BINARY". E = +Σ w s s + Σ w s, so J = −w and h = −w; binary
	// variables x = (1 + s)/2 become spins.
	COO Format = "coo"
	// QUBO is that of qbsolv: a line "p qubo 0 size linear quadratic" and lines
	// "i j w", numbered from 0, of binary variables, as in COO. Lines that begin
	// with c are comments.
	QUBO Format = "qubo"
	// BQPJSON is the format bqpjson of Los Alamos, of spins or of boolean
	// variables: E = scale·(Σ w s s + Σ w s + offset), so J = −scale·w.
	BQPJSON Format = "bqpjson"
)

// Formats are the names of all formats.
var Formats = []string{string(RevGen), string(Rudy), string(COO), string(QUBO), string(BQPJSON)}

// A Sign says what the numbers w of a file do.
type Sign string

// The signs.
const (
	// SignEnergy is E = +Σ w s s + Σ w s: J = −w and h = −w.
	SignEnergy Sign = "energy"
	// SignCoupling is E = −Σ w s s − Σ w s: J = w and h = w.
	SignCoupling Sign = "coupling"
)

// A Vartype is what the variables of a file are.
type Vartype string

// The types of variables.
const (
	VartypeSpin   Vartype = "spin"   // s = ±1
	VartypeBinary Vartype = "binary" // x = 0, 1, that is (1 + s)/2
)

// A Source says where a Hamiltonian is to be read from, and how.
type Source struct {
	// File is the path of a file that holds the energy; "" in a configuration that
	// holds it itself.
	File string `json:"file"`
	// Format is that of the file: revgen, rudy (G-set and Biq Mac), coo (dimod),
	// qubo (qbsolv) or bqpjson; "" for what its content looks like.
	Format Format `json:"format"`
	// Sign says what the numbers w of a file rudy or coo do: energy for
	// E = +Σ w s s, coupling for E = −Σ w s s; "" for the format's own, which is
	// energy: rudy is Max-Cut, J = −w.
	Sign Sign `json:"sign"`
	// Vartype is what the variables of a file coo are that does not say so: spin
	// or binary; "" otherwise.
	Vartype Vartype `json:"vartype"`
}

// Validate reports a value that cannot be used; the error begins with its key.
func (s *Source) Validate() error {
	switch {
	case s.File == "":
		return errors.New("file: is empty; name a file")
	case s.Format != "":
		if err := conf.OneOf("format", string(s.Format), Formats); err != nil {
			return err
		}
	}
	if s.Sign != "" {
		if err := conf.OneOf("sign", string(s.Sign), []string{string(SignEnergy), string(SignCoupling)}); err != nil {
			return err
		}
		if s.Format == RevGen || s.Format == QUBO || s.Format == BQPJSON {
			return fmt.Errorf("sign: format %s defines the sign; remove it", s.Format)
		}
	}
	if s.Vartype != "" {
		if err := conf.OneOf("vartype", string(s.Vartype), []string{string(VartypeSpin), string(VartypeBinary)}); err != nil {
			return err
		}
		if s.Format != "" && s.Format != COO {
			return fmt.Errorf("vartype: format %s defines what the variables are; remove it", s.Format)
		}
	}
	return nil
}

// A Reading is what was read, and by which conventions.
type Reading struct {
	Graph *Graph
	// Source is the given one, completed by what the content decided.
	Source
	variables Vartype
	SHA256    string // of the file's bytes, in hexadecimal
}

// Convention states in one line what the numbers of the file were taken for.
func (r *Reading) Convention() string {
	u, numbered, quarter := "spins s = ±1", 0, ""
	if r.Format == Rudy {
		numbered = 1
	}
	v := "s"
	if r.variables == VartypeBinary {
		u, v, quarter = "binary x = (1 + s)/2", "x", "/4"
	}
	u += fmt.Sprintf(" numbered from %d", numbered)
	switch {
	case r.Format == RevGen:
		return u + ", E = −Σ J s s − Σ h s + offset"
	case r.Format == BQPJSON:
		return fmt.Sprintf("%s, E = scale·(Σ w %[2]s %[2]s + Σ w %[2]s + offset), so J = −scale·w%[3]s", u, v, quarter)
	case r.Format == Rudy && r.Sign == SignEnergy:
		return u + ", Max-Cut, E = +Σ w s s, so J = −w"
	case r.Format == Rudy:
		return u + ", E = −Σ w s s, so J = w, not Max-Cut"
	case r.Sign == SignCoupling:
		return fmt.Sprintf("%s, E = −Σ w %[2]s %[2]s − Σ w %[2]s, so J = w%[3]s", u, v, quarter)
	}
	return fmt.Sprintf("%s, E = +Σ w %[2]s %[2]s + Σ w %[2]s, so J = −w%[3]s", u, v, quarter)
}

// String describes the file, its convention and its graph in one line, which
// whoever reads a file on behalf of a user prints.
func (r *Reading) String() string {
	return fmt.Sprintf("%s (%s: %s): %s", r.File, r.Format, r.Convention(), r.Graph)
}

// Read reads the file.
func (s Source) Read() (*Reading, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	data, err := disk.Read(s.File, MaxFile)
	if err != nil {
		return nil, err
	}
	return s.Parse(data)
}

// Parse is Read for data that is already in memory. Errors name it as File.
func (s Source) Parse(data []byte) (*Reading, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes are more than %d, which such a file never has", s.File, len(data), MaxFile)
	}
	if s.Format == "" {
		format, err := detect(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		completed := s
		completed.Format = format
		if err := completed.Validate(); err != nil {
			return nil, fmt.Errorf("%s: looks like format %s: %w", s.File, format, err)
		}
		if format == COO && (s.Vartype == "" || s.Sign == "") && !vartypeHeader.Match(data) {
			return nil, fmt.Errorf("%s: lines of three numbers alone do not say what they mean; set vartype to spin or binary, "+
				"and sign to energy (E = +Σ w s s, as in dimod) or coupling (E = −Σ w s s)", s.File)
		}
		s = completed
	}
	r := &Reading{Source: s}
	var h *Hamiltonian
	var err error
	switch s.Format {
	case RevGen:
		r.variables = VartypeSpin
		h, err = parseRevGen(s.File, data)
	case BQPJSON:
		h, err = r.parseBQP(data)
	default:
		h, err = r.parseText(data)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	r.SHA256 = hex.EncodeToString(sum[:])
	r.Graph = newGraph(h)
	return r, nil
}

// detect returns the format that the content looks like.
func detect(data []byte) (Format, error) {
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\ufeff"), []byte("{")) {
		if bytes.Contains(data, []byte(`"variable_domain"`)) {
			return BQPJSON, nil
		}
		return RevGen, nil
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		f := bytes.Fields(line)
		switch {
		case len(f) == 0 || f[0][0] == '#' || string(f[0]) == "c":
			continue
		case string(f[0]) == "p":
			return QUBO, nil
		case len(f) == 2:
			return Rudy, nil
		case len(f) == 3:
			return COO, nil
		}
		return "", fmt.Errorf("line %d, %s, is of no known format; there are %s", number, shorten(fmt.Sprintf("%q", bytes.TrimSuffix(line, []byte("\n")))), strings.Join(Formats, ", "))
	}
	return "", errors.New("holds nothing but comments")
}

// Numbers reports whether a text looks like one of the formats of lines: the first line
// that is no comment is a header or consists of numbers.
func Numbers(data []byte) bool {
	format, err := detect(data)
	if err != nil || format == QUBO {
		return err == nil
	}
	for line := range bytes.Lines(data) {
		f := bytes.Fields(line)
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		for _, word := range f {
			if _, err := parseNumber(string(word)); err != nil {
				return false
			}
		}
		return true
	}
	return false
}

// parseRevGen reads RevGen's own format.
func parseRevGen(file string, data []byte) (*Hamiltonian, error) {
	h := &Hamiltonian{}
	if err := conf.Decode(data, file, h); err != nil {
		return nil, err
	}
	if f := h.check(); f != nil {
		return nil, conf.At(data, file, f.path(), f.error())
	}
	return h, nil
}
