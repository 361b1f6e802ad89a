package peers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/revgen/revgen/asm"
)

// command returns the command line of the peer, after compiling it if need be.
// cache is where programs are kept; empty means the user's cache directory.
func (p *Peer) command(cache string) ([]string, error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			user = os.TempDir()
		}
		cache = filepath.Join(user, "revgen", "peers")
	}
	if p.compiler == nil {
		return p.script(cache)
	}
	return p.compile(cache)
}

func (p *Peer) missing(format string, args ...any) error {
	return &MissingError{p.Name, fmt.Sprintf(format, args...), p.Install}
}

// compile builds the peer in a directory named after everything that the
// program depends on, and keeps it there.
func (p *Peer) compile(cache string) ([]string, error) {
	compiler, err := exec.LookPath(p.compiler[0])
	if err != nil {
		return nil, p.missing("there is no %s", p.compiler[0])
	}
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		return nil, p.missing("%s --version: %v", compiler, err)
	}
	key := sha256.New()
	fmt.Fprintln(key, compiler, p.compiler[1:], p.libs, asm.CPUName())
	key.Write(version)
	for _, name := range []string{"peer.h", p.source} {
		key.Write(source(name))
	}
	dir := filepath.Join(cache, fmt.Sprintf("%x", key.Sum(nil)[:8]))
	program := filepath.Join(dir, strings.TrimSuffix(p.source, filepath.Ext(p.source)))
	if _, err := os.Stat(program); err == nil {
		return []string{program}, nil
	}
	if err := unpack(dir, "peer.h", p.source); err != nil {
		return nil, err
	}
	// Compiled under another name first, so that a program in place is whole.
	fresh := fmt.Sprintf("%s.%d", program, os.Getpid())
	args := append(append([]string{}, p.compiler[1:]...), "-o", fresh, filepath.Join(dir, p.source))
	output, err := exec.Command(compiler, append(args, p.libs...)...).CombinedOutput()
	if err != nil {
		return nil, p.missing("%s failed: %s", p.compiler[0], firstError(output, err))
	}
	if err := os.Rename(fresh, program); err != nil {
		return nil, err
	}
	return []string{program}, nil
}

var interpreter struct {
	sync.Mutex
	found map[string]string
}

// script unpacks the Python peer and finds an interpreter that has the module
// it needs: the first of python3 on the search path and the distribution's.
func (p *Peer) script(cache string) ([]string, error) {
	key := sha256.Sum256(append(source("pytorch.py"), source("pytorch_systems.py")...))
	dir := filepath.Join(cache, fmt.Sprintf("%x", key[:8]))
	if err := unpack(dir, "pytorch.py", "pytorch_systems.py"); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, p.source)

	interpreter.Lock()
	defer interpreter.Unlock()
	if python, ok := interpreter.found[p.imports]; ok {
		return []string{python, script}, nil
	}
	reason := "there is no python3"
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		python, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		output, err := exec.Command(python, "-c", "import numpy, "+p.imports).CombinedOutput()
		if err == nil {
			if interpreter.found == nil {
				interpreter.found = map[string]string{}
			}
			interpreter.found[p.imports] = python
			return []string{python, script}, nil
		}
		reason = fmt.Sprintf("%s: %s", python, lastLine(output, err))
	}
	return nil, p.missing("%s", reason)
}

func source(name string) []byte {
	data, err := sources.ReadFile("src/" + name)
	if err != nil {
		panic(err) // every name is embedded
	}
	return data
}

// unpack writes embedded sources to dir, unless they are there already.
func unpack(dir string, names ...string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, source(name)) {
			continue
		}
		fresh, err := os.CreateTemp(dir, name)
		if err != nil {
			return err
		}
		_, err = fresh.Write(source(name))
		if err := errors.Join(err, fresh.Close(), os.Rename(fresh.Name(), path)); err != nil {
			return err
		}
	}
	return nil
}

func firstError(output []byte, err error) string {
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "error:") || strings.Contains(line, "cannot find") {
			return strings.TrimSpace(line)
		}
	}
	return lastLine(output, err)
}

func lastLine(output []byte, err error) string {
	text := strings.TrimSpace(string(output))
	if text == "" {
		return err.Error()
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}
