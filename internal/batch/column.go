package batch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/ndjson"
)

// A Column has the values of one key in some records.
type Column struct {
	Key   string
	Texts []string // by record; empty where the job does not set the key
}

// Varied returns the columns whose values differ between records: verbs and arguments first, then
// keys in the order in which the records name them.
func Varied(records []Record) ([]Column, error) {
	columns := []Column{{"verb", make([]string, len(records))}, {"argument", make([]string, len(records))}}
	for i, r := range records {
		columns[0].Texts[i], columns[1].Texts[i] = r.Verb, strings.Join(r.Args, " ")
		if len(r.Values) == 0 {
			continue
		}
		v, err := ndjson.Parse(r.Values, lineLimits.Depth)
		if err != nil {
			return nil, fmt.Errorf("%s: values: %w", r.ID, err)
		}
		for _, m := range v.Members {
			k := slices.IndexFunc(columns, func(c Column) bool { return c.Key == m.Key })
			if k < 0 {
				k = len(columns)
				columns = append(columns, Column{m.Key, make([]string, len(records))})
			}
			if columns[k].Texts[i] = m.Value.Text; m.Value.Kind != ndjson.String {
				columns[k].Texts[i] = m.Value.String()
			}
		}
	}
	return slices.DeleteFunc(columns, func(c Column) bool {
		return !slices.ContainsFunc(c.Texts, func(text string) bool { return text != c.Texts[0] })
	}), nil
}
