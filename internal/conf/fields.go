package conf

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/revgen/revgen/internal/lists"
)

// A field is one key of a struct.
type field struct {
	key   string
	index []int // path to the field through embedded structs
	typ   reflect.Type
	when  []condition   // all of which the key needs
	enum  []string      // allowed strings, nil for any
	is    string        // rule for numbers, "" for none
	only  []restriction // of some of its values
}

var fieldCache sync.Map // from reflect.Type to []field

// listFields returns the fields of a struct in order, in a list that must not be changed. Fields of
// embedded structs are among them, with the conditions of both, unless the struct has a field
// of the same key itself.
func listFields(t reflect.Type) []field {
	if fields, ok := fieldCache.Load(t); ok {
		return fields.([]field)
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
	fieldCache.Store(t, all)
	return all
}

// indexOf returns the place of a key among fields, -1 if it is none of theirs.
func indexOf(all []field, key string) int {
	return slices.IndexFunc(all, func(f field) bool { return f.key == key })
}

func keysOf(t reflect.Type) []string {
	return lists.Map(listFields(t), func(f field) string { return f.key })
}
