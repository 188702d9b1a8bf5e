package freeport

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPortIsBelowThoseOfConnectionsAndIsGivenOnce(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		port, err := Loopback()
		require.NoError(t, err)
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		require.GreaterOrEqual(t, number, first)
		require.Less(t, number, 30000, "a node port of Services")
		require.False(t, seen[port], "%s was given before", port)
		seen[port] = true
	}
}

func TestAPortWithAListenerIsLeftOut(t *testing.T) {
	port, err := Loopback()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	defer listener.Close()
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	turn.Store(uint32(number-first) + count - 1) // the port is the next one's turn
	next, err := Loopback()
	require.NoError(t, err)
	require.NotEqual(t, port, next)
}
