package controlplane

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheServiceProxyPassesBothWaysAndEndsWithItsOwner(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	go func() {
		for {
			connection, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(connection, connection) }()
		}
	}()
	proxy, err := startServiceProxy("127.0.0.1:0", server.Addr().String())
	require.NoError(t, err)

	client, err := net.Dial("tcp", proxy.listener.Addr().String())
	require.NoError(t, err)
	_, err = client.Write([]byte("hello"))
	require.NoError(t, err)
	answer := make([]byte, 5)
	_, err = io.ReadFull(client, answer)
	require.NoError(t, err)
	require.Equal(t, "hello", string(answer))

	require.NoError(t, proxy.close())
	_, err = client.Read(answer)
	require.Error(t, err)
	_, err = net.Dial("tcp", proxy.listener.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestTheServiceProxyClosesConnectionsWithoutAServer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	target := server.Addr().String()
	require.NoError(t, server.Close())
	proxy, err := startServiceProxy("127.0.0.1:0", target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.close()) })

	client, err := net.Dial("tcp", proxy.listener.Addr().String())
	require.NoError(t, err)
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
