// Package patience measures how long a value has been the same, for findings that must last before they count.
package patience

import "time"

// Since is a value, and the time since when it has been the same, by the clock of this process: the clocks of the nodes
// differ. The zero value has seen nothing.
type Since[T comparable] struct {
	value T
	at    time.Time
}

// See records the current value, and returns since when it has been the same.
func (s *Since[T]) See(value T, now time.Time) time.Time {
	if s.at.IsZero() || s.value != value {
		s.value, s.at = value, now
	}
	return s.at
}

// Value returns the value that was seen last.
func (s *Since[T]) Value() T { return s.value }

// At returns since when the value has been the same, zero if nothing was seen.
func (s *Since[T]) At() time.Time { return s.at }

// Each is a Since for each key. A deleted entry starts anew.
type Each[K, T comparable] map[K]*Since[T]

// See records the current value of a key, and returns since when it has been the same.
func (e Each[K, T]) See(key K, value T, now time.Time) time.Time {
	if e[key] == nil {
		e[key] = &Since[T]{}
	}
	return e[key].See(value, now)
}

// Sooner returns the smaller of two durations, where 0 or less means never.
func Sooner(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	default:
		return min(a, b)
	}
}
