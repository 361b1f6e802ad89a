package conf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A condition is a part of a tag
//
//	when:"kind=a,b"
//
// There is the key of the field only if the key kind, a choice, is a or b; of several
// conditions, separated by spaces, all must hold. On an embedded struct the tag is one of
// all its keys. A key whose conditions do not hold is refused where it is given, and not
// written; its field keeps its value, so that a preset may hold usable ones for what it
// does not choose.
type condition struct {
	key    string // of the choice
	values []string
}

func conditions(tag string) (all []condition) {
	for _, c := range strings.Fields(tag) {
		key, values, _ := strings.Cut(c, "=")
		all = append(all, condition{key, strings.Split(values, ",")})
	}
	return all
}

// absent returns the first condition on a field of v that does not hold, with
// what its choice is instead; nil if the field is there.
func (f *field) absent(v reflect.Value, all []field) (c *condition, chosen string) {
	for i := range f.when {
		at := indexOf(all, f.when[i].key)
		if at < 0 {
			panic(fmt.Sprintf("conf: %s waits for a key %s that %v has not", f.key, f.when[i].key, v.Type()))
		}
		if chosen := v.FieldByIndex(all[at].index).String(); !slices.Contains(f.when[i].values, chosen) {
			return &f.when[i], chosen
		}
	}
	return nil, ""
}

// inapplicable finds the first key of n that is not in v, which has been
// assigned from n among others.
func inapplicable(v reflect.Value, n *node) (first *fault) {
	sift(v, n, "", func(m *member, object, chosen string, c *condition) bool {
		if first == nil {
			choice := join(object, c.key)
			first = &fault{offset: m.offset, path: join(object, m.key), reason: fmt.Sprintf(
				"with %s %q there is no such key; remove it, or set %s to %s", choice, chosen, choice, strings.Join(c.values, " or "))}
		}
		return false
	})
	return first
}

// prune removes from n, the JSON of v, the keys that are not in v.
func prune(v reflect.Value, n *node) {
	sift(v, n, "", func(*member, string, string, *condition) bool { return true })
}

// sift asks of the keys of n, at a path, that are not in v whether they are to be removed:
// of each with the path of its object, and the condition that does not hold because of what
// is chosen.
func sift(v reflect.Value, n *node, path string, removed func(m *member, object, chosen string, c *condition) bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case n.kind == list && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Len() == len(n.items):
		for i, item := range n.items {
			sift(v.Index(i), item, fmt.Sprintf("%s[%d]", path, i), removed)
		}
	case n.kind == object && v.Kind() == reflect.Struct:
		all := listFields(v.Type())
		n.members = slices.DeleteFunc(n.members, func(m member) bool {
			i := indexOf(all, m.key)
			if i < 0 {
				return false // assignment has refused it, unless the type reads itself
			}
			if c, chosen := all[i].absent(v, all); c != nil && removed(&m, path, chosen, c) {
				return true
			}
			sift(v.FieldByIndex(all[i].index), m.value, join(path, m.key), removed)
			return false
		})
	}
}

// Chosen returns a copy of a configuration in which what it does not choose is
// zero, so that whoever reads it need not ask whether a key is there. Lists and
// maps are shared.
func Chosen[T any](c *T) *T {
	d := *c
	reset(destination(&d))
	return &d
}

func reset(v reflect.Value) {
	all := listFields(v.Type())
	var gone []field
	for _, f := range all {
		if c, _ := f.absent(v, all); c != nil {
			gone = append(gone, f)
		} else if f.typ.Kind() == reflect.Struct {
			reset(v.FieldByIndex(f.index))
		}
	}
	for _, f := range gone {
		v.FieldByIndex(f.index).SetZero()
	}
}
