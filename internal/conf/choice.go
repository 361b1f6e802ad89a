package conf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A choice is a string in a struct whose value says which of its other keys
// there are: a field with the tag
//
//	when:"kind=a,b"
//
// belongs to the kinds a and b alone; of several conditions, separated by
// spaces, all must hold. On an embedded struct the tag is one of all its keys. Keys that there are not are refused where they are
// given, and not written; their fields keep what they had, so that a preset may
// hold usable values for what it does not choose.
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
		all := listFields(v.Type())
		for _, m := range n.members {
			i := indexOf(all, m.key)
			if i < 0 {
				continue // assignment has refused it, unless the type reads itself
			}
			if c, chosen := all[i].absent(v, all); c != nil {
				return &fault{offset: m.offset, path: join(path, m.key), reason: fmt.Sprintf(
					"with %s %q there is no such key; remove it, or set %s to %s",
					join(path, c.key), chosen, join(path, c.key), strings.Join(c.values, " or "))}
			}
			if f := inapplicable(v.FieldByIndex(all[i].index), m.value, join(path, m.key)); f != nil {
				return f
			}
		}
	}
	return nil
}

// prune removes from n, the JSON of v, the keys that are not in v.
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
		all := listFields(v.Type())
		n.members = slices.DeleteFunc(n.members, func(m member) bool {
			i := indexOf(all, m.key)
			if i < 0 {
				return false
			}
			prune(v.FieldByIndex(all[i].index), m.value)
			c, _ := all[i].absent(v, all)
			return c != nil
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
