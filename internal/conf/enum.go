package conf

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Check reports the first value of the struct that c points to that its field's tag does not
// allow, by its path: a string that is none of a list, or a number that is not so,
//
//	enum:"sign,bernoulli"   is:"positive"   is:"1..4096"
//
// or the first value that other choices exclude. Fields that the struct's choices leave out are
// not looked at.
func Check(c any) error {
	v := destination(c)
	return cmp.Or(first(v, v, "", (*field).disallowed), first(v, v, "", (*field).restricted))
}

// first returns the first error of a rule about the values of v, at a path in root.
func first(root, v reflect.Value, path string, rule func(f *field, root, v reflect.Value, path string) error) error {
	all := listFields(v.Type())
	for _, f := range all {
		if c, _ := f.absent(v, all); c != nil {
			continue
		}
		value := v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			if err := first(root, value, join(path, f.key), rule); err != nil {
				return err
			}
		}
		if err := rule(&f, root, value, path); err != nil {
			return err
		}
	}
	return nil
}

// disallowed reports a value of the field, in the object at a path, that its tag does not allow.
func (f *field) disallowed(root, v reflect.Value, path string) error {
	key := join(path, f.key)
	switch {
	case f.is != "":
		return f.number(key, v)
	case f.enum == nil || f.typ.Kind() != reflect.String:
		return nil
	}
	err := OneOf(key, v.String(), f.enum)
	if now, ok := moved(key+"="+v.String(), root.Type()); ok && err != nil {
		return fmt.Errorf("%s: %q is gone; write instead: %s", key, v.String(), now)
	}
	return err
}

// Values returns the values that a configuration's key may have, nil if its tag
// lists none.
func Values(c any, path string) []string {
	all := Describe(c)
	i := slices.IndexFunc(all, func(k Key) bool { return k.Path == path })
	if i < 0 {
		panic(fmt.Sprintf("conf: %T has no key %s", c, path))
	}
	return all[i].Enum
}
