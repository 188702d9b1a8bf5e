package machines

import (
	"slices"
	"sync"
)

// Zones gives machines zones so that every zone has about as many. A name keeps its zone, also when another machine
// has it later.
type Zones struct {
	zones []string

	mutex sync.Mutex
	of    map[string]string
}

// NewZones returns Zones over zones; without any, no machine has one.
func NewZones(zones ...string) *Zones { return &Zones{zones: zones, of: map[string]string{}} }

// Zone returns the zone of the machine with a name: the first one with the fewest names if it has none yet.
func (z *Zones) Zone(name string) string {
	z.mutex.Lock()
	defer z.mutex.Unlock()
	if zone, known := z.of[name]; known || len(z.zones) == 0 {
		return zone
	}
	used := make([]int, len(z.zones))
	for _, zone := range z.of {
		used[slices.Index(z.zones, zone)]++
	}
	z.of[name] = z.zones[slices.Index(used, slices.Min(used))]
	return z.of[name]
}
