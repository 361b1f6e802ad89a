// Package batch runs lists of jobs: it reads them from lines of JSON, multiplies grids out, spreads
// them over the processors, and keeps a journal of finished jobs, with which an interrupted batch
// continues. What a job does is up to the caller.
package batch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/ndjson"
)

// A Verb is what a job can do.
type Verb struct {
	Name   string
	Writes bool     // the job has an output
	Suffix string   // of the output's name, unless that is given
	Files  []string // keys that name further files that the job writes
	Shares []string // verbs whose names are also keys of this one's jobs
}

// An Origin is what the jobs of one line of a list have in common.
type Origin struct {
	Line     int // of the list, counted from 1; 0 for jobs that stand in none
	Verb     string
	Args     []string
	Given    []ndjson.Member // flags of the verb, by their long names
	Settings []ndjson.Member // values of the configuration, by their paths
	id, out  string          // as the line gives them; empty if it does not
	files    []string        // keys of Verb.Files
	grid     []ndjson.Member // lists of values; the last list varies fastest
}

// A Job is one entry of a batch. A batch may have a million jobs, so that a Job has only what
// tells it from the others of its Origin.
type Job struct {
	*Origin
	Index int     // in the batch, grids multiplied out
	ID    string  // unique in the batch, and fit to be a file's name
	Out   string  // path of the output; empty if the verb writes none
	Cost  float64 // expected time, in any unit
	Bytes float64 // expected memory

	digest    [16]byte // of all that decides what the job does
	dependsOn int      // index of the job whose output it reads, -1 for none
	point     int      // number of its point in the grid
}

// Point returns the values of the job's point in the grid. Flags and Set have them too.
func (j *Job) Point() []ndjson.Member {
	point, rest := make([]ndjson.Member, len(j.grid)), j.point
	for i := len(point) - 1; i >= 0; i-- {
		values := j.grid[i].Value.Items
		point[i] = ndjson.Member{Key: j.grid[i].Key, Value: values[rest%len(values)]}
		rest /= len(values)
	}
	return point
}

// Flags returns the verb's flags, by their long names.
func (j *Job) Flags() []ndjson.Member { return j.addPoint(j.Given, false) }

// Set returns the values of the configuration, by their paths.
func (j *Job) Set() []ndjson.Member { return j.addPoint(j.Settings, true) }

// Values returns what the job sets, by flags and paths. If a key is set twice, the last one counts.
func (j *Job) Values() (all []ndjson.Member) {
	add := func(m ndjson.Member) {
		all = append(slices.DeleteFunc(all, func(o ndjson.Member) bool { return o.Key == m.Key }), m)
	}
	for _, m := range j.Flags() {
		if path, value, ok := strings.Cut(m.Value.Text, "="); ok && m.Key == "set" { // train --grid passes --set as text
			m = ndjson.Member{Key: path, Value: parseWord(value)}
		}
		add(m)
	}
	for _, m := range j.Set() {
		for path, value := range leaves(m.Key, &m.Value) {
			add(ndjson.Member{Key: path, Value: *value})
		}
	}
	return all
}

// addPoint appends the values of the job's point whose keys are paths of the configuration, which
// have dots, or else those whose keys are flags.
func (j *Job) addPoint(all []ndjson.Member, paths bool) []ndjson.Member {
	all = all[:len(all):len(all)]
	for _, m := range j.Point() {
		if strings.Contains(m.Key, ".") == paths {
			all = append(all, m)
		}
	}
	return all
}

// maxListBytes bounds the text of a list, which takes some ten times as much memory. Tests replace
// it.
var maxListBytes int64 = 1 << 27

var lineLimits = ndjson.Limits{Bytes: 1 << 20, Depth: 32}

const (
	maxJobs     = 1 << 20
	maxProblems = 10  // that are listed
	maxID       = 200 // bytes; names of files may have 255, with their suffix
)

// Read reads a list of jobs, one JSON object a line. Jobs that name no output get one in dir. The
// error lists the first ten wrong lines, and counts the others.
func Read(r io.Reader, verbs []Verb, dir string) ([]*Job, error) {
	limited := &io.LimitedReader{R: r, N: maxListBytes + 1}
	var jobs []*Job
	var problems problemList
	err := ndjson.Each(limited, lineLimits, func(line int, v *ndjson.Value, reason string) {
		if reason != "" {
			problems.add(&ndjson.Error{Line: line, Reason: reason})
			return
		}
		origin, grid, err := parse(v, verbs)
		if err == nil {
			origin.Line = line
			if origin.id == "" {
				origin.id = fmt.Sprint(line)
			}
			jobs, err = Multiply(jobs, origin, grid, verbs, dir)
		}
		if err != nil {
			problems.add(fmt.Errorf("line %d: %w", line, err))
		}
	})
	switch {
	case limited.N == 0:
		return nil, fmt.Errorf("longer than %d bytes; let grids stand for their jobs, or divide the list", maxListBytes)
	case err != nil:
		return nil, err
	}
	return jobs, problems.end()
}

// A problemList collects the errors of a list of jobs.
type problemList struct {
	listed  []error
	omitted int
}

func (p *problemList) add(err error) {
	if len(p.listed) == maxProblems {
		p.omitted++
		return
	}
	p.listed = append(p.listed, err)
}

func (p *problemList) end() error {
	if p.omitted > 0 {
		return errors.Join(append(p.listed, fmt.Errorf("and %d more", p.omitted))...)
	}
	return errors.Join(p.listed...)
}

func parse(v *ndjson.Value, verbs []Verb) (job *Origin, grid []ndjson.Member, err error) {
	if v.Kind != ndjson.Object {
		return nil, nil, fmt.Errorf("%s where an object is needed", v.Kind)
	}
	job = new(Origin)
	for _, m := range v.Members {
		switch value := m.Value; {
		case m.Key == "id":
			job.id, err = text(m)
		case m.Key == "out":
			if job.out, err = text(m); err == nil && job.out == "" {
				err = errors.New("out: is empty")
			}
		case m.Key == "set":
			job.Settings, err = settings(m)
		case m.Key == "grid":
			if value.Kind != ndjson.Object {
				err = fmt.Errorf("grid: %s where an object of lists is needed", value.Kind)
			}
			grid = value.Members
		case find(verbs, m.Key) == nil || shared(v, verbs, m.Key):
			job.Given = append(job.Given, m)
		case job.Verb != "":
			err = fmt.Errorf("%s and %s: a job has one verb", job.Verb, m.Key)
		default:
			job.Verb = m.Key
			job.Args, err = arguments(m)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if job.Verb == "" {
		names := lists.Map(verbs, func(v Verb) string { return v.Name })
		return nil, nil, fmt.Errorf("no verb; a job has one of %s as a key", strings.Join(names, ", "))
	}
	return job, grid, nil
}

// shared reports whether name, that of a verb, is a key of the job's own verb, as Verb.Shares says.
func shared(v *ndjson.Value, verbs []Verb, name string) bool {
	return slices.ContainsFunc(v.Members, func(m ndjson.Member) bool {
		verb := find(verbs, m.Key)
		return verb != nil && slices.Contains(verb.Shares, name)
	})
}

func find(verbs []Verb, name string) *Verb {
	if i := slices.IndexFunc(verbs, func(v Verb) bool { return v.Name == name }); i >= 0 {
		return &verbs[i]
	}
	return nil
}

func text(m ndjson.Member) (string, error) {
	if m.Value.Kind != ndjson.String {
		return "", fmt.Errorf("%s: %s where a string is needed", m.Key, m.Value.Kind)
	}
	return m.Value.Text, nil
}

// arguments returns the arguments of a verb, whose value is a string or a list of strings.
func arguments(m ndjson.Member) (all []string, err error) {
	if m.Value.Kind == ndjson.String {
		return []string{m.Value.Text}, nil
	}
	if m.Value.Kind != ndjson.List {
		return nil, fmt.Errorf("%s: %s where its argument is needed, a string, or several in a list", m.Key, m.Value.Kind)
	}
	for _, item := range m.Value.Items {
		if item.Kind != ndjson.String {
			return nil, fmt.Errorf("%s: %s among the arguments, which are strings", m.Key, item.Kind)
		}
		all = append(all, item.Text)
	}
	return all, nil
}

// settings returns the values of the configuration. It refuses values that set a path twice, such
// as {"a.b": 1, "a": {"b": 2}}.
func settings(m ndjson.Member) ([]ndjson.Member, error) {
	if m.Value.Kind != ndjson.Object {
		return nil, fmt.Errorf("%s: %s where an object is needed, such as {\"target.beta\": 0.3}", m.Key, m.Value.Kind)
	}
	keyOf := make(map[string]string)
	for _, inner := range m.Value.Members {
		for path := range leaves(inner.Key, &inner.Value) {
			if other, twice := keyOf[path]; twice {
				return nil, fmt.Errorf("%s: %q and %q both say %s; remove one", m.Key, other, inner.Key, path)
			}
			keyOf[path] = inner.Key
		}
	}
	return m.Value.Members, nil
}

// leaves yields the paths and the values below an object, or path and v themselves if v is none.
func leaves(path string, v *ndjson.Value) iter.Seq2[string, *ndjson.Value] {
	return func(yield func(string, *ndjson.Value) bool) {
		if v.Kind != ndjson.Object {
			yield(path, v)
			return
		}
		for i := range v.Members {
			for below, value := range leaves(path+"."+v.Members[i].Key, &v.Members[i].Value) {
				if !yield(below, value) {
					return
				}
			}
		}
	}
}

// Multiply appends the jobs of a line, one for each point of its grid.
func Multiply(jobs []*Job, origin *Origin, grid []ndjson.Member, verbs []Verb, dir string) ([]*Job, error) {
	verb := find(verbs, origin.Verb)
	if origin.out != "" && !verb.Writes {
		return jobs, fmt.Errorf("out: %s writes nothing", verb.Name)
	}
	origin.files = verb.Files
	total := 1
	for _, m := range grid {
		if sets(origin.Settings, m.Key) || sets(origin.Given, m.Key) {
			return jobs, fmt.Errorf("grid: %s: the job says it already", m.Key)
		}
		values, err := Axis(m.Value)
		if err != nil {
			return jobs, fmt.Errorf("grid: %s: %w", m.Key, err)
		}
		origin.grid = append(origin.grid, ndjson.Member{Key: m.Key, Value: ndjson.Value{Kind: ndjson.List, Items: values}})
		if total *= len(values); total > maxJobs {
			return jobs, fmt.Errorf("grid: more than %d jobs", maxJobs)
		}
	}
	for n := range total {
		job := &Job{Origin: origin, Index: len(jobs), point: n}
		if job.Index == maxJobs {
			return jobs, fmt.Errorf("more than %d jobs", maxJobs)
		}
		if err := job.name(verb, dir); err != nil {
			return jobs, err
		}
		job.digest = job.computeDigest()
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// sets reports whether one of the members sets a path.
func sets(all []ndjson.Member, path string) bool {
	return slices.ContainsFunc(all, func(m ndjson.Member) bool {
		for p := range leaves(m.Key, &m.Value) {
			if p == path {
				return true
			}
		}
		return false
	})
}

// name sets a job's ID and Out. If the line names an output, the jobs of a grid write into it as a
// directory, each under its values.
func (j *Job) name(verb *Verb, dir string) error {
	point := j.pointName()
	switch j.ID = j.id; {
	case j.ID == "":
		j.ID = point
	case point != "":
		j.ID += "," + point
	}
	if strings.ContainsAny(j.ID, "/\x00") || strings.HasPrefix(j.ID, ".") || len(j.ID) > maxID {
		return fmt.Errorf("id: %.40q is no name of a file: at most %d bytes without /, the first no point", j.ID, maxID)
	}
	switch {
	case !verb.Writes:
	case j.out == "":
		j.Out = filepath.Join(dir, j.ID+verb.Suffix)
	case point != "":
		j.Out = filepath.Join(j.out, point+verb.Suffix)
	default:
		j.Out = j.out
	}
	return nil
}

// pointName writes the values of the job's point as a part of a file's name.
func (j *Job) pointName() string {
	var parts []string
	for _, m := range j.Point() {
		value := m.Value.Text
		if m.Value.Kind != ndjson.String {
			value = m.Value.String()
		}
		parts = append(parts, m.Key+"="+value)
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, strings.Join(parts, ","))
}

// computeDigest returns the digest of all that decides what a job does.
func (j *Job) computeDigest() (digest [16]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", j.Verb, j.Args, j.Out)
	for _, m := range append(j.Flags(), j.Set()...) {
		fmt.Fprintf(h, " %q %s", m.Key, m.Value.String())
	}
	copy(digest[:], h.Sum(nil))
	return digest
}

// A Place says where the jobs of a batch may write.
type Place struct {
	Dir          string   // of the batch
	Reserved     []string // files that the batch writes or reads, and no job may write
	AllowOutside bool     // jobs may write outside Dir
}

// Link makes jobs that read an output depend on the job that writes it. It refuses an id or an
// output that two jobs have, an output that the batch has reserved, and one outside its directory
// unless that is allowed.
func Link(jobs []*Job, place Place) error {
	var problems problemList
	ids, outs, reserved := make(map[string]*Job), make(map[string]*Job), make(map[string]bool)
	for _, path := range place.Reserved {
		reserved[disk.RealPath(path)] = true
	}
	home := disk.RealPath(place.Dir)
	for _, j := range jobs {
		j.dependsOn = -1
		if other := ids[j.ID]; other != nil {
			problems.add(fmt.Errorf("%s: id: %q is that of %s too", j.location(), j.ID, other.location()))
		}
		ids[j.ID] = j
		for _, out := range j.outputs() {
			path := disk.RealPath(out)
			sameFile := func(path string) bool { return disk.Same(path, out) }
			relative, err := filepath.Rel(home, path)
			switch other := outs[path]; {
			case reserved[path] || slices.ContainsFunc(place.Reserved, sameFile):
				problems.add(fmt.Errorf("%s: out: %s is the batch's own; give the job another id, or another out", j.location(), out))
			case other == j:
				problems.add(fmt.Errorf("%s: writes %s twice", j.location(), out))
			case other != nil:
				problems.add(fmt.Errorf("%s: out: %s is where %s writes too", j.location(), out, other.location()))
			case !place.AllowOutside && (err != nil || !filepath.IsLocal(relative)):
				problems.add(fmt.Errorf("%s: out: %s is outside %s, the batch's directory; write %s, or allow it by --allow-outside", j.location(), out, place.Dir, filepath.Join(place.Dir, filepath.Base(out))))
			}
			outs[path] = j
		}
	}
	for _, j := range jobs {
		for _, path := range j.inputs() {
			from := writer(outs, disk.RealPath(path))
			switch {
			case from == nil || from == j:
			case from.Index > j.Index:
				problems.add(fmt.Errorf("%s: reads %s, which %s writes: put that before it", j.location(), path, from.location()))
			case j.dependsOn >= 0 && j.dependsOn != from.Index:
				problems.add(fmt.Errorf("%s: reads what two others write, %s and %s", j.location(), jobs[j.dependsOn].location(), from.location()))
			default:
				j.dependsOn = from.Index
			}
		}
	}
	return problems.end()
}

func (j *Job) location() string {
	if j.Line == 0 {
		return j.ID
	}
	return fmt.Sprintf("line %d", j.Line)
}

// outputs returns the paths that the job writes.
func (j *Job) outputs() (paths []string) {
	for _, m := range j.Flags() {
		if m.Value.Kind == ndjson.String && slices.Contains(j.files, m.Key) {
			paths = append(paths, m.Value.Text)
		}
	}
	if j.Out != "" {
		paths = append(paths, j.Out)
	}
	return paths
}

// inputs returns the arguments, and the flags whose values are strings, since any of them may be a
// path that the job reads.
func (j *Job) inputs() []string {
	paths := j.Args[:len(j.Args):len(j.Args)]
	for _, m := range j.Flags() {
		if m.Value.Kind == ndjson.String && m.Value.Text != "" && !slices.Contains(j.files, m.Key) {
			paths = append(paths, m.Value.Text)
		}
	}
	return paths
}

// writer returns the job that writes a path or a directory above it, nil if none does.
func writer(outs map[string]*Job, path string) *Job {
	for {
		if j := outs[path]; j != nil {
			return j
		}
		above := filepath.Dir(path)
		if above == path {
			return nil
		}
		path = above
	}
}

// Shard returns the jobs of part i of n. A job is in the part of the job that it depends on.
func Shard(jobs []*Job, i, n uint64) (part []*Job) {
	for _, j := range jobs {
		root := j
		for root.dependsOn >= 0 {
			root = jobs[root.dependsOn]
		}
		if uint64(root.Index)%n == i {
			part = append(part, j)
		}
	}
	return part
}
