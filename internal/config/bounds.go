package config

import (
	"fmt"
	"reflect"
)

// checkBounds compares a scalar with the min and max of its field.
func checkBounds(v reflect.Value, f field) error {
	if f.min == "" {
		return nil
	}
	got := number(v)
	// A NaN is below no bound and above none: ask whether it is inside.
	if low, high := limit(f, f.min), limit(f, f.max); !(got >= low && got <= high) {
		return fmt.Errorf("want %s to %s", f.min, f.max)
	}
	return nil
}

// limit reads a bound the way the field's own value is read. A bound that cannot be read is a mistake in a tag, which
// TestEveryTagCanBeRead finds.
func limit(f field, s string) float64 {
	v := reflect.New(f.typ).Elem()
	_ = setScalar(v, &node{kind: text, value: s}, f)
	return number(v)
}

func number(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}
