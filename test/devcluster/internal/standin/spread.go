package standin

import (
	"maps"
	"slices"
)

// Spread gives machines zones so that every zone has about as many. A name keeps its zone, also when another machine
// has it later. It is not safe for concurrent use.
type Spread struct {
	zones []string
	of    map[string]string
}

// NewSpread returns a Spread over zones.
func NewSpread(zones ...string) *Spread { return &Spread{zones: zones, of: map[string]string{}} }

// Zone returns the zone of the machine with a name: the first one with the fewest names if it has none yet.
func (s *Spread) Zone(name string) string {
	if zone, known := s.of[name]; known {
		return zone
	}
	used := make([]int, len(s.zones))
	for zone := range maps.Values(s.of) {
		used[slices.Index(s.zones, zone)]++
	}
	s.of[name] = s.zones[slices.Index(used, slices.Min(used))]
	return s.of[name]
}
