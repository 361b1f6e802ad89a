package configtest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Edited calls visit with a JSON document in which one value, each in turn, has
// been removed, or replaced by others such as an editor or a mistake may leave.
func Edited(t *testing.T, document []byte, visit func(edited []byte)) {
	t.Helper()
	others := []any{nil, "", "Infinity", "NaN", 0, -1, 1e300, true, []any{}, []any{nil}, map[string]any{}}
	var root any
	require.NoError(t, json.Unmarshal(document, &root))
	emit := func() {
		text, err := json.Marshal(root)
		require.NoError(t, err)
		visit(text)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				was := v[key]
				for _, other := range others {
					v[key] = other
					emit()
				}
				delete(v, key)
				emit()
				v[key] = was
				walk(was)
			}
		case []any:
			for i, was := range v {
				for _, other := range others {
					v[i] = other
					emit()
				}
				v[i] = was
				walk(was)
			}
		}
	}
	walk(root)
}
