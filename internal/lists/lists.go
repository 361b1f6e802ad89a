// Package lists has what package slices lacks.
package lists

// Map returns what a function makes of each item.
func Map[S, T any](items []S, of func(S) T) (all []T) {
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}
