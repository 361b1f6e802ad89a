// Package notes saves the progress of work that takes minutes, so that it goes on from there
// after an interruption. A context carries notes to whoever does a part of the work. The part
// is a function of what its page is called by. The page holds the state that its loop goes on
// from, and at last the result.
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
	trifle   = 5 * time.Millisecond   // of work, which is not worth a note
	stands   = 100 * time.Millisecond // that a page does at least while work goes on,
	share    = 20                     // and so many times as long as it took to write
	mostPage = 1 << 30                // bytes
)

// A Book is the notes in a directory, which is there while there are any.
type Book struct {
	dir   string
	pages map[string][]byte
}

// Open returns the notes that a directory holds. Pages that are damaged are none.
func Open(dir string) *Book {
	b := &Book{dir: dir, pages: make(map[string][]byte)}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if len(e.Name()) != 2*sha256.Size || !e.Type().IsRegular() {
			continue
		}
		text, err := disk.Read(filepath.Join(dir, e.Name()), mostPage)
		if n := len(text) - sha256.Size; err == nil && n >= 0 {
			if sum := sha256.Sum256(text[:n]); bytes.Equal(sum[:], text[n:]) {
				b.pages[e.Name()] = text[:n]
			}
		}
	}
	return b
}

// Remove removes the notes, which nobody needs any more.
func (b *Book) Remove() {
	if b != nil {
		clear(b.pages)
		_ = os.RemoveAll(b.dir)
	}
}

// Text returns all pages, for Read of another process.
func (b *Book) Text() ([]byte, error) {
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(b.pages)
	return text.Bytes(), err
}

// Read returns a book of the pages that a text has, which keeps no more.
func Read(text []byte) (*Book, error) {
	b := new(Book)
	return b, gob.NewDecoder(bytes.NewReader(text)).Decode(&b.pages)
}

type key struct{}

// A desk is what a context carries.
type desk struct {
	book  *Book
	scope string
	sound []func() error
}

func of(ctx context.Context) desk {
	d, _ := ctx.Value(key{}).(desk)
	return d
}

// With returns a context that carries a book.
func With(ctx context.Context, b *Book) context.Context {
	return context.WithValue(ctx, key{}, desk{book: b})
}

// About returns a context whose pages are about something: those about anything else are
// others.
func About(ctx context.Context, what ...any) context.Context {
	d := of(ctx)
	d.scope += fmt.Sprintf("%v\n", what)
	return context.WithValue(ctx, key{}, d)
}

// AboutOnly is About of a context whose pages were about nothing: those about the same are found
// again, whatever is done with it.
func AboutOnly(ctx context.Context, what ...any) context.Context {
	d := of(ctx)
	d.scope = ""
	return About(context.WithValue(ctx, key{}, d), what...)
}

// Unless returns a context in which nothing is kept once failed returns an error: what is
// computed from then on is of no use.
func Unless(ctx context.Context, failed func() error) context.Context {
	d := of(ctx)
	d.sound = append(slices.Clip(d.sound), failed)
	return context.WithValue(ctx, key{}, d)
}

// A Page is one part of the work. A nil page keeps nothing.
type Page struct {
	ctx     context.Context
	desk    desk
	name    string
	written time.Time // or begun
	stand   time.Duration
}

// PageOf returns the page of a part of the work: of what it is called by, numbers, strings
// and what consists of them, and of the program's revision, since another may go another way
// to the same. Where the context carries no book it is nil.
func PageOf(ctx context.Context, by ...any) *Page {
	d := of(ctx)
	if d.book == nil {
		return nil
	}
	h, v := sha256.New(), version.Read()
	fmt.Fprintln(h, d.scope, v.Module, v.Revision)
	for _, v := range by {
		switch v := v.(type) {
		case []float32, []float64: // may be many
			_ = binary.Write(h, binary.LittleEndian, v)
		default:
			fmt.Fprintf(h, "%#v\n", v)
		}
	}
	return &Page{ctx: ctx, desk: d, name: hex.EncodeToString(h.Sum(nil)), written: time.Now(), stand: stands}
}

// Recall sets what state points to, to what the page holds, and reports whether it does.
func (p *Page) Recall(state any) bool {
	if p == nil {
		return false
	}
	text, ok := p.desk.book.pages[p.name]
	return ok && gob.NewDecoder(bytes.NewReader(text)).Decode(state) == nil
}

// Keep keeps a state, from which Recall goes on, unless what the page holds is recent.
func (p *Page) Keep(state any) {
	if p != nil && time.Since(p.written) >= p.stand {
		p.write(state)
	}
}

// Done keeps the last state.
func (p *Page) Done(state any) {
	if p != nil && time.Since(p.written) >= trifle {
		p.write(state)
	}
}

// Leave keeps a result that is asked for again, however soon it was there.
func (p *Page) Leave(state any) {
	if p != nil {
		p.write(state)
	}
}

func (p *Page) write(state any) {
	if p.desk.book.dir == "" {
		return
	}
	begun := time.Now()
	var text bytes.Buffer
	if gob.NewEncoder(&text).Encode(state) != nil || p.ctx.Err() != nil {
		return
	}
	for _, failed := range p.desk.sound {
		if failed() != nil {
			return
		}
	}
	sum := sha256.Sum256(text.Bytes())
	text.Write(sum[:])
	if os.MkdirAll(p.desk.book.dir, 0o755) != nil || disk.Publish(filepath.Join(p.desk.book.dir, p.name), text.Bytes()) != nil {
		return // and the work is done again
	}
	p.written = time.Now()
	p.stand = max(stands, share*p.written.Sub(begun))
}
