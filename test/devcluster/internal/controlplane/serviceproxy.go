package controlplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// serviceProxy passes connections to the address of the Service kubernetes on to the API server, in place of
// kube-proxy. The API server listens on the nodes' bridge only, and one listener of it cannot serve two addresses.
type serviceProxy struct {
	listener net.Listener
	target   string
	open     sync.WaitGroup

	mutex       sync.Mutex
	closed      bool
	connections map[net.Conn]struct{}
}

func startServiceProxy(address, target string) (*serviceProxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("address of the Service kubernetes: %w", err)
	}
	p := &serviceProxy{listener: listener, target: target, connections: map[net.Conn]struct{}{}}
	p.open.Add(1)
	go p.accept()
	return p, nil
}

func (p *serviceProxy) accept() {
	defer p.open.Done()
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as too many open files: the next one may do
		}
		p.open.Add(1)
		go p.pass(client)
	}
}

// pass copies both ways until either side ends. A dead API server shows as a closed connection.
func (p *serviceProxy) pass(client net.Conn) {
	defer p.open.Done()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	closeBoth := func() {
		_ = client.Close()
		_ = server.Close()
	}
	if !p.track(client) {
		closeBoth()
		return
	}
	defer p.forget(client)
	var half sync.WaitGroup
	half.Go(func() { defer closeBoth(); _, _ = io.Copy(server, client) })
	half.Go(func() { defer closeBoth(); _, _ = io.Copy(client, server) })
	half.Wait()
}

// track records a connection for close. It returns false if the proxy is already closed.
func (p *serviceProxy) track(connection net.Conn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.closed {
		p.connections[connection] = struct{}{}
	}
	return !p.closed
}

func (p *serviceProxy) forget(connection net.Conn) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.connections, connection)
}

func (p *serviceProxy) close() error {
	err := p.listener.Close()
	p.mutex.Lock()
	p.closed = true
	for connection := range p.connections {
		_ = connection.Close()
	}
	p.mutex.Unlock()
	p.open.Wait()
	return err
}
