// Package lists has functions of slices that package slices lacks.
package lists

import (
	"fmt"
	"slices"
	"strings"
)

// Range returns the numbers low … high−1.
func Range[T int | uint64](low, high T) []T {
	numbers := make([]T, high-low)
	for i := range numbers {
		numbers[i] = low + T(i)
	}
	return numbers
}

// Part returns items[lo:hi], or nil if items is nil.
func Part[T any](items []T, lo, hi int) []T {
	if items == nil {
		return nil
	}
	return items[lo:hi]
}

// Column returns item i of each row of width items.
func Column[T any](items []T, i, width int) []T {
	column := make([]T, 0, len(items)/width)
	for ; i < len(items); i += width {
		column = append(column, items[i])
	}
	return column
}

// Map returns f of each item.
func Map[S, T any](items []S, f func(S) T) (results []T) {
	for _, item := range items {
		results = append(results, f(item))
	}
	return results
}

// Choose returns the items with the given names, or all items if no names are given. unknown is the format
// of the error for a name that no item has. Its verbs take that name and the names of all items.
func Choose[T any](items []T, names []string, nameOf func(T) string, unknown string) (chosen []T, err error) {
	var known []string
	for _, item := range items {
		known = append(known, nameOf(item))
		if len(names) == 0 || slices.Contains(names, nameOf(item)) {
			chosen = append(chosen, item)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf(unknown, name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
