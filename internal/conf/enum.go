package conf

import (
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
	if err := allowed(v, v, "", false); err != nil {
		return err
	}
	return allowed(v, v, "", true)
}

// allowed looks at the values of v, at a path in root: at what they may be, or then at
// what goes together.
func allowed(root, v reflect.Value, path string, together bool) error {
	all := listFields(v.Type())
	for _, f := range all {
		if c, _ := f.absent(v, all); c != nil {
			continue
		}
		value := v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			if err := allowed(root, value, join(path, f.key), together); err != nil {
				return err
			}
		}
		if together {
			if err := f.restricted(root, value, path); err != nil {
				return err
			}
		} else if f.is != "" {
			if err := f.number(join(path, f.key), value); err != nil {
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
