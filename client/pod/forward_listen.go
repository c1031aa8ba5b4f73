// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/kube-go/sdk/core/request"
)

// ListenOptions are the options of [PortForwarder.Listen].
type ListenOptions struct {
	// Addresses are the local IP addresses to listen on; the port must be free on all of them. 0.0.0.0 means all IPv4
	// addresses, and :: all IPv6 addresses. The name localhost means 127.0.0.1 and ::1, of which one must be free.
	// Default: localhost.
	Addresses []string

	// LocalPort is the local port. Default: a free port.
	LocalPort uint16

	// OnConnect is called for each connection, in the goroutine of the connection. Default: none.
	OnConnect func(local, remote net.Addr)

	// OnError is called when a connection can't be made or breaks, in the goroutine of the connection; the others
	// continue. Default: the error is logged as a warning, with [slog.Default].
	OnError func(error)
}

// PortListener accepts local connections, and connects each to a pod.
type PortListener struct {
	forwarder *PortForwarder
	port      string
	listeners []net.Listener
	onConnect func(local, remote net.Addr)
	onError   func(error)
}

// Listen opens a local port for connections to a port of the pod, which is a number or a name as for
// [PortForwarder.Dial]. [PortListener.Run] serves the connections, and [PortListener.Close] closes the local port.
func (f *PortForwarder) Listen(ctx context.Context, port string, o *ListenOptions) (*PortListener, error) {
	if o == nil {
		o = &ListenOptions{}
	}
	l := &PortListener{forwarder: f, port: port, onConnect: o.OnConnect, onError: o.OnError}
	if l.onConnect == nil {
		l.onConnect = func(net.Addr, net.Addr) {}
	}
	if l.onError == nil {
		l.onError = func(err error) {
			slog.Default().LogAttrs(context.Background(), slog.LevelWarn, "port forward", slog.Any("err", err))
		}
	}
	addresses := o.Addresses
	if len(addresses) == 0 {
		addresses = []string{"localhost"}
	}
	var err error
	if port == "" {
		err = &request.InvalidError{Field: "port", Detail: "is empty; give a number or a name"}
	} else {
		err = l.open(ctx, addresses, o.LocalPort)
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	return l, nil
}

// portTries is the number of free ports to try if there are several addresses.
const portTries = 10

// localIP is an IP address to listen on.
type localIP struct {
	network  string // tcp4 or tcp6: for "tcp", 0.0.0.0 would include IPv6
	ip       string
	optional bool // one of the two is enough
}

// localIPs returns the IP addresses, each once.
func localIPs(addresses []string) ([]localIP, error) {
	var all []localIP
	add := func(l localIP) {
		i := slices.IndexFunc(all, func(other localIP) bool { return other.ip == l.ip })
		if i < 0 {
			all = append(all, l)
		} else if !l.optional {
			all[i] = l
		}
	}
	for _, address := range addresses {
		ip := net.ParseIP(address)
		switch {
		case address == "localhost":
			add(localIP{"tcp4", "127.0.0.1", true})
			add(localIP{"tcp6", "::1", true})
		case ip == nil:
			detail := fmt.Sprintf("%q is neither an IP address nor localhost", address)
			return nil, &request.InvalidError{Field: "ListenOptions.Addresses", Detail: detail}
		case ip.To4() != nil:
			add(localIP{network: "tcp4", ip: ip.String()})
		default:
			add(localIP{network: "tcp6", ip: ip.String()})
		}
	}
	return all, nil
}

// open listens on one port of all addresses.
func (l *PortListener) open(ctx context.Context, addresses []string, port uint16) error {
	ips, err := localIPs(addresses)
	if err != nil {
		return err
	}
	tries := 1
	if port == 0 {
		tries = portTries // a port that is free on one address may be in use on the next
	}
	for range tries {
		if err = l.openAll(ctx, ips, port); err == nil {
			return nil
		}
		_ = l.Close() // closes the listeners of the addresses that succeeded
		l.listeners = nil
	}
	return err
}

func (l *PortListener) openAll(ctx context.Context, ips []localIP, port uint16) error {
	anyPort := port == 0
	var errs []error
	for _, ip := range ips {
		listener, err := new(net.ListenConfig).Listen(ctx, ip.network, net.JoinHostPort(ip.ip, strconv.Itoa(int(port))))
		switch {
		case err == nil:
			l.listeners = append(l.listeners, listener)
			port = uint16(listener.Addr().(*net.TCPAddr).Port)
		case !ip.optional || anyPort && errors.Is(err, syscall.EADDRINUSE):
			return err
		default:
			errs = append(errs, err)
		}
	}
	if len(errs) == 2 { // both addresses of localhost
		return errors.Join(errs...)
	}
	return nil
}

// Addrs returns the local addresses.
func (l *PortListener) Addrs() []net.Addr {
	var addrs []net.Addr
	for _, listener := range l.listeners {
		addrs = append(addrs, listener.Addr())
	}
	return addrs
}

// Close closes the local port. Existing connections continue: [PortListener.Run] returns when they have ended.
func (l *PortListener) Close() error {
	var errs []error
	for _, listener := range l.listeners {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Run serves connections. When the context ends, it closes the port and all connections, and returns the cause. After
// [PortListener.Close], it waits for the existing connections, and returns net.ErrClosed. It may be called once.
func (l *PortListener) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // frees the port
	defer stop()
	var running sync.WaitGroup
	for _, listener := range l.listeners {
		running.Go(func() { l.accept(ctx, listener, &running) })
	}
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return net.ErrClosed
}

// accept serves connections until the listener is closed.
func (l *PortListener) accept(ctx context.Context, listener net.Listener, running *sync.WaitGroup) {
	for {
		local, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // for example, too many open files
			l.onError(l.forwarder.wrap(err))
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		running.Go(func() {
			if err := l.forward(ctx, local); err != nil && ctx.Err() == nil {
				l.onError(err)
			}
		})
	}
}

// forward connects a local connection with a pod until either side ends it.
func (l *PortListener) forward(ctx context.Context, local net.Conn) error {
	defer local.Close()
	remote, err := l.forwarder.Dial(ctx, l.port)
	if err != nil {
		reset(local)
		return err
	}
	defer remote.Close()
	l.onConnect(local.RemoteAddr(), remote.RemoteAddr())
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		local.Close()
		remote.Close()
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()

	up := &uplink{local: local, remote: remote, done: make(chan struct{})}
	go up.run()
	err = up.down()
	if err != nil {
		reset(local)
	}
	local.Close() // ends the other direction
	remote.Close()
	<-up.done
	return err
}

// reset makes Close reset the connection.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // otherwise, the program sees a normal end
	}
}

// afterEnd is the time after which a pod that sends nothing is disconnected once the local side has closed its
// direction. The pod can't be notified of that, so it may wait for more data forever.
const afterEnd = 10 * time.Second

// uplink copies data between a local connection and a pod.
type uplink struct {
	local, remote net.Conn
	done          chan struct{}
	mu            sync.Mutex // guards ended
	ended         bool       // the local side has closed its direction
}

// run copies data to the pod until the local side closes its direction.
func (u *uplink) run() {
	defer close(u.done)
	_, _ = io.Copy(u.remote, u.local) // if the pod fails, the other direction returns the error
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	_ = u.remote.SetReadDeadline(time.Now().Add(afterEnd)) // never fails
}

// heard extends the read deadline of the pod.
func (u *uplink) heard() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		_ = u.remote.SetReadDeadline(time.Now().Add(afterEnd)) // never fails
	}
}

// down copies data from the pod until either side closes the connection. It returns the error of the remote connection.
func (u *uplink) down() error {
	buf := make([]byte, 32<<10)
	for {
		n, err := u.remote.Read(buf)
		if n > 0 {
			u.heard()
			if _, err := u.local.Write(buf[:n]); err != nil {
				return nil //nolint:nilerr // the local side has closed the connection
			}
		}
		switch {
		case err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
}
