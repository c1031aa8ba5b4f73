// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// The credentials of the proxies.
const (
	proxyUser     = "ann"
	proxyPassword = "hunter2-s3cret"
)

// gateway is an HTTP, HTTPS or SOCKS5 proxy that requires a user name and a password.
type gateway struct {
	url       *url.URL
	authority []byte       // CA certificate of an HTTPS proxy, in PEM
	connected atomic.Int64 // number of connections to targets

	mu   sync.Mutex // guards open
	open []net.Conn
}

func newGateway(t *testing.T, scheme string) *gateway {
	t.Helper()
	g := &gateway{url: &url.URL{Scheme: scheme, User: url.UserPassword(proxyUser, proxyPassword)}}
	if scheme == "socks5" {
		g.url.Host = g.listen(t)
		return g
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(g.connect))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if scheme == "https" {
		s.StartTLS()
		g.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	g.url.Host = s.Listener.Addr().String()
	return g
}

// config returns a copy of a configuration that uses the proxy with a password.
func (g *gateway) config(t *testing.T, cfg *kube.Config, password string) *kube.Config {
	t.Helper()
	through := *cfg
	to := *g.url
	to.User = url.UserPassword(proxyUser, password)
	through.ProxyURL = to.String()
	through.Source = "this test"
	if through.CAFile != "" {
		data, err := os.ReadFile(through.CAFile)
		if err != nil {
			t.Fatal(err)
		}
		through.CAFile, through.CAData = "", data
	}
	through.CAData = slices.Concat(through.CAData, []byte("\n"), g.authority)
	return &through
}

// connect serves the method CONNECT.
func (g *gateway) connect(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword))
	if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	far, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer far.Close()
	w.WriteHeader(http.StatusOK)
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	g.pass(near, buffered, far)
}

// listen serves SOCKS5 (RFC 1928 and RFC 1929) and returns the address.
func (g *gateway) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer near.Close()
				g.socks(near)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		g.mu.Lock()
		for _, conn := range g.open { // a client may keep idle connections open
			conn.Close()
		}
		g.mu.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}

func (g *gateway) socks(near net.Conn) {
	in := bufio.NewReader(near)
	take := func(n byte) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return b
	}
	take(take(2)[1])                // methods
	_, _ = near.Write([]byte{5, 2}) // user name and password
	user := take(take(2)[1])
	if string(user) != proxyUser || string(take(take(1)[0])) != proxyPassword {
		_, _ = near.Write([]byte{1, 1})
		return
	}
	_, _ = near.Write([]byte{1, 0})
	host := ""
	switch take(4)[3] {
	case 1:
		host = net.IP(take(4)).String()
	case 3:
		host = string(take(take(1)[0]))
	}
	port := take(2)
	target := net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1])))
	far, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	_, _ = near.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	g.pass(near, in, far)
}

// pass copies data in both directions until one side closes its connection. Once the server has closed its one, what
// the client still sends is read and dropped: a connection that is closed with unread data is reset, and the client
// would lose the end of the server's data.
func (g *gateway) pass(near net.Conn, fromNear io.Reader, far net.Conn) {
	g.connected.Add(1)
	g.mu.Lock()
	g.open = append(g.open, near)
	g.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, fromNear)
		_, _ = io.Copy(io.Discard, fromNear)
		far.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.(interface{ CloseWrite() error }).CloseWrite()
	})
	both.Wait()
}

// TestRequestsPassThroughProxies checks that reads, writes and watches pass through each kind of proxy on one
// connection, and that no error contains the proxy's password.
func TestRequestsPassThroughProxies(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			g := newGateway(t, scheme)
			c := connect(t, &kube.ClientOptions{Config: g.config(t, loadConfig(t, ""), proxyPassword)})
			defer c.CloseIdleConnections()
			maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, connect(t, nil)))
			seen := make(chan string, 10)
			list, err := maps.List(limit(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			background(t, func(ctx context.Context) error {
				for ev, err := range maps.WatchOnce(ctx, &request.WatchOptions{ResourceVersion: list.ResourceVersion}) {
					if err != nil {
						return err
					}
					if ev.Object != nil {
						seen <- ev.Object.Name
					}
				}
				return errors.New("the watch has ended")
			})
			create(t, maps, "web", "first")
			awaitValue(t, seen, "web")
			if n := g.connected.Load(); n != 1 {
				t.Errorf("the proxy has made %d connections, want 1", n)
			}

			wrong := connect(t, &kube.ClientOptions{Config: g.config(t, loadConfig(t, ""), "hunter1-s3cret")})
			_, err = kube.ClusterWide[corev1.Namespace](wrong).Get(limit(t), "default", nil)
			if _, ok := errors.AsType[*kube.ConnectError](err); !ok || strings.Contains(err.Error(), "hunter") {
				t.Errorf("with a wrong password: %v, want a ConnectError without the password", err)
			}
			t.Log(err)
		})
	}
}

// TestStreamsPassThroughProxies checks that streams pass through each kind of proxy.
func TestStreamsPassThroughProxies(t *testing.T) {
	t.Parallel()
	direct := clusterWithNode(t)
	ns := newNamespace(t, direct)
	awaitPods(t, direct, ns)
	startPod(t, kube.Namespaced[corev1.Pod](direct, ns), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: podSpec(nodeOf(t, direct)),
	})
	for _, scheme := range []string{"http", "https", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			g := newGateway(t, scheme)
			c := connect(t, &kube.ClientOptions{Config: g.config(t, direct.Config(), proxyPassword)})
			defer c.CloseIdleConnections()
			p, err := kube.Pods(c, ns).Exec(limit(t), "web", &kube.ExecOptions{Command: []string{"tool", "cat"}, Stdin: true})
			if err != nil {
				t.Fatal(err)
			}
			const much = 4 << 20
			n := &counter{max: much + 1}
			if err := p.Run(io.LimitReader(zeros{}, much), n, nil); err != nil {
				t.Error(err)
			}
			if n.count != much || g.connected.Load() != 1 {
				t.Errorf("received %d bytes over %d connections, want %d over 1", n.count, g.connected.Load(), much)
			}
		})
	}
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
