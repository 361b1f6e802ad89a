package conf

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A restriction ties values of a key to other choices: a field with the tag
//
//	only:"full kind=mmd,none; score generator.head=bernoulli"
//
// may be full only if the key kind beside it is mmd or none, and score only with that
// head; a key with a dot is a path from the root. A choice that is absent has the value
// "": the tag kind=mmd, with nothing after the comma, allows mmd and an absent kind.
type restriction struct {
	values     []string
	conditions []condition // all of which these values need
}

func restrictions(tag string) (all []restriction) {
	for _, r := range strings.FieldsFunc(tag, func(r rune) bool { return r == ';' }) {
		values, needed, _ := strings.Cut(strings.TrimSpace(r), " ")
		all = append(all, restriction{strings.Split(values, ","), conditions(needed)})
	}
	return all
}

// at returns the path of a condition's key, for a field of the object at a path.
func (c *condition) at(path string) string {
	if strings.Contains(c.key, ".") {
		return c.key
	}
	return join(path, c.key)
}

// text returns the condition's values without "", the value of an absent key.
func (c *condition) text(sep string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.values), func(v string) bool { return v == "" }), sep)
}

// valueAt returns the value at a path, "" if the key is absent.
func valueAt(v reflect.Value, path string) string {
	key, below, nested := strings.Cut(path, ".")
	all := listFields(v.Type())
	i := indexOf(all, key)
	if i < 0 {
		return ""
	}
	if c, _ := all[i].unmetWhen(v, all); c != nil {
		return ""
	}
	if v = v.FieldByIndex(all[i].index); nested {
		return valueAt(v, below)
	}
	return fmt.Sprint(v.Interface())
}

// unmetOnly returns the first condition of the tag only that does not hold for a value of the
// field, in the object at a path; nil if all hold.
func (f *field) unmetOnly(root reflect.Value, path, value string) *condition {
	for _, r := range f.only {
		if !slices.Contains(r.values, value) {
			continue
		}
		for i := range r.conditions {
			if c := &r.conditions[i]; !slices.Contains(c.values, valueAt(root, c.at(path))) {
				return c
			}
		}
	}
	return nil
}

// checkOnly returns an error if a value does not go with other choices. It says what does.
func (f *field) checkOnly(root, v reflect.Value, path string) error {
	if len(f.only) == 0 {
		return nil
	}
	value := fmt.Sprint(v.Interface())
	c := f.unmetOnly(root, path, value)
	if c == nil {
		return nil
	}
	values := f.enum
	if f.typ.Kind() == reflect.Bool {
		values = []string{"false", "true"}
	}
	here, other := join(path, f.key), c.at(path)
	var remedies []string
	if allowed := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return f.unmetOnly(root, path, v) != nil }); len(allowed) > 0 {
		remedies = append(remedies, here+" to "+strings.Join(allowed, " or "))
	}
	if text := c.text(" or "); text != "" {
		remedies = append(remedies, other+" to "+text)
	}
	state := "is " + valueAt(root, other)
	if state == "is " {
		state = "is not there"
	}
	return fmt.Errorf("%s: %s does not go with %s, which %s; set %s", here, value, other, state, strings.Join(remedies, ", or "))
}
