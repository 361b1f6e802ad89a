package conf

import (
	"reflect"
	"slices"
	"strings"
)

// A Mover is a configuration whose layout has changed. Moved maps the former path of a key,
// or path=value for one of its values, to what to write now, or to "none: " and why there is
// no such thing any more.
type Mover interface{ Moved() map[string]string }

// A Settler is a configuration that has lost keys, each of which has only one value now.
// Settled maps the former path to that value, as JSON. A key with that value is ignored, so
// that files of former versions can be read.
type Settler interface{ Settled() map[string]string }

// removeSettled removes the settled keys of c from the JSON of a configuration.
func removeSettled(root *node, c any) {
	s, ok := c.(Settler)
	if !ok {
		return
	}
	for path, value := range s.Settled() {
		n, keys := root, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			if n = n.child(key); n == nil {
				break
			}
		}
		if n != nil {
			n.members = slices.DeleteFunc(n.members, func(m member) bool {
				return m.key == keys[len(keys)-1] && string(m.value.raw) == value
			})
		}
	}
}

// WithoutSettled returns the text of a configuration of c's type without its settled keys.
func WithoutSettled(text []byte, c any) []byte {
	root, fault := parse(text)
	if fault != nil {
		return text
	}
	removeSettled(root, c)
	return root.appendTo(nil, "")
}

// replacement returns what to write instead of a key of a former layout.
func replacement(path string, root reflect.Type) (now string, ok bool) {
	if m, isMover := reflect.New(root).Interface().(Mover); isMover {
		now, ok = m.Moved()[path]
	}
	return now, ok
}
