// Package freeport finds ports for processes that are told where to listen and start later.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// The ports lie below those that Linux gives to connections and to listeners without a port: 32768 and up, unless
// net.ipv4.ip_local_port_range says otherwise, see ip(7). One of those can be taken before the process listens. They
// also lie below the node ports of Services, which begin at 30000.
const (
	first = 20000
	count = 10000
)

// turn counts the ports that were tried, so that none is returned twice before all were. Each process begins elsewhere.
var turn = func() *atomic.Uint32 {
	var start atomic.Uint32
	start.Store(rand.Uint32N(count)) //nolint:gosec // no secret
	return &start
}()

// Loopback returns a port of 127.0.0.1 where nothing listens now.
func Loopback() (string, error) {
	for range count {
		port := strconv.Itoa(first + int(turn.Add(1)%count))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return "", fmt.Errorf("free port: none of the ports %d to %d of 127.0.0.1 is free", first, first+count-1)
}
