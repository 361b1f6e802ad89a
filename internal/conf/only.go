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
// is full only with one of those kinds beside it, and score only with that head; a
// key with a dot is a path from the root. A choice that there is not has no value,
// which is written as none after the last comma: kind=mmd, takes either.
type restriction struct {
	values []string
	on     []condition
}

func restrictions(tag string) (all []restriction) {
	for _, r := range strings.FieldsFunc(tag, func(r rune) bool { return r == ';' }) {
		values, on, _ := strings.Cut(strings.TrimSpace(r), " ")
		all = append(all, restriction{strings.Split(values, ","), conditions(on)})
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

// text returns the condition's values, less that of a key that there is not.
func (c *condition) text(sep string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.values), func(v string) bool { return v == "" }), sep)
}

// chosen returns the value at a path, "" where there is none.
func chosen(v reflect.Value, path string) string {
	key, rest, more := strings.Cut(path, ".")
	all := listFields(v.Type())
	i := indexOf(all, key)
	if i < 0 {
		return ""
	}
	if c, _ := all[i].absent(v, all); c != nil {
		return ""
	}
	if v = v.FieldByIndex(all[i].index); more {
		return chosen(v, rest)
	}
	return fmt.Sprint(v.Interface())
}

// excluded returns the first condition on a value of the field, in the object at a
// path, that does not hold.
func (f *field) excluded(root reflect.Value, path, value string) *condition {
	for _, r := range f.only {
		if !slices.Contains(r.values, value) {
			continue
		}
		for i := range r.on {
			if c := &r.on[i]; !slices.Contains(c.values, chosen(root, c.at(path))) {
				return c
			}
		}
	}
	return nil
}

// restricted reports a value that the choices beside it exclude, with what would do.
func (f *field) restricted(root, v reflect.Value, path string) error {
	if len(f.only) == 0 {
		return nil
	}
	value := fmt.Sprint(v.Interface())
	c := f.excluded(root, path, value)
	if c == nil {
		return nil
	}
	all := f.enum
	if f.typ.Kind() == reflect.Bool {
		all = []string{"false", "true"}
	}
	here, other := join(path, f.key), c.at(path)
	var remedies []string
	if left := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return f.excluded(root, path, v) != nil }); len(left) > 0 {
		remedies = append(remedies, here+" to "+strings.Join(left, " or "))
	}
	if text := c.text(" or "); text != "" {
		remedies = append(remedies, other+" to "+text)
	}
	has := "is " + chosen(root, other)
	if has == "is " {
		has = "is not there"
	}
	return fmt.Errorf("%s: %s does not go with %s, which %s; set %s", here, value, other, has, strings.Join(remedies, ", or "))
}
