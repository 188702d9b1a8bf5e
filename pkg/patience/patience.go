// Package patience measures how long something has been as it is, for what must last before it counts.
package patience

import "time"

// Since is a value, and since when it has been that one, by the clock of the process that looks: the clocks of the
// nodes differ. The zero value has seen nothing.
type Since[T comparable] struct {
	value T
	at    time.Time
}

// See records the value now, and returns since when it has been that one.
func (s *Since[T]) See(value T, now time.Time) time.Time {
	if s.at.IsZero() || s.value != value {
		s.value, s.at = value, now
	}
	return s.at
}

// Value returns the value that was seen last.
func (s *Since[T]) Value() T { return s.value }

// At returns since when the value has been that one, zero if nothing was seen.
func (s *Since[T]) At() time.Time { return s.at }

// Each is Since for each of several things. An entry that is deleted starts anew.
type Each[K, T comparable] map[K]*Since[T]

// See records the value of a key now, and returns since when it has been that one.
func (e Each[K, T]) See(key K, value T, now time.Time) time.Time {
	if e[key] == nil {
		e[key] = &Since[T]{}
	}
	return e[key].See(value, now)
}

// Sooner returns the smaller of two durations, of which 0 or less is never.
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
