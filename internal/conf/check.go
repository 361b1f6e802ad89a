package conf

import (
	"cmp"
	"fmt"
	"reflect"
)

// Check returns an error about the first value, in the struct that c points to, that the tag of
// its field does not allow: a string that is none of a list, or a number that breaks a rule,
//
//	enum:"sign,bernoulli"   is:"positive"   is:"1..4096"
//
// and otherwise about the first value that does not go with other choices (tag only). Fields that
// the struct's choices leave out are not checked.
func Check(c any) error {
	v := destination(c)
	return cmp.Or(firstError(v, v, "", (*field).checkTag), firstError(v, v, "", (*field).checkOnly))
}

// firstError returns the first error of a rule about the values of v, which is at a path in root.
func firstError(root, v reflect.Value, path string, rule func(f *field, root, v reflect.Value, path string) error) error {
	all := listFields(v.Type())
	for _, f := range all {
		if c, _ := f.unmetWhen(v, all); c != nil {
			continue
		}
		value := v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			if err := firstError(root, value, join(path, f.key), rule); err != nil {
				return err
			}
		}
		if err := rule(&f, root, value, path); err != nil {
			return err
		}
	}
	return nil
}

// checkTag returns an error if the tag of the field, in the object at a path, does not allow v.
func (f *field) checkTag(root, v reflect.Value, path string) error {
	key := join(path, f.key)
	switch {
	case f.is != "":
		return f.checkNumber(key, v)
	case f.enum == nil || f.typ.Kind() != reflect.String:
		return nil
	}
	err := OneOf(key, v.String(), f.enum)
	if now, ok := replacement(key+"="+v.String(), root.Type()); ok && err != nil {
		return fmt.Errorf("%s: %q is gone; write instead: %s", key, v.String(), now)
	}
	return err
}

// Values returns the values that a configuration's key may have, nil if its tag
// lists none.
func Values(c any, path string) []string {
	for _, k := range Describe(c) {
		if k.Path == path {
			return k.Enum
		}
	}
	panic(fmt.Sprintf("conf: %T has no key %s", c, path))
}
