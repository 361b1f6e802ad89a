package configtest

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Edited calls visit with versions of a JSON document in which one value has been removed, or
// replaced by one such as an editor or a mistake may leave.
func Edited(t *testing.T, document []byte, visit func(edited []byte)) {
	t.Helper()
	replacements := []any{nil, "", "Infinity", "NaN", 0, -1, 1e300, true, []any{}, []any{nil}, map[string]any{}}
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
				original := v[key]
				for _, replacement := range replacements {
					v[key] = replacement
					emit()
				}
				delete(v, key)
				emit()
				v[key] = original
				walk(original)
			}
		case []any:
			for i, original := range v {
				for _, replacement := range replacements {
					v[i] = replacement
					emit()
				}
				v[i] = original
				walk(original)
			}
		}
	}
	walk(root)
}
