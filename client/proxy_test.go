// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
)

const (
	proxyUser     = "ann"
	proxyPassword = "hunter2"
)

// deadAddress is an address where nothing listens. Its port is reserved, so no other program gets it as a free one.
const deadAddress = "127.0.0.1:1"

// proxied records the targets of a proxy. It is safe for concurrent use.
type proxied struct {
	mu      sync.Mutex // guards targets
	targets []string
}

func (p *proxied) note(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets = append(p.targets, target)
}

func (p *proxied) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.targets)
}

// pipe copies bytes between two connections until both have ended.
func pipe(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			pair[0].Close()
			pair[1].Close()
		})
	}
	wg.Wait()
}

// hijacked is a connection from which the server may have read the first bytes.
type hijacked struct {
	net.Conn
	buffered io.Reader
}

func (h *hijacked) Read(p []byte) (int, error) { return h.buffered.Read(p) }

// httpProxy starts a proxy that requires a password. With a certificate, it uses TLS, and rejects client certificates.
func httpProxy(t *testing.T, cert *tls.Certificate) (*proxied, string) {
	t.Helper()
	asked := &proxied{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.note(r.Method + " " + r.Host)
		switch {
		case r.TLS != nil && len(r.TLS.PeerCertificates) > 0:
			w.WriteHeader(http.StatusTeapot)
			return
		case r.Header.Get("Proxy-Authorization") != want:
			w.Header().Set("Proxy-Authenticate", "Basic")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		far, err := new(net.Dialer).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		near, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			far.Close()
			return
		}
		pipe(&hijacked{near, buffered}, far)
	}))
	s.Config.ErrorLog = discard()
	if cert == nil {
		s.Start()
	} else {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*cert}, ClientAuth: tls.RequestClientCert}
		s.StartTLS()
	}
	t.Cleanup(s.Close)
	return asked, s.Listener.Addr().String()
}

// socksProxy starts a SOCKS5 proxy that requires a password, see RFC 1928 and 1929.
func socksProxy(t *testing.T) (*proxied, string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := &proxied{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if target, ok := socksGreet(conn); ok {
					asked.note("SOCKS " + target)
					if far, err := new(net.Dialer).DialContext(context.Background(), "tcp", target); err == nil {
						_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
						pipe(conn, far)
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return asked, listener.Addr().String()
}

// socksGreet reads a client's greeting, password and address.
func socksGreet(conn net.Conn) (target string, ok bool) {
	in := bufio.NewReader(conn)
	take := func(n byte) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return b
	}
	take(take(2)[1])                // methods
	_, _ = conn.Write([]byte{5, 2}) // user name and password
	user := take(take(2)[1])
	password := take(take(1)[0])
	answer := []byte{1, 1} // rejected
	if string(user) == proxyUser && string(password) == proxyPassword {
		answer[1] = 0
	}
	_, _ = conn.Write(answer)
	if answer[1] != 0 {
		return "", false
	}
	host := ""
	switch take(4)[3] {
	case 1:
		host = net.IP(take(4)).String()
	case 3:
		host = string(take(take(1)[0]))
	default:
		return "", false
	}
	port := take(2)
	return net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))), true
}

// TestRequestsGoThroughTheProxy checks that requests and upgrades use each kind of proxy, with the proxy's own name,
// authority and password, and that the proxy receives no credentials for the server.
func TestRequestsGoThroughTheProxy(t *testing.T) {
	testserver.CheckGoroutines(t)
	ca := newAuthority(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("the server received %d client certificates and %v", len(r.TLS.PeerCertificates), r.Header)
		}
		if r.Header.Get("Upgrade") == "" {
			testserver.Reply(w, 200, jsonType, []byte(node))
			return
		}
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.CopyN(conn, buffered, 5)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.issue(t, "kube", time.Hour).load(t)},
		ClientAuth: tls.RequireAnyClientCert,
	}
	server.StartTLS()
	defer server.Close()
	plain, plainAddr := httpProxy(t, nil)
	secure, secureAddr := httpProxy(t, new(ca.issue(t, "proxy", time.Hour).load(t)))
	socks, socksAddr := socksProxy(t)
	me := ca.issue(t, "me", time.Hour)

	for _, tc := range []struct {
		name, scheme, addr, verb string
		proxy                    *proxied
	}{
		{"http", "http", plainAddr, "CONNECT ", plain},
		{"https", "https", secureAddr, "CONNECT ", secure},
		{"SOCKS5", "socks5", socksAddr, "SOCKS ", socks},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &config.Config{
				Server: server.URL, CAData: ca.pem, TLSServerName: "kube",
				ClientCertData: me.cert, ClientKeyData: config.Secret(me.key),
				ProxyURL: tc.scheme + "://" + proxyUser + ":" + proxyPassword + "@" + tc.addr,
			}
			c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})
			defer c.CloseIdleConnections()
			if _, err := client.Dynamic(c, nodes).Get(t.Context(), "n1", nil); err != nil {
				t.Fatal(err)
			}
			echo(t, c)
			want := tc.verb + server.Listener.Addr().String()
			if got := tc.proxy.all(); !slices.Equal(got, []string{want, want}) {
				t.Errorf("targets of the proxy = %q, want twice %q", got, want)
			}

			wrong := *cfg
			wrong.ProxyURL = tc.scheme + "://ann:hunter1@" + tc.addr
			err := getNode(t.Context(), testserver.NewClient(t, &client.Options{Config: &wrong, Retry: testserver.Once()}))
			if _, ok := errors.AsType[*client.ConnectError](err); !ok || strings.Contains(err.Error(), "hunter") {
				t.Errorf("with a wrong password: %v, want a ConnectError without it", err)
			}
			if tc.scheme != "socks5" && !strings.Contains(err.Error(), "the proxy "+tc.addr+" responded with 407 Proxy Authentication Required; set a valid user name and password") {
				t.Errorf("with a wrong password: %v", err)
			}
		})
	}
}

// echo upgrades a connection and exchanges a message.
func echo(t *testing.T, c *client.Client) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Server()+"/api/v1/echo", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := client.Upgrades(c).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status = %s, want 101", resp.Status)
	}
	if _, err := io.WriteString(resp.Body.(io.Writer), "hello"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(resp.Body); string(got) != "hello" || err != nil {
		t.Errorf("echo = %q, %v; want hello", got, err)
	}
}

// TestErrorOfAProxyNamesItAndTheRemedy checks that the error of a failing proxy names the proxy and a remedy, without
// its password.
func TestErrorOfAProxyNamesItAndTheRemedy(t *testing.T) {
	testserver.CheckGoroutines(t)
	_, plain := httpProxy(t, nil)
	_, secure := httpProxy(t, new(newAuthority(t).issue(t, "proxy", time.Hour).load(t)))
	_, socks := socksProxy(t)
	for _, tc := range []struct{ name, proxy, want string }{
		{"nothing listens", "http://me:hunter2@" + deadAddress, "the proxy cannot be reached: correct proxy-url or HTTPS_PROXY"},
		{"nothing listens, over TLS", "https://me:hunter2@" + deadAddress, "the proxy cannot be reached: correct proxy-url or HTTPS_PROXY"},
		{
			"an untrusted certificate", "https://me:hunter2@" + secure,
			"the proxy's certificate is not trusted: correct proxy-url, or add its authority to certificate-authority",
		},
		{
			"a proxy that does not reach the server", "http://" + proxyUser + ":" + proxyPassword + "@" + plain,
			" responded with 502 Bad Gateway; the proxy cannot reach the server: correct the address, or check the proxy",
		},
		{"nothing listens, over SOCKS", "socks5://me:hunter2@" + deadAddress, "the proxy cannot be reached: correct proxy-url or HTTPS_PROXY"},
		{
			"a SOCKS proxy that does not reach the server", "socks5://" + proxyUser + ":" + proxyPassword + "@" + socks,
			": EOF; the proxy cannot reach the server: correct the address, or check the proxy",
		},
		{
			"a SOCKS proxy with another password", "socks5://me:hunter2@" + socks,
			": username/password authentication failed; set a valid user name and password for the proxy in proxy-url or HTTPS_PROXY",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := newConfig("https://" + deadAddress)
			cfg.ProxyURL, cfg.CAData = tc.proxy, newAuthority(t).pem
			err := getNode(t.Context(), testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()}))
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestProxyOfTheEnvironmentIsUsed checks that the variables for proxies are interpreted as by curl and Go, exceptions
// included. Go reads the environment once, so the test runs itself with other variables.
func TestProxyOfTheEnvironmentIsUsed(t *testing.T) {
	const mark = "KUBE_TEST_PROXIES"
	servers := []string{
		"https://cluster.test:6443", "https://10.1.2.3:6443", "https://11.1.2.3", "https://api.kube.svc", "https://svc.test",
		"https://localhost:6443", "https://127.0.0.1", "https://[fd00::1]:6443", "http://cluster.test:8080",
	}
	if os.Getenv(mark) != "" {
		for _, server := range servers {
			proxy, err := client.ProxyOf(&config.Config{Server: server})
			_, _ = fmt.Fprintln(os.Stdout, server, proxy+errorText(err))
		}
		proxy, err := client.ProxyOf(&config.Config{Server: servers[1], ProxyURL: "socks5://own.test"})
		_, _ = fmt.Fprintln(os.Stdout, "explicit", proxy+errorText(err))
		return
	}
	run := func(env ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironmentIsUsed$")
		cmd.Env = append(env, mark+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines, _, _ := strings.Cut(string(out), "PASS")
		return lines
	}
	want := `https://cluster.test:6443 https://proxy.test:3128
https://10.1.2.3:6443 
https://11.1.2.3 https://proxy.test:3128
https://api.kube.svc 
https://svc.test https://proxy.test:3128
https://localhost:6443 
https://127.0.0.1 
https://[fd00::1]:6443 
http://cluster.test:8080 http://other.test
explicit socks5://own.test
`
	got := run("HTTPS_PROXY=https://proxy.test:3128", "http_proxy=other.test", "NO_PROXY=10.0.0.0/8,.svc,fd00::/8")
	if got != want {
		t.Errorf("proxies:\n%swant:\n%s", got, want)
	}
	for _, bad := range []string{"https://me:hunter2@proxy test", "ftp://me:hunter2@proxy.test", "https://me:hunter2@[::1"} {
		got := run("HTTPS_PROXY=" + bad)
		if !strings.Contains(got, "HTTPS_PROXY or HTTP_PROXY names is not an http, https or socks5 URL") || strings.Contains(got, "hunter2") {
			t.Errorf("HTTPS_PROXY=%s: %s", bad, got)
		}
	}
	got = run("HTTP_PROXY=http://me:hunter2@proxy.test", "REQUEST_METHOD=GET")
	if !strings.Contains(got, "runs under CGI (REQUEST_METHOD is set)") || strings.Contains(got, "hunter2") {
		t.Errorf("HTTP_PROXY under CGI: %s", got)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
