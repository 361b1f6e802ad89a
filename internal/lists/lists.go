// Package lists has what package slices lacks.
package lists

import (
	"fmt"
	"slices"
	"strings"
)

// Range returns the numbers from low on that are less than high.
func Range[T int | uint64](low, high T) []T {
	all := make([]T, high-low)
	for i := range all {
		all[i] = low + T(i)
	}
	return all
}

// Part returns items lo … hi−1, nil of nil.
func Part[T any](items []T, lo, hi int) []T {
	if items == nil {
		return nil
	}
	return items[lo:hi]
}

// Column returns item i of each row of so many.
func Column[T any](items []T, i, width int) []T {
	column := make([]T, 0, len(items)/width)
	for ; i < len(items); i += width {
		column = append(column, items[i])
	}
	return column
}

// Map returns what a function makes of each item.
func Map[S, T any](items []S, of func(S) T) (all []T) {
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}

// Choose returns those of all that have the given names, all if there are none. The error
// for a name that there is not has a verb for it and one for those that there are.
func Choose[T any](all []T, names []string, nameOf func(T) string, unknown string) (chosen []T, err error) {
	var known []string
	for _, one := range all {
		known = append(known, nameOf(one))
		if len(names) == 0 || slices.Contains(names, nameOf(one)) {
			chosen = append(chosen, one)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf(unknown, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
