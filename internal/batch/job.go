// Package batch runs lists of jobs: it reads them from lines of JSON, multiplies
// grids out, spreads them over the processors, and keeps a journal of what is
// finished, from which a batch that was interrupted goes on. What a job does is
// the caller's.
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
	Name string
	// Writes says that the job has an output, whose name ends in Suffix if it is
	// not given.
	Writes bool
	Suffix string
	// Files are the keys that name files which it writes besides.
	Files []string
	// Shares lists the verbs whose names are keys of this one's jobs as well.
	Shares []string
}

// An Origin is what the jobs of one line of a list have in common.
type Origin struct {
	Line     int // of the list, counted from 1; 0 for jobs that stand in none
	Verb     string
	Args     []string
	Given    []ndjson.Member // flags of the verb, by their long names
	Settings []ndjson.Member // what is set of a configuration, by its path
	id, out  string
	files    []string        // keys of Verb.Files
	grid     []ndjson.Member // lists, whose last varies fastest
}

// A Job is one entry of a batch. There may be a million of them, which have of their own
// only what tells them from each other.
type Job struct {
	*Origin
	Index int     // in the batch, grids multiplied out
	ID    string  // unique in the batch, and fit to be a file's name
	Out   string  // what it writes; empty if it writes nothing
	Cost  float64 // what it takes, relative to the others
	Bytes float64 // of memory

	digest [16]byte
	after  int // index of the job whose output it reads, -1 for none
	point  int // of the grid
}

// Point returns the values of the grid, which are among the others too.
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
func (j *Job) Flags() []ndjson.Member { return j.with(j.Given, false) }

// Set returns what is set of a configuration, by its path.
func (j *Job) Set() []ndjson.Member { return j.with(j.Settings, true) }

// Values returns what the job sets, by flags or paths, none twice: of what is said again the
// last.
func (j *Job) Values() (all []ndjson.Member) {
	add := func(m ndjson.Member) {
		all = append(slices.DeleteFunc(all, func(o ndjson.Member) bool { return o.Key == m.Key }), m)
	}
	for _, m := range j.Flags() {
		if path, value, ok := strings.Cut(m.Value.Text, "="); ok && m.Key == "set" { // of train --grid
			m = ndjson.Member{Key: path, Value: word(value)}
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

// with appends those values of the grid that are set, or that are flags.
func (j *Job) with(all []ndjson.Member, set bool) []ndjson.Member {
	all = all[:len(all):len(all)]
	for _, m := range j.Point() {
		if strings.Contains(m.Key, ".") == set {
			all = append(all, m)
		}
	}
	return all
}

// mostBytes bounds a list, which takes some ten times as many in memory. Tests replace it.
var mostBytes int64 = 1 << 27

// Limits of lists.
var lineLimits = ndjson.Limits{Bytes: 1 << 20, Depth: 32}

const (
	mostJobs  = 1 << 20
	mostNamed = 10  // errors that are listed
	longestID = 200 // bytes: file systems have 255
)

// Read reads a list of jobs, one JSON object a line. Those without an output of
// their own get one in dir. Every line that is wrong is reported, the first ten
// with their reasons.
func Read(r io.Reader, verbs []Verb, dir string) ([]*Job, error) {
	limited := &io.LimitedReader{R: r, N: mostBytes + 1}
	var all []*Job
	var wrong problems
	err := ndjson.Each(limited, lineLimits, func(line int, v *ndjson.Value, reason string) {
		if reason != "" {
			wrong.add(&ndjson.Error{Line: line, Reason: reason})
			return
		}
		origin, grid, err := parse(v, verbs)
		if err == nil {
			origin.Line = line
			if origin.id == "" {
				origin.id = fmt.Sprint(line)
			}
			all, err = Multiply(all, origin, grid, verbs, dir)
		}
		if err != nil {
			wrong.add(fmt.Errorf("line %d: %w", line, err))
		}
	})
	switch {
	case limited.N == 0:
		return nil, fmt.Errorf("longer than %d bytes; let grids stand for their jobs, or divide the list", mostBytes)
	case err != nil:
		return nil, err
	}
	return all, wrong.end()
}

// problems are what is wrong with a list.
type problems struct {
	first []error
	more  int
}

func (p *problems) add(err error) {
	if len(p.first) == mostNamed {
		p.more++
		return
	}
	p.first = append(p.first, err)
}

func (p *problems) end() error {
	if p.more > 0 {
		return errors.Join(append(p.first, fmt.Errorf("and %d more", p.more))...)
	}
	return errors.Join(p.first...)
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

// shared reports whether the name of a verb is a key of another verb of the job.
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

// arguments are those of a verb: a string or a list of strings.
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

// settings are what is set of a configuration, none of it twice, as {"a.b": 1, "a": {"b": 2}}
// would.
func settings(m ndjson.Member) ([]ndjson.Member, error) {
	if m.Value.Kind != ndjson.Object {
		return nil, fmt.Errorf("%s: %s where an object is needed, such as {\"target.beta\": 0.3}", m.Key, m.Value.Kind)
	}
	spelt := make(map[string]string)
	for _, inner := range m.Value.Members {
		for path := range leaves(inner.Key, &inner.Value) {
			if other, twice := spelt[path]; twice {
				return nil, fmt.Errorf("%s: %q and %q both say %s; remove one", m.Key, other, inner.Key, path)
			}
			spelt[path] = inner.Key
		}
	}
	return m.Value.Members, nil
}

// leaves are the paths of the values below one, or its own, with the values.
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

// Multiply appends the jobs that a line and its grid come to.
func Multiply(all []*Job, of *Origin, grid []ndjson.Member, verbs []Verb, dir string) ([]*Job, error) {
	verb := find(verbs, of.Verb)
	if of.out != "" && !verb.Writes {
		return all, fmt.Errorf("out: %s writes nothing", verb.Name)
	}
	of.files = verb.Files
	total := 1
	for _, m := range grid {
		if said(of.Settings, m.Key) || said(of.Given, m.Key) {
			return all, fmt.Errorf("grid: %s: the job says it already", m.Key)
		}
		values, err := Axis(m.Value)
		if err != nil {
			return all, fmt.Errorf("grid: %s: %w", m.Key, err)
		}
		of.grid = append(of.grid, ndjson.Member{Key: m.Key, Value: ndjson.Value{Kind: ndjson.List, Items: values}})
		if total *= len(values); total > mostJobs {
			return all, fmt.Errorf("grid: more than %d jobs", mostJobs)
		}
	}
	for n := range total {
		job := &Job{Origin: of, Index: len(all), point: n}
		if job.Index == mostJobs {
			return all, fmt.Errorf("more than %d jobs", mostJobs)
		}
		if err := job.name(verb, dir); err != nil {
			return all, err
		}
		job.digest = job.sum()
		all = append(all, job)
	}
	return all, nil
}

// said reports whether one of the members is a path, or has it below.
func said(all []ndjson.Member, path string) bool {
	return slices.ContainsFunc(all, func(m ndjson.Member) bool {
		for p := range leaves(m.Key, &m.Value) {
			if p == path {
				return true
			}
		}
		return false
	})
}

// name gives a job its name and its output. Those of a grid are in out, each
// under its values.
func (j *Job) name(verb *Verb, dir string) error {
	point := j.pointName()
	switch j.ID = j.id; {
	case j.ID == "":
		j.ID = point
	case point != "":
		j.ID += "," + point
	}
	if strings.ContainsAny(j.ID, "/\x00") || strings.HasPrefix(j.ID, ".") || len(j.ID) > longestID {
		return fmt.Errorf("id: %.40q is no name of a file: at most %d bytes without /, the first no point", j.ID, longestID)
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

// pointName writes a grid's values as part of a file's name.
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

// sum is a digest of all that decides what a job does.
func (j *Job) sum() (digest [16]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", j.Verb, j.Args, j.Out)
	for _, m := range append(j.Flags(), j.Set()...) {
		fmt.Fprintf(h, " %q %s", m.Key, m.Value.String())
	}
	copy(digest[:], h.Sum(nil))
	return digest
}

// A Place is where a batch is at home.
type Place struct {
	Dir     string
	Own     []string // files that no job may write: the batch's, and what it reads
	Outside bool     // jobs may write outside Dir
}

// Link finds the jobs that read what others write, and reports names and outputs
// that two jobs have, or a job and the batch, and outputs outside the batch's directory.
func Link(jobs []*Job, at Place) error {
	var wrong problems
	ids, outs, taken := make(map[string]*Job), make(map[string]*Job), make(map[string]bool)
	for _, path := range at.Own {
		taken[disk.Real(path)] = true
	}
	home := disk.Real(at.Dir)
	for _, j := range jobs {
		j.after = -1
		if before := ids[j.ID]; before != nil {
			wrong.add(fmt.Errorf("%s: id: %q is that of %s too", j.where(), j.ID, before.where()))
		}
		ids[j.ID] = j
		for _, out := range j.outputs() {
			path := disk.Real(out)
			own := func(path string) bool { return disk.Same(path, out) }
			within, err := filepath.Rel(home, path)
			switch before := outs[path]; {
			case taken[path] || slices.ContainsFunc(at.Own, own):
				wrong.add(fmt.Errorf("%s: out: %s is the batch's own; give the job another id, or another out", j.where(), out))
			case before == j:
				wrong.add(fmt.Errorf("%s: writes %s twice", j.where(), out))
			case before != nil:
				wrong.add(fmt.Errorf("%s: out: %s is where %s writes too", j.where(), out, before.where()))
			case !at.Outside && (err != nil || !filepath.IsLocal(within)):
				wrong.add(fmt.Errorf("%s: out: %s is outside %s, the batch's directory; write %s, or allow it by --allow-outside", j.where(), out, at.Dir, filepath.Join(at.Dir, filepath.Base(out))))
			}
			outs[path] = j
		}
	}
	for _, j := range jobs {
		for _, path := range j.inputs() {
			from := writer(outs, disk.Real(path))
			switch {
			case from == nil || from == j:
			case from.Index > j.Index:
				wrong.add(fmt.Errorf("%s: reads %s, which %s writes: put that before it", j.where(), path, from.where()))
			case j.after >= 0 && j.after != from.Index:
				wrong.add(fmt.Errorf("%s: reads what two others write, %s and %s", j.where(), jobs[j.after].where(), from.where()))
			default:
				j.after = from.Index
			}
		}
	}
	return wrong.end()
}

func (j *Job) where() string {
	if j.Line == 0 {
		return j.ID
	}
	return fmt.Sprintf("line %d", j.Line)
}

func (j *Job) outputs() (all []string) {
	for _, m := range j.Flags() {
		if m.Value.Kind == ndjson.String && slices.Contains(j.files, m.Key) {
			all = append(all, m.Value.Text)
		}
	}
	if j.Out != "" {
		all = append(all, j.Out)
	}
	return all
}

// inputs are the arguments and the texts among the flags that may be paths.
func (j *Job) inputs() []string {
	all := j.Args[:len(j.Args):len(j.Args)]
	for _, m := range j.Flags() {
		if m.Value.Kind == ndjson.String && m.Value.Text != "" && !slices.Contains(j.files, m.Key) {
			all = append(all, m.Value.Text)
		}
	}
	return all
}

// writer returns the job that writes a path or a folder above it.
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

// Shard returns the jobs of part i of n, with those that read what another writes
// in the other's part.
func Shard(jobs []*Job, i, n uint64) (part []*Job) {
	for _, j := range jobs {
		root := j
		for root.after >= 0 {
			root = jobs[root.after]
		}
		if uint64(root.Index)%n == i {
			part = append(part, j)
		}
	}
	return part
}
