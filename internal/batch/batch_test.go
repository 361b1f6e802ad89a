package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/ndjson"
)

func TestSpan(t *testing.T) {
	for text, want := range map[string]string{
		"0.1:0.4:0.1":                    "[0.1 0.2 0.3 0.4]", // not 0.30000000000000004
		"0:1:0.30":                       "[0 0.3 0.6 0.9]",
		"3:1:-1":                         "[3 2 1]",
		"5:5:1":                          "[5]",
		" 1 : 2 : 0.5 ":                  "[1 1.5 2]",
		"1:0:1":                          "never gets from 1 to 0",
		"0:1:0":                          "never gets from",
		"0:1e9:1":                        "is not a range",
		"0:1:x":                          "is not a range",
		"0:1":                            "is not a range",
		"1/2:1:1/4":                      "is not a range",
		"0:10000000:1":                   "has more than",
		"0:1:" + strings.Repeat("1", 50): "is not a range",
	} {
		all, err := Axis(ndjson.Value{Kind: ndjson.String, Text: text})
		if err != nil {
			require.ErrorContains(t, err, want, text)
			continue
		}
		var got []string
		for _, v := range all {
			got = append(got, v.String())
		}
		require.Equal(t, want, fmt.Sprint(got), text)
	}
	all, err := Axis(ndjson.Value{Kind: ndjson.String, Text: "0:0.9999:0.0001"})
	require.NoError(t, err)
	require.Len(t, all, 10_000)
	require.Equal(t, []string{"0", "0.4096", "0.9999"}, []string{all[0].String(), all[4096].String(), all[9999].String()})
	m, err := ParseGrid("loss.kind=mmd,kfd,3")
	require.NoError(t, err)
	require.Equal(t, `["mmd","kfd",3]`, m.Value.String())
}

var testVerbs = []Verb{{Name: "make", Writes: true}, {Name: "look"}}

func read(t *testing.T, lines ...string) []*Job {
	t.Helper()
	jobs, err := Read(strings.NewReader(strings.Join(lines, "\n")), testVerbs, t.TempDir())
	require.NoError(t, err)
	return jobs
}

func TestLinkAndShard(t *testing.T) {
	jobs := read(t, `{"make":"x","out":"a"}`, `{"make":"y","out":"b"}`, `{"look":"a/model"}`, `{"make":"z","init":"b","out":"c"}`, `{"look":"c"}`, `{"look":"nowhere"}`)
	require.NoError(t, Link(jobs, Place{AllowOutside: true}))
	var after []int
	for _, j := range jobs {
		after = append(after, j.dependsOn)
	}
	require.Equal(t, []int{-1, -1, 0, 1, 3, -1}, after)
	whole := make(map[int]bool)
	for i := range uint64(3) {
		part := Shard(jobs, i, 3)
		mine := make(map[int]bool)
		for _, j := range part {
			require.False(t, whole[j.Index])
			whole[j.Index], mine[j.Index] = true, true
			require.True(t, j.dependsOn < 0 || mine[j.dependsOn], "what it reads is in its part")
		}
	}
	require.Len(t, whole, len(jobs))
	require.ErrorContains(t, Link(read(t, `{"make":"","out":"a"}`, `{"make":"","out":"b"}`, `{"look":["a","b"]}`), Place{AllowOutside: true}), "line 3: reads what two others write, line 1 and line 2")
}

// A digest is of all that decides what a job does, and of nothing else.
func TestDigest(t *testing.T) {
	lines := []string{`{"make":"x","out":"a"}`, `{"make":"y","out":"a"}`, `{"make":"x","out":"b"}`, `{"make":"x","out":"a","seed":1}`, `{"make":"x","out":"a","set":{"k":1}}`, `{"make":"x","out":"a","set":{"k":2}}`, `{"look":"x"}`}
	seen := make(map[[16]byte]string)
	for _, line := range lines {
		d := read(t, line)[0].digest
		require.Empty(t, seen[d], line)
		seen[d] = line
	}
	require.Equal(t, read(t, lines[0])[0].digest, read(t, "", `{"id":"z", "out": "a", "make": "x"}`)[0].digest)
}

// TestSize: a list has a limit, and a job of a grid takes little beside its name.
func TestSize(t *testing.T) {
	long.SkipShort(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	jobs, err := Read(strings.NewReader(`{"make":"x","quick":1,"set":{"a.b":3},"grid":{"seed":"1:50000:1"}}`), testVerbs, "runs/jobs")
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Len(t, jobs, 50_000)
	require.Less(t, (after.HeapAlloc-before.HeapAlloc)/50_000, uint64(250), "bytes of each")
	require.Equal(t, "1,seed=50000", jobs[49_999].ID)
	require.Equal(t, "50000", jobs[49_999].Flags()[1].Value.String())

	require.EqualValues(t, 1<<27, maxListBytes)
	defer func(n int64) { maxListBytes = n }(maxListBytes)
	maxListBytes = 1000
	_, err = Read(strings.NewReader(strings.Repeat(`{"make":"x"}`+"\n", 100)), testVerbs, "runs/jobs")
	require.ErrorContains(t, err, "longer than 1000 bytes")
}

// TestFirstTenMistakes: ten are told with their lines, and of the others how many.
func TestFirstTenMistakes(t *testing.T) {
	for wrong, more := range map[int]string{9: "", 10: "", 11: "and 1 more", 23: "and 13 more"} {
		_, err := Read(strings.NewReader(strings.Repeat("{\"make\":\"x\"}\n{}\n", wrong)), testVerbs, t.TempDir())
		told := strings.Split(err.Error(), "\n")
		for i, text := range told[:min(wrong, 10)] {
			require.Contains(t, text, fmt.Sprintf("line %d: ", 2*i+2))
		}
		require.Equal(t, more, strings.Join(told[min(wrong, 10):], "\n"))
	}
}

// TestSettings: nothing is set twice, however it is spelt, and maps stay whole.
func TestSettings(t *testing.T) {
	for _, set := range []string{`{"a.b":3,"a":{"b":4}}`, `{"a":{"b":4},"a.b":3}`, `{"a":{"b":{"c":1}},"a.b":{"c":2}}`} {
		_, err := Read(strings.NewReader(`{"make":"x","set":`+set+`}`), testVerbs, t.TempDir())
		require.ErrorContains(t, err, "line 1: set: ")
		require.Regexp(t, `"a(\.b)?" and "a(\.b)?" both say a\.b`, err.Error())
	}
	_, err := Read(strings.NewReader(`{"make":"x","set":{"a":{"b":1}},"grid":{"a.b":[1,2]}}`), testVerbs, t.TempDir())
	require.ErrorContains(t, err, "grid: a.b: the job says it already")
	set := read(t, `{"make":"x","set":{"a.parameters":{"b":1,"c":[2]},"d":3}}`)[0].Set()
	require.Len(t, set, 2)
	require.Equal(t, `a.parameters={"b":1,"c":[2]}`, set[0].Key+"="+set[0].Value.String())
}

// simulate carries jobs out without taking time, and notes who was beside whom.
func simulate(jobs []*Job, plan Plan, exits map[int]int) (order []string, beside map[int]int, threads map[int]int) {
	running := 0
	beside, threads = make(map[int]int), make(map[int]int)
	plan.Do = func(_ context.Context, j *Job, n int) *Record {
		return &Record{Exit: exits[j.Index], Threads: n, Seconds: 1}
	}
	plan.Started = func(j *Job) {
		running++
		beside[j.Index] = running
		order = append(order, fmt.Sprint(j.Index))
	}
	plan.Ended = func(j *Job, r *Record) {
		if r.Seconds > 0 {
			running--
			threads[j.Index] = r.Threads
		} else {
			order = append(order, fmt.Sprintf("!%d", j.Index))
		}
	}
	plan.Run(context.Background(), jobs, nil)
	return order, beside, threads
}

func TestSchedule(t *testing.T) {
	jobs := read(t, `{"make":"","out":"a"}`, `{"make":"","out":"b"}`, `{"make":"","out":"c"}`, `{"look":"c"}`, `{"make":"","out":"d"}`)
	require.NoError(t, Link(jobs, Place{AllowOutside: true}))
	for i, cost := range []float64{1, 2, 4, 3, 100} {
		jobs[i].Cost = cost
	}
	order, beside, threads := simulate(jobs, Plan{Cores: 2, Bytes: 10}, nil)
	require.Len(t, order, 5)
	require.Equal(t, []string{"4", "2"}, order[:2], "the longest first")
	require.Equal(t, 1, beside[4], "alone")
	require.Equal(t, 2, threads[4])
	require.Less(t, indexOf(order, "2"), indexOf(order, "3"), "what it reads is there")
	for _, n := range beside {
		require.LessOrEqual(t, n, 2)
	}
	// What reads a job that failed fails, and is not begun.
	order, _, _ = simulate(jobs, Plan{Cores: 1, Bytes: 10}, map[int]int{2: 1})
	require.Contains(t, order, "!3")
	// Memory keeps jobs apart, and none from being carried out at all.
	for _, j := range jobs {
		j.Cost, j.Bytes = 1, 20
	}
	order, beside, _ = simulate(jobs, Plan{Cores: 4, Bytes: 10}, nil)
	require.Len(t, order, 5)
	for _, n := range beside {
		require.Equal(t, 1, n)
	}
}

func indexOf(all []string, s string) int {
	for i, x := range all {
		if x == s {
			return i
		}
	}
	return -1
}

func TestScheduleStops(t *testing.T) {
	jobs := read(t, `{"look":"a"}`, `{"look":"b"}`, `{"look":"c"}`)
	require.NoError(t, Link(jobs, Place{AllowOutside: true}))
	ctx, cancel := context.WithCancel(context.Background())
	begun := 0
	plan := Plan{Cores: 1, Bytes: 1,
		Do:      func(context.Context, *Job, int) *Record { cancel(); return &Record{Exit: 75} },
		Started: func(*Job) { begun++ }, Ended: func(*Job, *Record) {}}
	plan.Run(ctx, jobs, nil)
	require.Equal(t, 1, begun)
}

// Wherever a process was killed in the middle of a line, the lines before it
// stand.
func TestJournal(t *testing.T) {
	long.SkipShort(t)
	jobs := read(t, `{"look":"a","id":"a"}`, `{"look":"b","id":"b"}`)
	path := filepath.Join(t.TempDir(), "journal")
	fine := func(r *Record) bool { return r.Exit == 0 }
	journal, have, err := OpenJournal(path, jobs, fine)
	require.NoError(t, err)
	require.Empty(t, have)
	for i, exit := range []int{1, 0} {
		r := &Record{Exit: exit}
		r.Describe(jobs[i])
		kept, err := journal.Add(r)
		require.NoError(t, err)
		again, err := journal.Record(jobs[i], kept)
		require.NoError(t, err)
		require.Equal(t, r, again)
	}
	_, err = journal.Add(&Record{Result: []byte("{")})
	require.ErrorContains(t, err, "unexpected end of JSON input")
	require.NoError(t, journal.Close())
	_, err = journal.Add(new(Record))
	require.ErrorContains(t, err, "writing "+path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for n := range len(whole) + 1 {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
		journal, have, err := OpenJournal(path, jobs, fine)
		require.NoError(t, err)
		require.Len(t, have, map[bool]int{true: 1}[n == len(whole)], "what failed is not finished")
		require.NoError(t, journal.Close())
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, strings.LastIndexByte(string(whole[:n]), '\n')+1, len(left))
	}
	_, _, err = OpenJournal(filepath.Join(path, "below"), jobs, fine)
	require.ErrorIs(t, err, syscall.ENOTDIR)
	other := read(t, `{"look":"c","id":"b"}`)
	_, _, err = OpenJournal(path, other, fine)
	require.ErrorIs(t, err, ErrChanged)
	require.NoError(t, os.WriteFile(path, []byte("{}\nx\n"), 0o600))
	_, _, err = OpenJournal(path, jobs, fine)
	require.ErrorContains(t, err, "line 2: damaged")
}

// A journal of many jobs takes no more memory than it takes to say where their records are.
func TestJournalsStayOnTheDisk(t *testing.T) {
	long.SkipShort(t)
	const n, size = 2000, 10_000
	jobs := read(t, fmt.Sprintf(`{"look":"a","id":"a","grid":{"seed":"1:%d:1"}}`, n))
	require.Len(t, jobs, n)
	path := filepath.Join(t.TempDir(), "journal")
	var text []byte
	for _, j := range jobs {
		r := &Record{Result: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}
		r.Describe(j)
		line, err := json.Marshal(r)
		require.NoError(t, err)
		text = append(append(text, line...), '\n')
	}
	require.NoError(t, os.WriteFile(path, text, 0o600))
	text = nil
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	journal, have, err := OpenJournal(path, jobs, func(r *Record) bool { return r.Exit == 0 })
	require.NoError(t, err)
	defer journal.Close()
	require.Less(t, int64(heap()-before), int64(n*size/20), "a twentieth of the records")
	require.Len(t, have, n)
	last, err := journal.Record(jobs[n-1], have[jobs[n-1].Index])
	require.NoError(t, err)
	require.Len(t, last.Result, size+2)
	require.Equal(t, jobs[n-1].ID, last.ID)
	runtime.KeepAlive(have)
}
