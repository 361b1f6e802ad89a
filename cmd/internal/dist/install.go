package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// install writes what belongs to the program and its library under a prefix: manual pages,
// completions, licences, and with a folder for it the package for Python, whose library is a
// link to that of the prefix. Both are below root, which is that of a package that is made.
func install(b *built, root, prefix, python string) error {
	all, err := pages(b.version, b.date)
	if err != nil {
		return err
	}
	var files []file
	share := path.Join(prefix, "share")
	for _, f := range all {
		if to, ok := map[string]string{
			"completions/revgen.bash": "bash-completion/completions/revgen",
			"completions/_revgen":     "zsh/site-functions/_revgen",
			"completions/revgen.fish": "fish/vendor_completions.d/revgen.fish",
		}[f.name]; ok {
			f.name = to
		}
		f.name = path.Join(share, f.name)
		files = append(files, f)
	}
	others, err := licences(b.info)
	if err != nil {
		return err
	}
	licence, err := sources("LICENSE")
	if err != nil {
		return err
	}
	for _, f := range append(others, licence...) {
		f.name = path.Join(share, "doc/revgen", f.name)
		files = append(files, f)
	}
	if python != "" {
		own, info, _, err := b.pythonPackage("py3-none-any")
		if err != nil {
			return err
		}
		for _, f := range append(own, record(own, info)) {
			f.name = path.Join(python, f.name)
			files = append(files, f)
		}
	}
	for _, f := range files {
		to := filepath.Join(root, f.name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.data, os.FileMode(f.mode)); err != nil {
			return err
		}
	}
	if python == "" {
		return nil
	}
	target, err := filepath.Rel(path.Join(python, "revgen"), path.Join(prefix, "lib", libraryName))
	if err != nil {
		return fmt.Errorf("-python: %w", err)
	}
	link := filepath.Join(root, python, "revgen", libraryName)
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, link)
}

// here is what has been built on this machine, whether or not it is a release.
func here(path, version string) (*built, error) {
	b, err := read(path, version, time.Now())
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(b.version, "v") {
		b.version = "v0.0.0" // (devel)
	}
	return b, nil
}
