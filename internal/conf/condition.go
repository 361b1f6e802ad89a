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
// The field's key exists only if the key kind, a choice, is a or b. Several conditions are
// separated by spaces, and all must hold. The tag of an embedded struct is for all its
// keys. A key whose conditions do not hold is absent: it is refused if it is given, and is
// not written. Its field keeps its value, so that a preset may have usable values for
// choices that it does not make.
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

// unmetWhen returns the first condition on a field of v that does not hold, and the value that
// its choice has; nil if the field is there.
func (f *field) unmetWhen(v reflect.Value, all []field) (c *condition, chosen string) {
	for i := range f.when {
		choice := indexOf(all, f.when[i].key)
		if choice < 0 {
			panic(fmt.Sprintf("conf: %s waits for a key %s that %v has not", f.key, f.when[i].key, v.Type()))
		}
		if chosen := v.FieldByIndex(all[choice].index).String(); !slices.Contains(f.when[i].values, chosen) {
			return &f.when[i], chosen
		}
	}
	return nil, ""
}

// inapplicable returns a fault at the first key of n that is absent from v, after v has been
// assigned from n.
func inapplicable(v reflect.Value, n *node) (first *fault) {
	visitAbsent(v, n, "", func(m *member, object, chosen string, c *condition) bool {
		if first == nil {
			choice := join(object, c.key)
			first = &fault{offset: m.offset, path: join(object, m.key), reason: fmt.Sprintf(
				"with %s %q there is no such key; remove it, or set %s to %s", choice, chosen, choice, strings.Join(c.values, " or "))}
		}
		return false
	})
	return first
}

// prune removes the keys that are absent from v from n, the JSON of v.
func prune(v reflect.Value, n *node) {
	visitAbsent(v, n, "", func(*member, string, string, *condition) bool { return true })
}

// visitAbsent calls remove for each key of n that is absent from v, with the path of its object, the
// condition that does not hold and the value chosen instead. It removes the key if remove says so.
func visitAbsent(v reflect.Value, n *node, path string, remove func(m *member, object, chosen string, c *condition) bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case n.kind == list && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Len() == len(n.items):
		for i, item := range n.items {
			visitAbsent(v.Index(i), item, fmt.Sprintf("%s[%d]", path, i), remove)
		}
	case n.kind == object && v.Kind() == reflect.Struct:
		all := listFields(v.Type())
		n.members = slices.DeleteFunc(n.members, func(m member) bool {
			i := indexOf(all, m.key)
			if i < 0 {
				return false // assignment has refused it, unless the type reads itself
			}
			if c, chosen := all[i].unmetWhen(v, all); c != nil && remove(&m, path, chosen, c) {
				return true
			}
			visitAbsent(v.FieldByIndex(all[i].index), m.value, join(path, m.key), remove)
			return false
		})
	}
}

// Chosen returns a copy of a configuration in which the fields of absent keys are zero, so
// that its readers need not ask whether a key is there. Lists and maps are shared.
func Chosen[T any](c *T) *T {
	d := *c
	zeroUnchosen(destination(&d))
	return &d
}

// zeroUnchosen sets the fields of v whose keys are absent to zero.
func zeroUnchosen(v reflect.Value) {
	all := listFields(v.Type())
	var absent []field // which may be the choices of others, and are zeroed after all are asked
	for _, f := range all {
		if c, _ := f.unmetWhen(v, all); c != nil {
			absent = append(absent, f)
		} else if f.typ.Kind() == reflect.Struct {
			zeroUnchosen(v.FieldByIndex(f.index))
		}
	}
	for _, f := range absent {
		v.FieldByIndex(f.index).SetZero()
	}
}
