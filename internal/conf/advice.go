package conf

import (
	"reflect"
	"slices"
	"strings"
)

// A Mover is a configuration whose layout has changed. Moved maps the former path of a key,
// or path=value for one of its values, to what to write now, or to "none: " and why there is
// no such thing any more.
type Mover interface{ Moved() map[string]string }

// A Settler is a configuration that has lost keys, each of which has only one value now.
// Settled maps the former path to that value, as JSON. A key with that value is ignored, so
// that files of former versions can be read.
type Settler interface{ Settled() map[string]string }

// removeSettled removes the settled keys of c from the JSON of a configuration.
func removeSettled(root *node, c any) {
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

// WithoutSettled returns the text of a configuration of c's type without its settled keys.
func WithoutSettled(text []byte, c any) []byte {
	root, fault := parse(text)
	if fault != nil {
		return text
	}
	removeSettled(root, c)
	return root.appendTo(nil, "")
}

// replacement returns what to write instead of a key of a former layout.
func replacement(path string, root reflect.Type) (now string, ok bool) {
	if m, isMover := reflect.New(root).Interface().(Mover); isMover {
		now, ok = m.Moved()[path]
	}
	return now, ok
}

// advise returns the end of an error about an unknown key: the key that was probably meant, or
// the keys that the object has.
func advise(path string, parent, root reflect.Type) string {
	above, key := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		above, key = path[:i], path[i+1:]
	}
	best, distance := "", 1+max(1, len(key)/3) // a third of the letters may be wrong
	for _, k := range keysOf(parent) {
		d := editDistance(key, k)
		if normalized(key) == normalized(k) {
			d = 0
		}
		if d < distance {
			best, distance = join(above, k), d
		}
	}
	if best == "" {
		best = findKey(key, root, "", 4)
	}
	if best == "" {
		return "; the keys here are " + strings.Join(keysOf(parent), ", ")
	}
	if best == path { // the path was written as one key
		keys := strings.Split(path, ".")
		return `; write {"` + strings.Join(keys, `": {"`) + `": …` + strings.Repeat("}", len(keys))
	}
	return "; did you mean " + best + "?"
}

// normalized returns a key without differences of case and separators.
func normalized(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(key))
}

// findKey returns the path of a key in the struct at path or, down to a depth, in the structs
// inside it; "" if there is none.
func findKey(key string, t reflect.Type, path string, depth int) string {
	for _, f := range listFields(t) {
		if normalized(f.key) == normalized(key) {
			return join(path, f.key)
		}
	}
	for _, f := range listFields(t) {
		if f.typ.Kind() == reflect.Struct && depth > 0 {
			if found := findKey(key, f.typ, join(path, f.key), depth-1); found != "" {
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
