package conf

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/revgen/revgen/internal/lists"
)

// A field is one key of a struct and the way to it through embedded structs.
type field struct {
	key   string
	index []int
	typ   reflect.Type
	when  []condition // on which the key is there
	enum  []string    // what a string may be, nil for anything
	is    string      // what its numbers must be, "" for anything
	only  []restriction
}

var listed sync.Map // of reflect.Type, to []field

// listFields returns the keys of a struct in order, a list that must not be
// changed. The keys of embedded structs stand beside its own, on the conditions of
// both, and give way to them.
func listFields(t reflect.Type) []field {
	if all, ok := listed.Load(t); ok {
		return all.([]field)
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range listFields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				inner.when = slices.Concat(conditions(f.Tag.Get("when")), inner.when)
				all = append(all, inner)
			}
		case f.IsExported():
			var enum []string
			if tag := f.Tag.Get("enum"); tag != "" {
				enum = strings.Split(tag, ",")
			}
			all = append(all, field{cmp.Or(name, f.Name), []int{i}, f.Type, conditions(f.Tag.Get("when")), enum, f.Tag.Get("is"), restrictions(f.Tag.Get("only"))})
		}
	}
	shallowest := make(map[string]int)
	for _, f := range all {
		if depth, ok := shallowest[f.key]; !ok || len(f.index) < depth {
			shallowest[f.key] = len(f.index)
		}
	}
	all = slices.DeleteFunc(all, func(f field) bool { return len(f.index) > shallowest[f.key] })
	listed.Store(t, all)
	return all
}

// indexOf returns the place of a key among fields, -1 if it is none of theirs.
func indexOf(all []field, key string) int {
	return slices.IndexFunc(all, func(f field) bool { return f.key == key })
}

func keysOf(t reflect.Type) []string {
	return lists.Map(listFields(t), func(f field) string { return f.key })
}

// A Mover is a configuration whose layout has changed. Moved says by the former
// path of a key, or by path=value of one of its values, what to write now, or "none: "
// and why there is nothing to.
type Mover interface{ Moved() map[string]string }

// A Settler is a configuration that once had keys whose value goes without saying now.
// Settled returns that value, as JSON, by the former path: where a text gives it, the key
// is passed over, so that files from before can be read.
type Settler interface{ Settled() map[string]string }

// forget removes from the text of a configuration what is settled.
func forget(root *node, c any) {
	s, ok := c.(Settler)
	if !ok {
		return
	}
	for path, value := range s.Settled() {
		n, keys := root, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			if n = n.child(key); n == nil {
				break
			}
		}
		if n != nil {
			n.members = slices.DeleteFunc(n.members, func(m member) bool {
				return m.key == keys[len(keys)-1] && string(m.value.raw) == value
			})
		}
	}
}

// Forget returns the text of a configuration of c's type without what is settled.
func Forget(text []byte, c any) []byte {
	root, fault := parse(text)
	if fault != nil {
		return text
	}
	forget(root, c)
	return root.appendTo(nil, "")
}

// moved returns what to write instead of a key of a former layout.
func moved(path string, root reflect.Type) (now string, ok bool) {
	if m, is := reflect.New(root).Interface().(Mover); is {
		now, ok = m.Moved()[path]
	}
	return now, ok
}

// advise returns what to say about an unknown key: the key that was probably
// meant, or those that exist where it stands.
func advise(path string, parent, root reflect.Type) string {
	above, key := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		above, key = path[:i], path[i+1:]
	}
	best, distance := "", 1+max(1, len(key)/3)
	for _, k := range keysOf(parent) {
		d := editDistance(key, k)
		if plain(key) == plain(k) {
			d = 0
		}
		if d < distance {
			best, distance = join(above, k), d
		}
	}
	if best == "" {
		best = find(key, root, "", 4)
	}
	if best == "" {
		return "; the keys here are " + strings.Join(keysOf(parent), ", ")
	}
	if best == path { // written as one key, with points in it
		keys := strings.Split(path, ".")
		return `; write {"` + strings.Join(keys, `": {"`) + `": …` + strings.Repeat("}", len(keys))
	}
	return "; did you mean " + best + "?"
}

// plain removes what people vary in a key: case and separators.
func plain(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
}

// find returns the path of the key of this name in the struct at path or,
// down to a depth, inside it; "" if there is none.
func find(key string, t reflect.Type, path string, depth int) string {
	for _, f := range listFields(t) {
		if plain(f.key) == plain(key) {
			return join(path, f.key)
		}
	}
	for _, f := range listFields(t) {
		if f.typ.Kind() == reflect.Struct && depth > 0 {
			if found := find(key, f.typ, join(path, f.key), depth-1); found != "" {
				return found
			}
		}
	}
	return ""
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
