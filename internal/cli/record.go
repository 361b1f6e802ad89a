package cli

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/version"
)

// A sampleRecord stands beside a file of samples, and says all that is needed to make the same bytes
// again.
type sampleRecord struct {
	Schema  int    `json:"schema"`
	Kind    string `json:"kind"` // recordKind
	File    string `json:"file"`
	Model   string `json:"model"` // run.Model.Hash
	System  string `json:"system"`
	Target  string `json:"target,omitempty"`
	Seed    uint64 `json:"seed"`
	First   uint64 `json:"first"` // number of the first sample in the seed's stream
	Samples uint64 `json:"samples"`
	Refine  int    `json:"refine"` // Metropolis steps after generation
	// Exact says what exact draws are worth; First and Samples then count draws. It is nil for
	// samples of the generator.
	Exact  *engine.Exactness `json:"exact,omitempty"`
	Format string            `json:"format"`
	Path   string            `json:"path"` // kernel path
	run.Provenance
	SHA256 string `json:"sha256,omitempty"` // recordSum of the rest
}

const recordKind = "samples"

// recordSum returns the hash of a record without its key sha256: of the keys in alphabetical order,
// without blanks.
func recordSum(data []byte) string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return ""
	}
	delete(keys, "sha256")
	rest, _ := json.Marshal(keys)
	return fmt.Sprintf("%x", sha256.Sum256(rest))
}

// readRecord reads a record, and checks its hash: with a wrong digit in it, sample would draw used
// samples again. Records of former versions have no hash.
func readRecord(path string) (r sampleRecord, err error) {
	data, err := disk.Read(path, maxConfig)
	if err != nil {
		return r, err
	}
	if json.Unmarshal(data, &r) != nil || r.Kind != recordKind || r.SHA256 != "" && r.SHA256 != recordSum(data) {
		return r, &run.FileError{Path: path, Reason: "is no longer what was written beside the samples; delete it, and say with --first where to begin"}
	}
	return r, nil
}

// programName returns the name and version of the program.
func programName() string { return "revgen " + version.Read().String() }

func recordPath(array string) string { return array + ".json" }

// checkSuffix refuses a name whose suffix is not that of a NumPy array. Devices and pipes may have
// any.
func checkSuffix(flag, array string) error {
	suffix := filepath.Ext(array)
	if info, err := os.Stat(array); suffix == "" || suffix == ".npy" || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	return usagef("%s: %s: what is written is a NumPy array, and no %s file; let the name end in .npy", flag, array, suffix)
}

// checkRecord refuses an array whose record would overwrite a file that is no record.
func checkRecord(array string) error {
	data, err := disk.Read(recordPath(array), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var old sampleRecord
	if err == nil && (json.Unmarshal(data, &old) != nil || old.Kind != recordKind) {
		return usagef("-o: %s, where the record of %s would go, is something else; choose another name", recordPath(array), array)
	}
	return nil
}

// writeRecord writes the record of an array, if the array is a regular file.
func writeRecord(r sampleFile, cfg engine.Config, model *run.Model) error {
	if info, err := os.Stat(r.path); err != nil || !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	path, _, _ := asm.Active()
	shared := cfg.Shared()
	record := sampleRecord{
		Schema: engine.SchemaVersion, Kind: recordKind, File: filepath.Base(r.path),
		Model: model.Hash(), System: shared.System,
		Seed: shared.Training.Seed, First: r.first, Samples: r.n, Refine: r.refine, Exact: r.exactness(), Format: r.format.Name,
		Path: path.String(), Provenance: run.Here(programName()),
	}
	if d, ok := cfg.(engine.Explainer); ok {
		record.Target = d.Describe()
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	record.SHA256 = recordSum(data)
	return disk.WriteJSON(recordPath(r.path), record)
}

// usedSamples returns how many samples, from the first of the training seed's stream on, the run has
// measured or left in samples.npy.
func usedSamples(path string, cfg engine.Config) (uint64, error) {
	n := uint64(cfg.Shared().Evaluation.Samples)
	r, err := readRecord(recordPath(filepath.Join(path, "samples.npy")))
	if errors.Is(err, fs.ErrNotExist) {
		r, err = readRecord(filepath.Join(path, "samples.json")) // as programs before 0.2 left it
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // the run left none, or path is a model
		return n, nil
	case err == nil && r.Seed == cfg.Shared().Training.Seed:
		n = max(n, r.First+r.Samples)
	}
	return n, err
}

// diagnosisFile is the file of diagnose in a run directory.
const diagnosisFile = "diagnosis.json"
