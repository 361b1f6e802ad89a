// Mutate changes the product's code in one place at a time, and says which changes no
// test notices:
//
//	go run ./internal/mutate -diff main           of the lines changed since main
//	go run ./internal/mutate -sample 60 -seed 1   of the whole product
//	go run ./internal/mutate engine/warn.go:40    of files and lines that begin so
//
// A change swaps an operator, moves a comparison's boundary or a constant by one, drops a
// sign, a negation or a statement, negates a condition, or returns nil for an error. One
// that does not compile, or compiles to the same, is not counted. Capacities are left alone,
// and constants that are returned beside an error, which nobody reads. The tests of its
// package that reach its line run first, then those of packages that import it, nearest first;
// each time the quick ones before the slow. It is caught when a test fails twice, or hangs,
// that passes without it. The tree is not touched: go's -overlay has the changed file. What a
// test reaches, processes that it starts included, is found once for each state of a package's
// tests (reach.go) and kept in the user's cache.
//
// A changed program may do what this user may, such as send signals, remove files or take
// all memory. Run many of them in a container, or under a limit (ulimit -v) and by
// unshare --pid --fork --mount-proc.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	s := session{out: os.Stdout}
	flag.StringVar(&s.diff, "diff", "", "only lines changed since this `revision`")
	flag.IntVar(&s.sample, "sample", 60, "how many mutants that compile, chosen at random; 0: all")
	flag.IntVar(&s.skip, "skip", 0, "leave out so many of them, which an earlier run had")
	flag.Uint64Var(&s.seed, "seed", 1, "of the choice")
	flag.IntVar(&s.importers, "importers", 3, "run the tests of at most so many importing packages that reach a mutant")
	flag.DurationVar(&s.timeout, "timeout", time.Minute, "of tests, at least; it is ten times what they took before where that is more")
	flag.DurationVar(&s.budget, "budget", 2*time.Minute, "leave out the slowest tests of a package beyond so much in all")
	flag.Parse()
	s.places = flag.Args()
	survivors, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// A session is what is asked for, and the packages of the module in the current directory.
type session struct {
	out                     io.Writer
	diff                    string
	places                  []string
	sample, skip, importers int
	seed                    uint64
	timeout, budget         time.Duration

	packages []listed
	reaches  map[string]*reaches // by package
	ids      map[string]string   // of packages as they are compiled
	useless  map[string]bool     // tests that fail without a change, too, or fail once and pass then
	dir      string
}

// A listed package is what go list says of it.
type listed struct {
	ImportPath, Name, Dir                                                         string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles, Deps, TestImports, XTestImports []string
	Module                                                                        struct{ Path string }
}

// run tests mutants and returns how many survive.
func (s *session) run() (survivors int, err error) {
	found, err := s.mutants()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(s.out, "of %d mutants\n", len(found))
	if s.sample > 0 {
		rand.New(rand.NewPCG(s.seed, 0)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	}
	if s.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(s.dir)
	s.reaches, s.ids, s.useless = map[string]*reaches{}, map[string]string{}, map[string]bool{}
	compiled := 0
	var lived []mutant
	for _, m := range found {
		if s.sample > 0 && compiled == s.sample {
			break
		}
		p := s.packageOf(m.file)
		if err := s.lay(m); err != nil {
			return 0, err
		}
		if changes, err := s.changes(p.ImportPath); err != nil {
			return 0, err
		} else if !changes {
			continue
		}
		if compiled++; compiled <= s.skip {
			continue
		}
		by, err := s.catch(p, m)
		if err != nil {
			return 0, err
		}
		if by == "" {
			lived, by = append(lived, m), "SURVIVES"
		}
		fmt.Fprintf(s.out, "%d %s: %s\n", compiled, m, by)
	}
	tested := max(0, compiled-s.skip)
	fmt.Fprintf(s.out, "%d of %d caught\n", tested-len(lived), tested)
	for _, m := range lived {
		fmt.Fprintln(s.out, m)
	}
	return len(lived), nil
}

// mutants returns those of the files that the root and the programs under cmd consist of,
// at the lines and places that are asked for.
func (s *session) mutants() (found []mutant, err error) {
	out, err := s.goTool(false, "list", "-json=Module,ImportPath,Name,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Deps,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		s.packages = append(s.packages, p)
	}
	if out, err = s.goTool(false, "list", "-e", "-deps", ".", "./cmd/..."); err != nil {
		return nil, err
	}
	product := strings.Fields(string(out))
	var changed map[string]bool
	if s.diff != "" {
		out, err := exec.Command("git", "diff", "-U0", "--relative", s.diff, "--", "*.go").Output()
		if err != nil {
			return nil, fmt.Errorf("git diff %s: %w", s.diff, err)
		}
		changed = lines(string(out))
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, p := range s.packages {
		if !slices.Contains(product, p.ImportPath) || strings.Contains(p.ImportPath, "/cmd/internal/") {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			file, err := filepath.Rel(here, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all, err := mutants(file, source)
			if err != nil {
				return nil, err
			}
			for _, m := range all {
				at := fmt.Sprintf("%s:%d", m.file, m.line)
				if (changed == nil || changed[at]) && (len(s.places) == 0 || slices.ContainsFunc(s.places, func(place string) bool { return strings.HasPrefix(at, place) })) {
					found = append(found, m)
				}
			}
		}
	}
	return found, nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// lines returns the lines that a diff without context adds or changes, as file:line.
func lines(diff string) map[string]bool {
	added := map[string]bool{}
	var file string
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = strings.TrimSpace(name)
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			first, _ := strconv.Atoi(m[1])
			n, _ := strconv.Atoi(cmp.Or(m[2], "1"))
			for i := range n {
				added[fmt.Sprintf("%s:%d", file, first+i)] = true
			}
		}
	}
	return added
}

func (s *session) packageOf(file string) listed {
	dir, _ := filepath.Abs(filepath.Dir(file))
	return s.packages[slices.IndexFunc(s.packages, func(p listed) bool { return p.Dir == dir })]
}

// lay writes the changed file, and the overlay that puts it into the tree.
func (s *session) lay(m mutant) error {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	changed := filepath.Join(s.dir, "changed.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	return errors.Join(err, os.WriteFile(changed, m.apply(source), 0o666), os.WriteFile(filepath.Join(s.dir, "overlay.json"), overlay, 0o666))
}

// changes reports whether a package compiles with the change, to something else.
func (s *session) changes(path string) (bool, error) {
	id := func(changed bool) (string, error) {
		out, err := s.goTool(changed, "list", "-export", "-f", "{{.BuildID}}", path)
		return string(out[bytes.LastIndexByte(out, '/')+1:]), err // of what was written, after that of what it was made from
	}
	if s.ids[path] == "" {
		now, err := id(false)
		if err != nil {
			return false, err
		}
		s.ids[path] = now
	}
	now, err := id(true)
	return err == nil && now != s.ids[path], nil
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// catch runs tests until some fail, and returns what caught the mutant, "" if nothing.
func (s *session) catch(p listed, m mutant) (string, error) {
	left := s.importers
	for _, q := range append([]listed{p}, s.nearest(p)...) {
		importer := q.ImportPath != p.ImportPath
		if importer && left == 0 {
			break
		}
		tests, err := s.reaching(q, p.ImportPath+"/"+path.Base(m.file), m.at)
		if err != nil {
			return "", err
		}
		if len(tests) == 0 {
			continue
		}
		if importer {
			left--
		}
		program := filepath.Join(s.dir, "changed.test")
		if _, err := s.goTool(true, "test", "-c", "-vet=off", "-o", program, q.ImportPath); err != nil {
			return "compiling tests of " + q.ImportPath, nil
		}
		quick := 0 // that take five seconds in all
		for sum := 0.0; quick < len(tests) && sum < 5; quick++ {
			sum += tests[quick].Seconds
		}
		for _, some := range [][]reach{tests[:quick], tests[quick:]} {
			by, err := s.fails(q, program, some)
			if by != "" || err != nil {
				return by, err
			}
		}
	}
	return "", nil
}

// fails runs tests with the change and returns the first that fails because of it, or "".
func (s *session) fails(q listed, program string, tests []reach) (string, error) {
	for len(tests) > 0 {
		out, err := s.test(true, q, program, tests)
		if err == nil {
			return "", nil
		}
		if bytes.Contains(out, []byte("panic: test timed out")) {
			return "a hang of " + q.ImportPath, nil
		}
		found := failure.FindSubmatch(out)
		if found == nil {
			return q.ImportPath, nil // ended otherwise
		}
		at := slices.IndexFunc(tests, func(r reach) bool { return r.Test == string(found[1]) })
		if at < 0 {
			return "", fmt.Errorf("%s of %s was not asked for", found[1], q.ImportPath)
		}
		by := tests[at].Test + " of " + q.ImportPath
		one := tests[at : at+1]
		_, again := s.test(true, q, program, one)
		if again != nil && !one[0].Passed { // when its reach was found: does it without?
			plain := filepath.Join(s.dir, "plain.test")
			if _, err := s.goTool(false, "test", "-c", "-vet=off", "-o", plain, q.ImportPath); err != nil {
				return "", err
			}
			if _, err := s.test(false, q, plain, one); err != nil {
				again = nil
			}
		}
		if again != nil {
			return by, nil
		}
		fmt.Fprintf(s.out, "%s fails without a change, or now and then: left out\n", by)
		s.useless[by] = true
		tests = slices.Delete(slices.Clone(tests), at, at+1)
	}
	return "", nil
}

// test runs some of a package's tests.
func (s *session) test(changed bool, q listed, program string, tests []reach) ([]byte, error) {
	var names []string
	took := 0.0
	for _, r := range tests {
		names, took = append(names, r.Test), took+r.Seconds
	}
	limit := max(s.timeout, time.Duration(10*took*float64(time.Second)))
	c := exec.Command(program, "-test.failfast", "-test.timeout", limit.String(), "-test.run", "^("+strings.Join(names, "|")+")$")
	c.Dir, c.Env = q.Dir, s.environment(changed)
	return c.CombinedOutput()
}

// nearest returns packages that import p, or whose tests do or build it: first those that
// name it most often, which indirect ones do not at all.
func (s *session) nearest(p listed) (near []listed) {
	names := map[string]int{}
	mark := path.Base(p.ImportPath) + "."
	if p.Name == "main" {
		mark = "cmd/" + path.Base(p.ImportPath)
	}
	for _, q := range s.packages {
		tests := slices.Concat(q.TestGoFiles, q.XTestGoFiles)
		if q.ImportPath == p.ImportPath || len(tests) == 0 {
			continue
		}
		for _, name := range slices.Concat(q.GoFiles, q.CgoFiles, tests) {
			text, _ := os.ReadFile(filepath.Join(q.Dir, name))
			names[q.ImportPath] += bytes.Count(text, []byte(mark))
		}
		if slices.Contains(slices.Concat(q.Deps, q.TestImports, q.XTestImports), p.ImportPath) || p.Name == "main" && names[q.ImportPath] > 0 {
			near = append(near, q)
		}
	}
	slices.SortStableFunc(near, func(a, b listed) int { return names[b.ImportPath] - names[a.ImportPath] })
	return near
}

// goTool runs go, with the changed file or without.
func (s *session) goTool(changed bool, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Env = s.environment(changed)
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
	}
	return out, err
}

// environment has the change also for what tests build.
func (s *session) environment(changed bool) []string {
	if !changed {
		return os.Environ()
	}
	return append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+filepath.Join(s.dir, "overlay.json"))
}
