package conf

import (
	"reflect"
	"strings"
)

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
