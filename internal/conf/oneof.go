package conf

import (
	"fmt"
	"slices"
	"strings"
)

// OneOf returns an error that lists the allowed values if value is none of them.
func OneOf(key, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not one of %s", key, value, strings.Join(allowed, ", "))
}
