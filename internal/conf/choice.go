package conf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A choice is a struct with the key "kind", whose value says which of its other
// keys there are: a field with the tag when:"a,b" belongs to the kinds a and b
// alone, one without to all. Keys of other kinds are refused where they are
// given, and not written; their fields keep what they had, so that a preset may
// hold usable values for kinds that it does not choose.
const choiceKey = "kind"

// kindOf returns the kind that a struct has chosen, and whether it is a choice.
func kindOf(v reflect.Value) (string, bool) {
	for _, f := range listFields(v.Type()) {
		if f.key == choiceKey && f.typ.Kind() == reflect.String {
			return v.FieldByIndex(f.index).String(), true
		}
	}
	return "", false
}

// applies reports whether the field is among the keys of the kind.
func (f *field) applies(kind string) bool { return f.when == nil || slices.Contains(f.when, kind) }

// inapplicable finds the first key of n that v, which has been assigned from n
// among others, has not by its kind.
func inapplicable(v reflect.Value, n *node, path string) *fault {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case n.kind == list && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Len() == len(n.items):
		for i, item := range n.items {
			if f := inapplicable(v.Index(i), item, fmt.Sprintf("%s[%d]", path, i)); f != nil {
				return f
			}
		}
	case n.kind == object && v.Kind() == reflect.Struct:
		kind, _ := kindOf(v)
		all := listFields(v.Type())
		for _, m := range n.members {
			i := slices.IndexFunc(all, func(f field) bool { return f.key == m.key })
			if i < 0 {
				continue // assignment has refused it, unless the type reads itself
			}
			if !all[i].applies(kind) {
				return &fault{offset: m.offset, path: join(path, m.key), reason: fmt.Sprintf(
					"with %s %q there is no such key; remove it, or set %s to %s",
					join(path, choiceKey), kind, join(path, choiceKey), strings.Join(all[i].when, " or "))}
			}
			if f := inapplicable(v.FieldByIndex(all[i].index), m.value, join(path, m.key)); f != nil {
				return f
			}
		}
	}
	return nil
}

// prune removes from n, the JSON of v, the keys that v has not by its kind.
func prune(v reflect.Value, n *node) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case n.kind == list && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Len() == len(n.items):
		for i, item := range n.items {
			prune(v.Index(i), item)
		}
	case n.kind == object && v.Kind() == reflect.Struct:
		kind, _ := kindOf(v)
		all := listFields(v.Type())
		n.members = slices.DeleteFunc(n.members, func(m member) bool {
			i := slices.IndexFunc(all, func(f field) bool { return f.key == m.key })
			if i < 0 {
				return false
			}
			prune(v.FieldByIndex(all[i].index), m.value)
			return !all[i].applies(kind)
		})
	}
}
