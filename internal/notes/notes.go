// Package notes saves the progress of work that takes minutes, so that after an interruption the
// work continues from there. A context carries a Book of notes to the parts of the work. Each part
// has a Page, which holds first the state from which its loop continues, and at last its result.
// The arguments of PageOf determine the part's result, and identify the page.
package notes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/version"
)

const (
	minWork     = 5 * time.Millisecond   // less work is not worth a note
	minInterval = 100 * time.Millisecond // between two notes of a page,
	writeRatio  = 20                     // and at least so many times as long as writing it takes
	maxPage     = 1 << 30                // bytes
)

// A Book holds the notes in a directory, which exists only if there are any.
type Book struct {
	dir   string            // empty for a book that keeps nothing new
	pages map[string][]byte // by Page.name, as they were when the book was opened
}

// Open reads the notes in a directory. It leaves out damaged pages.
func Open(dir string) *Book {
	b := &Book{dir: dir, pages: make(map[string][]byte)}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if len(e.Name()) != 2*sha256.Size || !e.Type().IsRegular() {
			continue
		}
		text, err := disk.Read(filepath.Join(dir, e.Name()), maxPage)
		if n := len(text) - sha256.Size; err == nil && n >= 0 {
			if sum := sha256.Sum256(text[:n]); bytes.Equal(sum[:], text[n:]) {
				b.pages[e.Name()] = text[:n]
			}
		}
	}
	return b
}

// Remove removes the notes and their directory.
func (b *Book) Remove() {
	if b != nil {
		clear(b.pages)
		_ = os.RemoveAll(b.dir)
	}
}

// Text encodes all pages for Read in another process.
func (b *Book) Text() ([]byte, error) {
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(b.pages)
	return text.Bytes(), err
}

// Read returns a book of the pages in a text. It keeps nothing new.
func Read(text []byte) (*Book, error) {
	b := new(Book)
	return b, gob.NewDecoder(bytes.NewReader(text)).Decode(&b.pages)
}

type contextKey struct{}

// carried is what a context carries.
type carried struct {
	book     *Book
	subject  string         // of the pages
	failures []func() error // a page keeps nothing once one of them returns an error
}

func carriedBy(ctx context.Context) carried {
	c, _ := ctx.Value(contextKey{}).(carried)
	return c
}

// With returns a context that carries a book.
func With(ctx context.Context, b *Book) context.Context {
	return context.WithValue(ctx, contextKey{}, carried{book: b})
}

// About returns a context whose pages have a further subject. Pages of different subjects are
// different.
func About(ctx context.Context, what ...any) context.Context {
	c := carriedBy(ctx)
	c.subject += fmt.Sprintf("%v\n", what)
	return context.WithValue(ctx, contextKey{}, c)
}

// AboutOnly is About without the subjects that ctx has, so that any work on the same subject finds
// the pages.
func AboutOnly(ctx context.Context, what ...any) context.Context {
	c := carriedBy(ctx)
	c.subject = ""
	return About(context.WithValue(ctx, contextKey{}, c), what...)
}

// Unless returns a context whose pages keep nothing any more as soon as failed() is not nil, since
// what is computed from then on is of no use.
func Unless(ctx context.Context, failed func() error) context.Context {
	c := carriedBy(ctx)
	c.failures = append(slices.Clip(c.failures), failed)
	return context.WithValue(ctx, contextKey{}, c)
}

// A Page holds the state of one part of the work. A nil page keeps nothing.
type Page struct {
	ctx       context.Context
	carried   carried
	name      string        // of the file
	lastWrite time.Time     // or when the page was made
	interval  time.Duration // least time to the next write of Keep
}

// PageOf returns the page of a part of the work, nil if the context carries no book. The page is
// identified by the context's subject, by numbers, strings and values that consist of them, and
// by the program's revision, since another revision may reach the same result another way.
func PageOf(ctx context.Context, by ...any) *Page {
	c := carriedBy(ctx)
	if c.book == nil {
		return nil
	}
	h, v := sha256.New(), version.Read()
	fmt.Fprintln(h, c.subject, v.Module, v.Revision)
	for _, v := range by {
		switch v := v.(type) {
		case []float32, []float64: // may be many
			_ = binary.Write(h, binary.LittleEndian, v)
		default:
			fmt.Fprintf(h, "%#v\n", v)
		}
	}
	return &Page{ctx: ctx, carried: c, name: hex.EncodeToString(h.Sum(nil)), lastWrite: time.Now(), interval: minInterval}
}

// Recall decodes what the page holds into state, a pointer, and reports whether it could.
func (p *Page) Recall(state any) bool {
	if p == nil {
		return false
	}
	text, ok := p.carried.book.pages[p.name]
	return ok && gob.NewDecoder(bytes.NewReader(text)).Decode(state) == nil
}

// Keep saves a state from which the work can continue, unless the last write is recent.
func (p *Page) Keep(state any) {
	if p != nil && time.Since(p.lastWrite) >= p.interval {
		p.write(state)
	}
}

// Done saves the last state, unless the work took less than minWork.
func (p *Page) Done(state any) {
	if p != nil && time.Since(p.lastWrite) >= minWork {
		p.write(state)
	}
}

// Leave saves a result that is asked for again, however little time it took.
func (p *Page) Leave(state any) {
	if p != nil {
		p.write(state)
	}
}

func (p *Page) write(state any) {
	if p.carried.book.dir == "" {
		return
	}
	start := time.Now()
	var text bytes.Buffer
	if gob.NewEncoder(&text).Encode(state) != nil || p.ctx.Err() != nil {
		return
	}
	for _, failed := range p.carried.failures {
		if failed() != nil {
			return
		}
	}
	sum := sha256.Sum256(text.Bytes())
	text.Write(sum[:])
	if os.MkdirAll(p.carried.book.dir, 0o755) != nil || disk.Publish(filepath.Join(p.carried.book.dir, p.name), text.Bytes()) != nil {
		return // the work is done again after an interruption
	}
	p.lastWrite = time.Now()
	p.interval = max(minInterval, writeRatio*p.lastWrite.Sub(start))
}
