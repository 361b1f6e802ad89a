package conf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// A Key is one value of a configuration.
type Key struct {
	Path  string
	Field string   // PACKAGE.Type.Field, whose comment says what it means
	Type  string   // as JSON Schema names it, with that of a list's items
	Enum  []string // values of a string, nil for any
	When  string   // the choices that it needs, "kind=a,b"; "" if it is always there
	Only  string   // the choices that some of its values need, "a with kind=b; c with kind=d"
}

// Describe lists the keys of the struct that c points to, in order, including the keys of
// all choices.
func Describe(c any) []Key { return describe(destination(c).Type(), "", "") }

func describe(t reflect.Type, path, when string) (all []Key) {
	for _, f := range listFields(t) {
		here := when
		for _, c := range f.when {
			here = strings.TrimSpace(here + " " + join(path, c.key) + "=" + strings.Join(c.values, ","))
		}
		if f.typ.Kind() == reflect.Struct {
			all = append(all, describe(f.typ, join(path, f.key), here)...)
			continue
		}
		var only []string
		for _, r := range f.only {
			with := strings.Join(r.values, ", ") + " with"
			for _, c := range r.conditions {
				with += " " + c.at(path) + "=" + c.text(",")
			}
			only = append(only, with)
		}
		all = append(all, Key{join(path, f.key), f.owner(t), typeName(f.typ), f.enum, here, strings.Join(only, "; ")})
	}
	return all
}

// owner returns the struct that declares a field, maybe an embedded one, and the
// field's name.
func (f *field) owner(t reflect.Type) string {
	for _, i := range f.index[:len(f.index)-1] {
		t = t.Field(i).Type
	}
	return fmt.Sprintf("%s.%s.%s", t.PkgPath(), t.Name(), t.Field(f.index[len(f.index)-1]).Name)
}

// readsItself reports whether a type reads JSON of a form of its own, which only its comment
// describes.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func typeName(t reflect.Type) string {
	switch {
	case readsItself(t):
		return "value"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return "array of " + typeName(t.Elem())
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		return "object"
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	}
	return "integer"
}

// Schema returns a JSON Schema (2020-12) of the struct that c points to. It describes what Decode
// accepts, but for ranges and for what depends on the target. doc returns the meaning of a
// Key's Field.
func Schema(c any, title string, doc func(field string) string) map[string]any {
	s := schema(destination(c).Type(), doc)
	if only := exclusions(destination(c).Type(), ""); len(only) > 0 {
		all, _ := s["allOf"].([]any)
		s["allOf"] = append(all, only...)
	}
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", title
	return s
}

// exclusions returns schemas that forbid the values that do not go together in an object of type
// t at a path (tag only).
func exclusions(t reflect.Type, path string) (all []any) {
	for _, f := range listFields(t) {
		at := join(path, f.key)
		if f.typ.Kind() == reflect.Struct {
			all = append(all, exclusions(f.typ, at)...)
		}
		for _, r := range f.only {
			values := make([]any, len(r.values))
			for i, v := range r.values {
				if values[i] = v; f.typ.Kind() == reflect.Bool {
					values[i] = v == "true"
				}
			}
			for _, c := range r.conditions {
				all = append(all, map[string]any{
					"if":   schemaAt(c.at(path), map[string]any{"not": map[string]any{"enum": c.values}}),
					"then": map[string]any{"not": schemaAt(at, map[string]any{"enum": values})},
				})
			}
		}
	}
	return all
}

// schemaAt returns the schema of an object in which the value at a path has the schema s.
func schemaAt(path string, s map[string]any) map[string]any {
	for keys := strings.Split(path, "."); len(keys) > 0; keys = keys[:len(keys)-1] {
		key := keys[len(keys)-1]
		s = map[string]any{"type": "object", "required": []string{key}, "properties": map[string]any{key: s}}
	}
	return s
}

func schema(t reflect.Type, doc func(string) string) map[string]any {
	switch {
	case readsItself(t):
		return map[string]any{}
	case t.Kind() == reflect.Pointer:
		return schema(t.Elem(), doc)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		s := map[string]any{"type": []string{"array", "null"}, "items": schema(t.Elem(), doc)}
		if t.Kind() == reflect.Array {
			s["minItems"], s["maxItems"] = t.Len(), t.Len()
		}
		return s
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schema(t.Elem(), doc)}
	case t.Kind() != reflect.Struct:
		s := map[string]any{"type": typeName(t)}
		if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
			s["minimum"] = 0
		}
		return s
	}
	properties, conditions := map[string]any{}, []any{}
	for _, f := range listFields(t) {
		p := schema(f.typ, doc)
		if f.enum != nil {
			p["enum"] = f.enum
		}
		if text := doc(f.owner(t)); text != "" {
			p["description"] = text
		}
		properties[f.key] = p
		for _, c := range f.when {
			conditions = append(conditions, map[string]any{
				"if": map[string]any{
					"required":   []string{c.key},
					"properties": map[string]any{c.key: map[string]any{"not": map[string]any{"enum": c.values}}},
				},
				"then": map[string]any{"properties": map[string]any{f.key: false}},
			})
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(conditions) > 0 {
		s["allOf"] = conditions
	}
	return s
}
