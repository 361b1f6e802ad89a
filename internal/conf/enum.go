package conf

import (
	"fmt"
	"reflect"
	"slices"
)

// Enums reports the first string of the struct that c points to that is none of
// the values its field's tag lists,
//
//	enum:"sign,bernoulli"
//
// by its path, or the first value that other choices exclude. Fields that the struct's
// choices leave out are not looked at.
func Enums(c any) error {
	v := destination(c)
	if err := enums(v, v, "", false); err != nil {
		return err
	}
	return enums(v, v, "", true)
}

// enums looks at the values of v, at a path in root: at what they may be, or then at
// what goes together.
func enums(root, v reflect.Value, path string, together bool) error {
	all := listFields(v.Type())
	for _, f := range all {
		if c, _ := f.absent(v, all); c != nil {
			continue
		}
		value := v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			if err := enums(root, value, join(path, f.key), together); err != nil {
				return err
			}
		}
		if together {
			if err := f.restricted(root, value, path); err != nil {
				return err
			}
		} else if f.enum != nil && f.typ.Kind() == reflect.String {
			key := join(path, f.key)
			if err := OneOf(key, value.String(), f.enum); err != nil {
				if now, ok := moved(key+"="+value.String(), root.Type()); ok {
					return fmt.Errorf("%s: %q is gone; write instead: %s", key, value.String(), now)
				}
				return err
			}
		}
	}
	return nil
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
