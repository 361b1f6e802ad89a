package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/ndjson"
)

var richVerbs = []Verb{{Name: "make", Writes: true, Suffix: ".npy", Files: []string{"log"}, Shares: []string{"look"}}, {Name: "look"}, {Name: "tell"}}

// TestMistakesOfLists: what is said of each, word for word.
func TestMistakesOfLists(t *testing.T) {
	id := strings.Repeat("x", 200)
	for line, want := range map[string]string{
		`[1]`: "a list where an object is needed", `{"id":3,"make":"a"}`: "id: a number where a string is needed", `{"out":3,"make":"a"}`: "out: a number where a string is needed",
		`{"out":"","make":"a"}`: "out: is empty", `{"make":"a","grid":[1]}`: "grid: a list where an object of lists is needed", `{"look":"a","tell":"b"}`: "look and tell: a job has one verb",
		`{"x":1}`: "no verb; a job has one of make, look, tell as a key", `{"make":3}`: "make: a number where its argument is needed, a string, or several in a list",
		`{"make":["a",3]}`: "make: a number among the arguments, which are strings", `{"make":"a","set":[1]}`: `set: a list where an object is needed, such as {"target.beta": 0.3}`,
		`{"look":"a","out":"b"}`: "out: look writes nothing", `{"make":"a","seed":1,"grid":{"seed":[1]}}`: "grid: seed: the job says it already", `{"make":"a","grid":{"seed":[]}}`: "grid: seed: the list is empty",
		`{"make":"a","grid":{"seed":3}}`: "grid: seed: a number where a list or a range first:last:step is needed", `{"make":"a","grid":{"a":"1:1048576:1","b":[1,2]}}`: "grid: more than 1048576 jobs",
		`{"make":"a","grid":{"a":"1:1048577:1"}}`: `grid: a: "1:1048577:1" has more than 1048576 values`, `{"make":"a","grid":{"a":"0:18446744073709551616:18446744073709551616"}}`: `grid: a: "0:18446744073709551616:18446744073709551616": 18446744073709551616 is beyond the whole numbers of 64 bits`,
		`{"make":"a","grid":{"a":"1:2"}}`: `grid: a: "1:2" is not a range first:last:step of decimal numbers, which have no exponents`, `{"make":"a","grid":{"a":"2:1:1"}}`: `grid: a: "2:1:1" never gets from 2 to 1`,
		`{"make":"a","id":"a/b"}`: `id: "a/b" is no name of a file: at most 200 bytes without /, the first no point`, `{"make":"a","id":".a"}`: `id: ".a" is no name of a file: at most 200 bytes without /, the first no point`,
		`{"make":"a","id":"` + id + `x"}`: fmt.Sprintf("id: %.40q is no name of a file: at most 200 bytes without /, the first no point", id), `{"make":"a","set":{"b.c":1,"b":{"c":2}}}`: `set: "b.c" and "b" both say b.c; remove one`,
		`{"make":"a","set":{"b.c":1},"grid":{"b.c":[1]}}`:                        "grid: b.c: the job says it already",
		`{"make":"a","set":{"b":{"c":1,"d":2},"e":3},"grid":{"b.c":[1]}}`:        "grid: b.c: the job says it already",
		`{"make":"a","set":{"b":{"c":{"d":1,"e":2},"f":3},"b.c":{"d":4,"g":5}}}`: `set: "b" and "b.c" both say b.c.d; remove one`,
	} {
		jobs, err := Read(strings.NewReader(line), richVerbs, "runs")
		require.EqualError(t, err, "line 1: "+want, line)
		require.Empty(t, jobs)
	}
	jobs, err := Read(strings.NewReader(`{"make":"a","id":"`+id+`"}`), richVerbs, "runs")
	require.NoError(t, err)
	require.Equal(t, "runs/"+id+".npy", jobs[0].Out)
	_, err = Read(strings.NewReader("{\"make\":\"a\"}\nx\n{}"), richVerbs, "runs")
	require.EqualError(t, err, "line 2: byte 1: invalid character 'x' looking for beginning of value\nline 3: no verb; a job has one of make, look, tell as a key")
	many := make([]*Job, maxJobs)
	all, err := Multiply(many[:maxJobs-1], &Origin{Verb: "make", Args: []string{"a"}, id: "z"}, nil, richVerbs, "runs")
	require.NoError(t, err)
	require.Len(t, all, maxJobs)
	_, err = Multiply(many, &Origin{Verb: "make", Args: []string{"a"}, id: "z"}, nil, richVerbs, "runs")
	require.EqualError(t, err, "more than 1048576 jobs")
	defer func(n int64) { maxListBytes = n }(maxListBytes)
	list := "{\"make\":\"a\"}\n"
	maxListBytes = int64(len(list))
	_, err = Read(strings.NewReader(list), richVerbs, "runs")
	require.NoError(t, err)
	maxListBytes--
	_, err = Read(strings.NewReader(list), richVerbs, "runs")
	require.EqualError(t, err, "longer than 12 bytes; let grids stand for their jobs, or divide the list")
}

// TestJobsOfLists: what jobs are called, write, read and set.
func TestJobsOfLists(t *testing.T) {
	jobs, err := Read(strings.NewReader(`{"make":["a","b"],"look":"c","log":"l.txt","set":{"x.y":{"z":1}},"grid":{"seed":[1,2],"t.b":"0.5:1:0.5"}}
{"tell":"runs/1,seed=1,t.b=0.5.npy"}
{"make":"","id":"named","out":"dir","grid":{"set":["p=3","q/r=x"]}}
{"make":"q","out":"file"}
`), richVerbs, "runs")
	require.NoError(t, err)
	type job struct {
		ID, Out, Values string
		Index, Line     int
		Outputs, Inputs []string
	}
	var got []job
	for _, j := range jobs {
		v := ndjson.Value{Kind: ndjson.Object, Members: j.Values()}
		got = append(got, job{j.ID, j.Out, v.String(), j.Index, j.Line, j.outputs(), j.inputs()})
	}
	grid := func(index, seed int, b string) job {
		id := fmt.Sprintf("1,seed=%d,t.b=%s", seed, b)
		return job{id, "runs/" + id + ".npy", fmt.Sprintf(`{"look":"c","log":"l.txt","seed":%d,"x.y.z":1,"t.b":%s}`, seed, b), index, 1, []string{"l.txt", "runs/" + id + ".npy"}, []string{"a", "b", "c"}}
	}
	require.Equal(t, []job{
		grid(0, 1, "0.5"), grid(1, 1, "1"), grid(2, 2, "0.5"), grid(3, 2, "1"),
		{"2", "", "{}", 4, 2, nil, []string{"runs/1,seed=1,t.b=0.5.npy"}},
		{"named,set=p=3", "dir/set=p=3.npy", `{"p":3}`, 5, 3, []string{"dir/set=p=3.npy"}, []string{"", "p=3"}},
		{"named,set=q_r=x", "dir/set=q_r=x.npy", `{"q/r":"x"}`, 6, 3, []string{"dir/set=q_r=x.npy"}, []string{"", "q/r=x"}},
		{"4", "file", "{}", 7, 4, []string{"file"}, []string{"q"}},
	}, got)
	require.Equal(t, []ndjson.Member{{Key: "seed", Value: jobs[3].Point()[0].Value}, {Key: "t.b", Value: jobs[3].Point()[1].Value}}, jobs[3].Point())
	require.Len(t, jobs[3].Flags(), 3)
	require.Len(t, jobs[3].Set(), 2)
	jobs[0].Line, jobs[0].ID = 0, "alone"
	require.Equal(t, "alone", jobs[0].location())
	for text, want := range map[string]string{"a=1:3:1": `a "1:3:1"`, " a = 1, b,true,\"x\"": `a [1,"b",true,"x"]`, "a=1,2,[3]": `a [1,2,[3]]`, "a=1\n,x": `a [1,"x"]`, "a=b:c": `a ["b:c"]`, "a=": "", "=1": "", "a": "", "a=1:0:1": "", "a=]": `a ["]"]`, "a=1 2": `a ["1 2"]`} {
		m, err := ParseGrid(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, m.Key+" "+m.Value.String(), text)
	}
	_, err = ParseGrid("a")
	require.EqualError(t, err, `"a" is not key=first:last:step or key=a,b,c`)
	all, err := Axis(ndjson.Value{Kind: ndjson.String, Text: "1." + strings.Repeat("0", 38) + ":1:1"})
	require.NoError(t, err, "forty characters")
	require.Len(t, all, 1)
	_, err = Axis(ndjson.Value{Kind: ndjson.String, Text: "1." + strings.Repeat("0", 39) + ":1:1"})
	require.Error(t, err)
	most, err := Axis(ndjson.Value{Kind: ndjson.String, Text: "1:1048576:1"})
	require.NoError(t, err)
	require.Len(t, most, maxJobs)
}

// TestJobsShareNothingThatChanges: what a job of a grid is told is not that of the next one, which
// has the same flags, settings and arguments.
func TestJobsShareNothingThatChanges(t *testing.T) {
	jobs, err := Read(strings.NewReader(`{"make":["a","b","c"],"d":1,"e":2,"f":3,"set":{"x.a":1,"x.b":2,"x.c":3},"grid":{"g":["one","two"],"x.g":[4,5]}}`), richVerbs, "runs")
	require.NoError(t, err)
	require.Len(t, jobs, 4)
	// With room for one more, as appending leaves it now and then.
	o := jobs[0].Origin
	o.Given, o.Settings, o.Args = append(make([]ndjson.Member, 0, 8), o.Given...), append(make([]ndjson.Member, 0, 8), o.Settings...), append(make([]string, 0, 8), o.Args...)
	var flags, set [][]ndjson.Member
	var inputs [][]string
	for _, j := range jobs {
		flags, set, inputs = append(flags, j.Flags()), append(set, j.Set()), append(inputs, j.inputs())
	}
	for k := range jobs {
		g := []string{"one", "two"}[k/2]
		require.Equal(t, []string{"g", g}, []string{flags[k][3].Key, flags[k][3].Value.Text})
		require.Equal(t, "x.g "+[]string{"4", "5"}[k%2], set[k][3].Key+" "+set[k][3].Value.String())
		require.Equal(t, []string{"a", "b", "c", g}, inputs[k])
	}
}

// TestLinks: names and places that are taken, and what is not in order, word for word.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "journal")
	require.NoError(t, os.WriteFile(own, nil, 0o600))
	require.NoError(t, os.Link(own, filepath.Join(dir, "other")))
	in := func(name string) string { return filepath.Join(dir, name) }
	for list, want := range map[string]string{
		`{"make":"","id":"a"}` + "\n" + `{"make":"","id":"a","out":"` + in("z") + `"}`:         `line 2: id: "a" is that of line 1 too`,
		`{"make":"","out":"` + own + `"}`:                                                      "line 1: out: " + own + " is the batch's own; give the job another id, or another out",
		`{"make":"","out":"` + in("other") + `"}`:                                              "line 1: out: " + in("other") + " is the batch's own; give the job another id, or another out",
		`{"make":"","log":"` + in("x") + `","out":"` + in("x") + `"}`:                          "line 1: writes " + in("x") + " twice",
		`{"make":"","out":"` + in("x") + `"}` + "\n" + `{"make":"","out":"` + in("./x") + `"}`: "line 2: out: " + in("./x") + " is where line 1 writes too",
		`{"make":"","out":"/elsewhere/x"}`:                                                     "line 1: out: /elsewhere/x is outside " + dir + ", the batch's directory; write " + in("x") + ", or allow it by --allow-outside",
		`{"look":"` + in("x") + `/model"}` + "\n" + `{"make":"","out":"` + in("x") + `"}`:      "line 1: reads " + in("x") + "/model, which line 2 writes: put that before it",
		`{"make":"","out":"` + in("x") + `"}` + "\n" + `{"make":"","out":"` + in("y") + `"}` + "\n" + `{"look":["` + in("x") + `","` + in("y") + `"]}`: "line 3: reads what two others write, line 1 and line 2",
		`{"make":"","out":"` + in("x") + `"}` + "\n" + `{"look":["` + in("x") + `","` + in("x/y") + `"]}`:                                              "",
		`{"make":"` + in("x") + `","out":"` + in("x") + `"}`:                                                                                           "",
	} {
		jobs, err := Read(strings.NewReader(list), []Verb{{Name: "make", Writes: true, Files: []string{"log"}}, {Name: "look"}}, dir)
		require.NoError(t, err, list)
		err = Link(jobs, Place{Dir: dir, Reserved: []string{own}})
		if want == "" {
			require.NoError(t, err, list)
		} else {
			require.EqualError(t, err, want)
		}
	}
	outside, err := Read(strings.NewReader(`{"make":"","out":"/elsewhere/x"}`), richVerbs, dir)
	require.NoError(t, err)
	require.NoError(t, Link(outside, Place{Dir: dir, AllowOutside: true}))
}

// TestNext: which job begins next beside others, and on how many threads.
func TestNext(t *testing.T) {
	job := func(index int, cost, bytes float64, after int) *Job {
		return &Job{Origin: &Origin{}, Index: index, Cost: cost, Bytes: bytes, dependsOn: after}
	}
	for name, c := range map[string]struct {
		s       *schedule
		job     int // −1 for none
		threads int
	}{
		"one of many": {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 1, -1), job(1, 1, 1, -1)}, freeCores: 3, running: 1, costShare: 1}, 0, 1},
		"two of five": {&schedule{Plan: &Plan{Cores: 5, Bytes: 10}, waiting: []*Job{job(0, 1, 1, -1), job(1, 1, 1, -1)}, freeCores: 5, costShare: 1}, 0, 2},
		"all":         {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 2, 1, -1), job(1, 1, 1, -1)}, freeCores: 4, costShare: 1}, 0, 4},
		"alone":       {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 2, 1, -1), job(1, 1, 1, -1)}, freeCores: 3, running: 1, costShare: 1}, -1, 0},
		"one core":    {&schedule{Plan: &Plan{Cores: 1, Bytes: 10}, waiting: []*Job{job(0, 2, 1, -1), job(1, 1, 1, -1)}, freeCores: 1, costShare: 1}, 0, 1},
		"no core":     {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 1, -1)}, freeCores: 0, running: 1, costShare: 1}, -1, 0},
		"full":        {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 3, -1)}, freeCores: 3, running: 1, usedBytes: 7.5, costShare: 1}, -1, 0},
		"just full":   {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 3, -1)}, freeCores: 3, running: 1, usedBytes: 7, costShare: 1}, 0, 3},
		"too large":   {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 30, -1)}, freeCores: 4, costShare: 1}, 0, 4},
		"waits":       {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 1, 7), job(1, 1, 1, 0)}, freeCores: 4, costShare: 1, outcome: map[int]outcome{0: {ended: true}}}, 1, 2},
		"all wait":    {&schedule{Plan: &Plan{Cores: 4, Bytes: 10}, waiting: []*Job{job(0, 1, 1, 7)}, freeCores: 4, costShare: 1}, -1, 0},
	} {
		n := len(c.s.waiting)
		got, threads := c.s.next()
		require.Equal(t, c.threads, threads, name)
		if c.job < 0 {
			require.Nil(t, got, name)
			require.Len(t, c.s.waiting, n, name)
			continue
		}
		require.Equal(t, c.job, got.Index, name)
		require.Len(t, c.s.waiting, n-1, name)
		require.NotContains(t, c.s.waiting, got, name)
	}
	s := &schedule{outcome: map[int]outcome{1: {"ok", 0, true}, 2: {"late", Stopped, true}, 3: {"bad", 1, true}}}
	require.Nil(t, s.blocked(job(0, 0, 0, -1)))
	require.Nil(t, s.blocked(job(0, 0, 0, 1)))
	s.outcome[0] = outcome{"first", 1, true}
	require.Equal(t, &Record{Exit: 1, Error: "it reads what first was to write, which did not"}, s.blocked(job(1, 0, 0, 0)))
	require.Equal(t, &Record{Exit: 75, Error: "it reads what late is to write, which was stopped"}, s.blocked(job(0, 0, 0, 2)))
	require.Equal(t, &Record{Exit: 1, Error: "it reads what bad was to write, which did not"}, s.blocked(job(0, 0, 0, 3)))
}

// TestFinishedJobs are not carried out again, and others may read what they wrote.
func TestFinishedJobs(t *testing.T) {
	jobs := read(t, `{"make":"","out":"a"}`, `{"make":"","out":"b"}`, `{"look":"a"}`, `{"look":"b"}`)
	require.NoError(t, Link(jobs, Place{AllowOutside: true}))
	for _, j := range jobs {
		j.Cost = 1
	}
	var begun []int
	said := map[int]string{}
	plan := Plan{Cores: 1, Bytes: 1, Do: nil, Started: func(j *Job) { begun = append(begun, j.Index) }, Ended: func(j *Job, r *Record) { said[j.Index] = r.Error }}
	plan.Do = func(_ context.Context, j *Job, threads int) *Record { return &Record{Threads: threads} }
	plan.Run(t.Context(), jobs, map[int]Entry{0: {Exit: 0}, 1: {Exit: 1}})
	require.Equal(t, []int{2}, begun)
	require.Equal(t, map[int]string{2: "", 3: "it reads what 2 was to write, which did not"}, said)
}

// TestShares: jobs that cost no more than a core's share of what is left to do are carried out on a
// thread each, and one that costs more on all, whatever finished jobs have cost.
func TestShares(t *testing.T) {
	for last, threads := range map[float64][]int{3: {1, 1}, 3.5: {2, 2}} {
		jobs := read(t, `{"look":"a"}`, `{"look":"b"}`, `{"look":"c"}`)
		require.NoError(t, Link(jobs, Place{AllowOutside: true}))
		for i, cost := range []float64{100, 3, last} {
			jobs[i].Cost = cost
		}
		got := make([]int, 2)
		var mutex sync.Mutex
		plan := Plan{Cores: 2, Bytes: 1, Started: func(*Job) {}, Ended: func(*Job, *Record) {}}
		plan.Do = func(_ context.Context, j *Job, threads int) *Record {
			mutex.Lock()
			defer mutex.Unlock()
			got[j.Index-1] = threads
			return new(Record)
		}
		plan.Run(t.Context(), jobs, map[int]Entry{0: {}})
		require.Equal(t, threads, got, last)
	}
}

// TestJournalsOfTries: the last record of a job tells whether it is finished, and where its record is.
func TestJournalsOfTries(t *testing.T) {
	jobs := read(t, `{"look":"a","id":"a"}`, `{"look":"b","id":"b"}`)
	path := filepath.Join(t.TempDir(), "journal")
	open := func() (*Journal, map[int]Entry) {
		journal, have, err := OpenJournal(path, jobs, func(r *Record) bool { return r.Exit != 1 })
		require.NoError(t, err)
		return journal, have
	}
	journal, _ := open()
	var kept Entry
	for _, try := range [][2]int{{0, 0}, {1, 1}, {0, 1}, {1, 3}} {
		r := &Record{Exit: try[1]}
		r.Describe(jobs[try[0]])
		var err error
		kept, err = journal.Add(r)
		require.NoError(t, err)
	}
	require.NoError(t, journal.Close())
	journal, have := open()
	require.Equal(t, map[int]Entry{1: kept}, have)
	_, err := journal.Record(jobs[1], Entry{0, kept.offset, kept.size + 1})
	require.EqualError(t, err, "reading "+path+": EOF")
	_, err = journal.Record(jobs[1], Entry{0, kept.offset, kept.size - 2})
	require.EqualError(t, err, "reading "+path+": unexpected end of JSON input")
	// What is added later comes after what there is.
	r := &Record{Exit: 2}
	r.Describe(jobs[0])
	later, err := journal.Add(r)
	require.NoError(t, err)
	require.Equal(t, kept.offset+int64(kept.size), later.offset)
	again, err := journal.Record(jobs[0], later)
	require.NoError(t, err)
	require.Equal(t, r, again)
	require.NoError(t, journal.Close())
	_, err = journal.Record(jobs[0], later)
	require.ErrorContains(t, err, "reading "+path+": ")
}

// TestNamesOfPoints: jobs of a grid alone are called by its values, in which what no file's name has
// is replaced.
func TestNamesOfPoints(t *testing.T) {
	m, err := ParseGrid("seed=1,2")
	require.NoError(t, err)
	jobs, err := Multiply(nil, &Origin{Verb: "make", Args: []string{"a"}}, []ndjson.Member{m, {Key: "s", Value: ndjson.Value{Kind: ndjson.List, Items: []ndjson.Value{{Kind: ndjson.String, Text: "a b/c\td\x1fe"}}}}}, richVerbs, "runs")
	require.NoError(t, err)
	for i, j := range jobs {
		id := fmt.Sprintf("seed=%d,s=a b_c_d_e", i+1)
		require.Equal(t, []string{id, "runs/" + id + ".npy", id}, []string{j.ID, j.Out, j.location()})
	}
	require.Len(t, jobs, 2)
}

// TestListsThatCannotBeRead: what came before an error of the list is not taken for all of it.
func TestListsThatCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	jobs, err := Read(io.MultiReader(strings.NewReader("{\"make\":\"a\"}\n"), iotest.ErrReader(broken)), richVerbs, "runs")
	require.ErrorIs(t, err, broken)
	require.Empty(t, jobs)
}

// TestVaried: the columns of what differs, the arguments first.
func TestVaried(t *testing.T) {
	all := []Record{
		{ID: "1", Args: []string{"a", "b"}, Values: json.RawMessage(`{"same":1,"x":2,"text":"t"}`)}, {ID: "2", Args: []string{"a"}, Values: json.RawMessage(`{"same":1,"text":"u","y":[1]}`)}, {ID: "3", Args: []string{"a"}, Values: json.RawMessage(`{"same":1,"x":2,"text":"t"}`)},
	}
	columns, err := Varied(all)
	require.NoError(t, err)
	require.Equal(t, []Column{{"argument", []string{"a b", "a", "a"}}, {"x", []string{"2", "", "2"}}, {"text", []string{"t", "u", "t"}}, {"y", []string{"", "[1]", ""}}}, columns)
	columns, err = Varied([]Record{{Args: []string{"a"}}, {Args: []string{"a"}}})
	require.NoError(t, err)
	require.Empty(t, columns)
	columns, err = Varied([]Record{{Verb: "make", Args: []string{"a"}}, {Verb: "look", Args: []string{"b"}}})
	require.NoError(t, err)
	require.Equal(t, []Column{{"verb", []string{"make", "look"}}, {"argument", []string{"a", "b"}}}, columns)
	columns, err = Varied(all[:1])
	require.NoError(t, err)
	require.Empty(t, columns)
	// A key that is called as the first column is, is in it.
	columns, err = Varied([]Record{{Args: []string{"a"}, Values: json.RawMessage(`{"argument":"b"}`)}, {Args: []string{"a"}}})
	require.NoError(t, err)
	require.Equal(t, []Column{{"argument", []string{"b", "a"}}}, columns)
	_, err = Varied([]Record{{ID: "q", Values: json.RawMessage(`{`)}})
	require.EqualError(t, err, "q: values: line 1: ends too early: a closing bracket or quote is missing")
}

// TestJournalsThatAreNone: a pipe is not waited for.
func TestJournalsThatAreNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	journal, have, err := OpenJournal(path, nil, nil)
	require.Nil(t, journal)
	require.Nil(t, have)
	require.ErrorContains(t, err, path+": is a pipe; a regular file is needed")
}
