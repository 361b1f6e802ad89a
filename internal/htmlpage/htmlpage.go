// Package htmlpage writes reports of runs as HTML pages that need nothing else:
// neither a network nor other files, nor scripts. They follow the colour scheme
// of the reader and the width of the screen.
package htmlpage

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"

	"github.com/revgen/revgen/internal/lists"
)

// A Page is a report of one run, or of several beside each other.
type Page struct {
	Title string
	Lead  string // one sentence below the title
	Facts [][2]string
	// Failures are jobs of a batch that failed, and Warned those that did not but were warned;
	// nil for none.
	Failures, Warned *Table
	Pictures         []Picture
	// Table compares runs, or lists the jobs of a batch; nil for none.
	Table   *Table
	Runs    []Run
	Version string // of the program, and when and where it ran
}

// A Run is one run directory.
type Run struct {
	Name     string
	Target   string // in words
	Verdict  string // trustworthy, refine, wrong, unknown, or empty
	Sentence string // that goes with it
	Warnings []string
	Metrics  *Table
	Seen     *Table // what the diagnosis saw
	Pictures []Picture
	Recipe   string      // what the preset chose and why
	Facts    [][2]string // name and value
	Config   string
	Command  string // that repeats it
}

// A Table is text in rows; the first Left columns are words, the others numbers.
type Table struct {
	Title   string
	Caption string
	Header  []string
	Rows    [][]Cell
	Left    int
}

// A Cell may be marked: good, amber or bad; or words, which may be long.
type Cell struct{ Text, Mark string }

// Cells makes a row of texts.
func Cells(texts ...string) []Cell {
	return lists.Map(texts, func(t string) Cell { return Cell{Text: t} })
}

// A Picture is an SVG document.
type Picture struct {
	Name string // what it shows
	Seen string // what is seen, for who cannot see it
	SVG  []byte
}

// Text is said in place of the picture.
func (p Picture) Text() string {
	if p.Seen == "" {
		return p.Name
	}
	return p.Name + ". " + p.Seen
}

// URI holds the picture. As an image an SVG document cannot run scripts or load
// anything, whoever wrote it.
func (p Picture) URI() template.URL {
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(p.SVG))
}

//go:embed page.html
var source string

var layout = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": func(t *Table, column int) bool { return column >= t.Left },
	"head":   func(t *Table, column int) bool { return column == 0 && t.Left > 0 },
}).Parse(source))

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return layout.Execute(w, p) }
