// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
)

func (p *plugin) start(t testing.TB, o *auth.PluginOptions) *auth.Plugin {
	t.Helper()
	made, err := auth.NewPlugin(p.cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestPluginInfo checks that a plugin receives the information that the protocol specifies, and nothing that it does
// not request.
func TestPluginInfo(t *testing.T) {
	testserver.CheckGoroutines(t)
	ca := newPair(t, "ca").cert
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	caJSON, err := json.Marshal(ca)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{
			"a plugin without cluster information", func(*config.Config) {},
			`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}}`,
		},
		{
			"a plugin of version v1beta1", func(c *config.Config) { c.Exec.APIVersion = config.ExecV1Beta1 },
			`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"interactive":false}}`,
		},
		{
			"a plugin that requests the cluster", func(c *config.Config) { c.Exec.ProvideClusterInfo = true },
			`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",` +
				`"spec":{"cluster":{"server":"https://kube.example.com","config":null},"interactive":false}}`,
		},
		{
			"a plugin that requests a cluster with all fields",
			func(c *config.Config) {
				c.Exec.ProvideClusterInfo = true
				c.Exec.ClusterConfig = json.RawMessage(`{"audience":"x"}`)
				c.TLSServerName, c.CAFile, c.ProxyURL, c.DisableCompression = "kube", caFile, "socks5://proxy:1", true
			},
			`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{` +
				`"server":"https://kube.example.com","tls-server-name":"kube","certificate-authority-data":` + string(caJSON) +
				`,"proxy-url":"socks5://proxy:1","disable-compression":true,"config":{"audience":"x"}},"interactive":false}}`,
		},
		{
			"a cluster whose certificate is not verified",
			func(c *config.Config) { c.Exec.ProvideClusterInfo, c.InsecureSkipTLSVerify = true, true },
			`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",` +
				`"spec":{"cluster":{"server":"https://kube.example.com","insecure-skip-tls-verify":true,"config":null},` +
				`"interactive":false}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlugin(t)
			p.cfg.Exec.Args = []string{"get", "token"}
			p.cfg.Exec.Env = append(p.cfg.Exec.Env, config.EnvVar{Name: "GREETING", Value: "hello"})
			tc.change(p.cfg)
			p.printToken(t, "abc")
			if _, err := send(t, p.start(t, nil).Middleware, &bearer{}, nil); err != nil {
				t.Fatal(err)
			}
			want := []call{{[]string{"get", "token"}, tc.want + "\n", "hello"}}
			if diff := cmp.Diff(want, p.calls(t)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPluginOutput checks how the output of a plugin is decoded, and that no error shows any of it.
func TestPluginOutput(t *testing.T) {
	const v1 = `"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"`
	one, other := newPair(t, "one"), newPair(t, "other")
	pemJSON := func(data []byte) string { return string(must(json.Marshal(string(data)))) }
	for _, tc := range []struct {
		name, in, token, wantErr string
	}{
		{"a token", `{` + v1 + `,"status":{"token":"s3cret"}}`, "s3cret", ""},
		{"a token with a spec", `{` + v1 + `,"spec":{"interactive":false},"status":{"token":"s3cret"}}`, "s3cret", ""},
		{
			"YAML", "kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus: {token: s3cret}\n", "s3cret", "",
		},
		{
			"a token without a kind", `{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"s3cret"}}`, "s3cret",
			"",
		},
		{"a token without a kind and a version", `{"status":{"token":"s3cret"}}`, "", "its output is not an ExecCredential"},
		{
			"a token with an expiration",
			`{` + v1 + `,"status":{"token":"s3cret","expirationTimestamp":"2199-01-01T00:00:00Z"}}`, "s3cret", "",
		},
		{
			"a token with a null expiration", `{` + v1 + `,"status":{"token":"s3cret","expirationTimestamp":null}}`, "s3cret",
			"",
		},
		{"no output", " \n", "", "printed nothing"},
		{"a token alone", "s3cret", "", "its output is not an ExecCredential"},
		{"a truncated credential", `{` + v1 + `,"status":{"token":"s3cret`, "", "its output is not an ExecCredential"},
		{"another kind", `{"kind":"Secret","status":{"token":"s3cret"}}`, "", "its output is not an ExecCredential"},
		{"a token that is a number", `{` + v1 + `,"status":{"token":53}}`, "", "its output is not an ExecCredential"},
		{
			"another version", `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",` +
				`"status":{"token":"s3cret"}}`,
			"", `printed apiVersion "client.authentication.k8s.io/v1beta1", but the configuration has ` +
				`client.authentication.k8s.io/v1: ` +
				`correct the configuration, or update the plugin`,
		},
		{"no status", `{` + v1 + `}`, "", "printed no status"},
		{"an empty status", `{` + v1 + `,"status":{}}`, "", "printed neither a token nor a client certificate"},
		{
			"a token of two lines", `{` + v1 + `,"status":{"token":"s3cret\ns3cret"}}`, "",
			"printed a token with spaces or line breaks in it",
		},
		{
			"an invalid expiration", `{` + v1 + `,"status":{"token":"s3cret","expirationTimestamp":"s3cret"}}`, "",
			"printed an expirationTimestamp that is not in RFC 3339 format",
		},
		{
			"a certificate without its key", `{` + v1 + `,"status":{"clientCertificateData":"s3cret"}}`, "",
			"printed only one of clientCertificateData and clientKeyData",
		},
		{
			"a key without its certificate", `{` + v1 + `,"status":{"token":"s3cret","clientKeyData":"s3cret"}}`, "",
			"printed only one of clientCertificateData and clientKeyData",
		},
		{
			"a certificate with another key",
			`{` + v1 + `,"status":{"clientCertificateData":` + pemJSON(one.cert) + `,"clientKeyData":` + pemJSON(other.key) +
				`}}`, "",
			"printed a certificate that cannot be used with its key: tls: private key does not match public key",
		},
		{
			"an invalid certificate", `{` + v1 + `,"status":{"clientCertificateData":"s3cret","clientKeyData":"s3cret"}}`, "",
			"printed a certificate that cannot be used with its key: tls: failed to find any PEM data in certificate input",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlugin(t)
			p.set(t, "stdout", tc.in)
			p.set(t, "stderr", "\x1b[31mlog in\r\n\tagain\x1b[0m\n")
			to := &bearer{}
			_, err := send(t, p.start(t, nil).Middleware, to, nil)
			if tc.wantErr == "" {
				if err != nil || len(to.seen) != 1 || to.seen[0] != tc.token {
					t.Errorf("tokens %q, %v; want %q", to.seen, err, tc.token)
				}
				return
			}
			failed, ok := errors.AsType[*auth.PluginError](err)
			if !ok {
				t.Fatalf("error = %v, want a PluginError", err)
			}
			want := `exec plugin ` + strconv.Quote(os.Args[0]) + `: ` + tc.wantErr + `: [31mlog in again[0m`
			if err.Error() != want || strings.Contains(err.Error(), "s3cret") || failed.Stderr != "[31mlog in again[0m" {
				t.Errorf("error = %s\n want = %s", err, want)
			}
		})
	}
}

// TestPluginFailures checks that a plugin that does not finish is killed, with all programs that it has started, and
// that the error says what happened.
func TestPluginFailures(t *testing.T) {
	testserver.CheckGoroutines(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	notRegular := t.TempDir()
	for _, tc := range []struct {
		name    string
		files   map[string]string
		change  func(*config.ExecConfig)
		options *auth.PluginOptions
		want    string // TIMEOUT is the timeout
	}{
		{
			"a plugin that fails",
			map[string]string{"exit": "3", "stdout": "s3cret", "stderr": "no luck"},
			nil, nil,
			`exit status 3: no luck`,
		},
		{
			"a plugin with a long standard error",
			map[string]string{"exit": "1", "stderr": strings.Repeat("far too much ", 300) + "the end"},
			nil, nil,
			`exit status 1: ` + strings.Repeat("far too much ", 158)[2054-2041:] + "the end",
		},
		{
			"a plugin that prints secrets",
			map[string]string{"exit": "1", "stderr": strings.Join([]string{
				"profile prod: client s3cret-1 of", `{"id_token": "s3cret\"2", "clientKeyData":"s3cret`, `","expires":"soon"}`,
				"Authorization: Bearer s3cret/3.4", "eyJhbGciOiJSUzI1NiJ9.eyJzM2NyZXQiOiIifQ.s3cret and k8s-aws-v1.s3cret",
				"-----BEGIN EC PRIVATE KEY-----\ns3cret\n-----END EC PRIVATE KEY-----\nlog in",
			}, "\n")},
			func(e *config.ExecConfig) {
				e.Env = append(e.Env, config.EnvVar{Name: "PROFILE", Value: "prod"},
					config.EnvVar{Name: "CLIENT_SECRET", Value: "s3cret-1"})
			}, nil,
			`exit status 1: profile prod: client [redacted] of {[redacted], [redacted],"expires":"soon"} ` +
				`Authorization: [redacted] [redacted] and [redacted] [redacted] log in`,
		},
		{
			"a plugin that takes too long",
			map[string]string{"sleep": "10m", "stderr": "wait"},
			nil,
			&auth.PluginOptions{Timeout: 300 * time.Millisecond}, `was killed: it took longer than TIMEOUT: wait`,
		},
		{
			"a plugin with a child process",
			map[string]string{"sleep": "10m", "child": sleep},
			nil,
			&auth.PluginOptions{Timeout: 300 * time.Millisecond}, `was killed: it took longer than TIMEOUT`,
		},
		{
			"a plugin that prints too much",
			map[string]string{"flood": "2000", "sleep": "10m"},
			nil, nil,
			`was killed: it printed more than 1048576 bytes`,
		},
		{
			"a missing program", nil,
			func(e *config.ExecConfig) {
				e.Command, e.InstallHint = "no-such-plugin", "\x1b[1mRun\n  brew install it"
			}, nil,
			`cannot be run: executable file not found in $PATH: [1mRun brew install it`,
		},
		{
			"a missing program without a hint", nil, func(e *config.ExecConfig) { e.Command = "/no/such/plugin" }, nil,
			`cannot be run: stat /no/such/plugin: no such file or directory: install it, or correct the command`,
		},
		{
			"a directory as program", nil, func(e *config.ExecConfig) { e.Command = notRegular }, nil,
			`cannot be run: is a directory: install it, or correct the command`,
		},
		{
			"an interactive plugin without a terminal", nil,
			func(e *config.ExecConfig) { e.InteractiveMode = config.InteractiveAlways }, &auth.PluginOptions{Stdin: null(t)},
			`is interactive, but standard input is not a terminal: log in beforehand`,
		},
		{
			"an interactive plugin without standard input", nil,
			func(e *config.ExecConfig) { e.InteractiveMode = config.InteractiveAlways }, &auth.PluginOptions{NoStdin: true},
			`is interactive, but standard input is reserved for the program: log in beforehand`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := func() (*plugin, error) {
				p := newPlugin(t)
				for name, text := range tc.files {
					p.set(t, name, text)
				}
				if tc.change != nil {
					tc.change(p.cfg.Exec)
				}
				_, err := send(t, p.start(t, tc.options).Middleware, &bearer{}, nil)
				return p, err
			}
			p, err := run()
			want := `exec plugin ` + strconv.Quote(p.cfg.Exec.Command) + `: ` + tc.want
			if o := tc.options; o != nil && o.Timeout > 0 {
				for !p.ready() && o.Timeout < time.Minute { // on a slow machine, it had too little time
					o.Timeout *= 4
					p, err = run()
				}
				want = strings.Replace(want, "TIMEOUT", o.Timeout.String(), 1)
			}
			if err == nil || err.Error() != want {
				t.Errorf("error = %v\n want = %s", err, want)
			}
			if pid, err := os.ReadFile(filepath.Join(p.dir, "pid")); err == nil {
				checkEnded(t, string(pid))
			}
		})
	}
}

// TestPluginErrorContainsNoPartOfASecret checks that the standard error of a plugin is redacted before it is truncated,
// so that no part of a key or a token remains, wherever it is truncated.
func TestPluginErrorContainsNoPartOfASecret(t *testing.T) {
	key := string(newPair(t, "ann").key)
	body := strings.Split(strings.TrimSpace(key), "\n")
	lines := body[1 : len(body)-1]
	long := strings.Repeat(lines[0]+"\n", 2000) // longer than the data that is kept
	token := "eyJhbGciOiJSUzI1NiJ9." + strings.Repeat("s3cret", 20_000) + ".s3cret"
	filler := strings.Repeat("no luck\n", 240)
	for _, tc := range []struct{ name, stderr, want string }{
		{"a key before the cut", key + filler, "no luck"},
		{"a key across the cut", strings.Repeat("x ", 1000) + key + filler[:1900], "no luck"},
		{"a key without its end", "failed: " + body[0] + "\n" + lines[0] + "\n" + lines[1], "failed: [redacted]"},
		{
			"a key without its begin", lines[0] + "\n" + lines[1] + "\n" + body[len(body)-1] + "\n: failed",
			"[redacted] : failed",
		},
		{"a key without begin and end", "failed: " + lines[0] + "\n" + lines[1], "failed: [redacted]"},
		{"a key on one line", "failed: " + strings.ReplaceAll(key, "\n", `\n`), "failed: [redacted]"},
		{"half a key on one line", strings.ReplaceAll(key, "\n", `\n`)[40:] + ", failed", "[redacted]"},
		{"a key that is longer than the data that is kept", long + body[len(body)-1] + "\n: failed", "[redacted] : failed"},
		{
			"a key that is longer than the data that is kept, without its end", "BEGIN\n" + long + ": failed",
			"[redacted]: failed",
		},
		{"a token across the cut", token + " is invalid", "is invalid"},
		{"a token without an end", token, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlugin(t)
			p.set(t, "exit", "1")
			p.set(t, "stderr", tc.stderr)
			_, err := send(t, p.start(t, nil).Middleware, &bearer{}, nil)
			failed, ok := errors.AsType[*auth.PluginError](err)
			if !ok {
				t.Fatalf("error = %v, want a PluginError", err)
			}
			for _, part := range []string{lines[0][:16], lines[0][48:], lines[len(lines)-1][:8], "s3cret"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error shows %q: %s", part, err)
				}
			}
			if !strings.Contains(failed.Stderr, tc.want) || len(failed.Stderr) > 2<<10 {
				t.Errorf("Stderr = %q, want %q in it", failed.Stderr, tc.want)
			}
		})
	}
}

// TestPluginErrorContainsNoSecretArgument checks that secret arguments of a plugin are not in its error, also if one is
// a part of another.
func TestPluginErrorContainsNoSecretArgument(t *testing.T) {
	p := newPlugin(t)
	p.cfg.Exec.Args = []string{"get-token", "--client-secret=s3cret", "--password", "s3cret-2", "--issuer=https://idp"}
	p.set(t, "exit", "1")
	p.set(t, "stderr", "usage: get-token --client-secret=s3cret --password s3cret-2 --issuer=https://idp")
	_, err := send(t, p.start(t, nil).Middleware, &bearer{}, nil)
	const want = "usage: get-token --client-secret=[redacted] --password [redacted] --issuer=https://idp"
	if failed, ok := errors.AsType[*auth.PluginError](err); !ok || failed.Stderr != want {
		t.Errorf("error = %v\n want %s", err, want)
	}
}

// checkEnded makes the test fail unless a process ends soon.
func checkEnded(t testing.TB, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil && !isRunning(n) || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("process %s is still running", pid)
		case <-time.After(time.Millisecond):
		}
	}
}

// isRunning reports whether a process exists.
func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// null returns a standard input that is a device, but not a terminal.
func null(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestPluginRuns checks that a plugin runs only as often as necessary.
func TestPluginRuns(t *testing.T) {
	testserver.CheckGoroutines(t)
	p := newPlugin(t)
	p.printToken(t, "one")
	plug := p.start(t, nil)
	to := &bearer{token: "one"}
	expect := func(when string, status, runs int, tokens ...string) {
		t.Helper()
		to.seen = nil
		got, err := send(t, plug.Middleware, to, nil)
		if got != status || err != nil || len(p.calls(t)) != runs {
			t.Errorf("%s: %d, %v after %d runs; want %d after %d", when, got, err, len(p.calls(t)), status, runs)
		}
		if diff := cmp.Diff(tokens, to.seen); diff != "" {
			t.Errorf("%s: tokens (-want +got):\n%s", when, diff)
		}
	}

	if got, err := send(t, plug.Middleware, to, http.Header{"Authorization": {"Bearer one"}}); got != 200 || err != nil ||
		p.calls(t) != nil {
		t.Errorf("a request with its own token: %d, %v after %d runs; want 200 after none", got, err, len(p.calls(t)))
	}
	expect("at first", 200, 1, "one")
	expect("again", 200, 1, "one")
	to.token = "two"
	p.printToken(t, "two")
	expect("when the token is rejected", 200, 2, "one", "two")
	to.token = "three"
	expect("when there is no new token", 401, 3, "two")
	expect("shortly after there was no new token", 401, 3, "two")

	p = newPlugin(t)
	p.printToken(t, "one")
	plug, to = p.start(t, nil), &bearer{token: "two"}
	if got, err := send(t, plug.Middleware, &bearer{}, nil); got != 200 || err != nil {
		t.Fatalf("%d, %v", got, err)
	}
	p.set(t, "exit", "1")
	p.set(t, "stderr", "log in again")
	_, err := send(t, plug.Middleware, to, nil)
	want := "the server rejected the credentials, and new ones could not be obtained: exec plugin " +
		strconv.Quote(os.Args[0]) +
		": exit status 1: log in again"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}

	// The next request, of the same operation for example, gets the error of the failed run. On a very slow machine, it
	// may start after the pause.
	runs, failed := len(p.calls(t)), time.Now()
	_, again := send(t, plug.Middleware, to, nil)
	if again == nil || again.Error() != want || len(p.calls(t)) != runs && time.Since(failed) < time.Second {
		t.Errorf("error after %d runs = %v, want that of run %d: %s", len(p.calls(t)), again, runs, want)
	}
}

// TestPluginCrowd checks that many requests wait for one run of the plugin, each as long as its context allows.
func TestPluginCrowd(t *testing.T) {
	testserver.CheckGoroutines(t)
	p := newPlugin(t)
	p.printToken(t, "one")
	p.set(t, "wait", "for all short requests")
	plug := p.start(t, nil)
	ended, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	var short, long sync.WaitGroup
	for i := range 50 {
		if i%10 == 0 {
			short.Go(func() {
				if _, err := plug.Certificate(ended); err != enough {
					t.Errorf("error = %v, want enough", err)
				}
			})
			continue
		}
		long.Go(func() {
			if got, err := send(t, plug.Middleware, &bearer{token: "one"}, nil); got != 200 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
	short.Wait()
	p.release(t)
	long.Wait()
	if n := len(p.calls(t)); n != 1 {
		t.Errorf("the plugin ran %d times, want once", n)
	}
}

// TestPluginCertificate checks that the pointer of a certificate stays the same as long as the certificate does, and
// that a request that needs no credentials does not run the plugin.
func TestPluginCertificate(t *testing.T) {
	p := newPlugin(t)
	set := func(pr pair, token string) {
		p.print(t, map[string]string{
			"token": token, "clientCertificateData": string(pr.cert),
			"clientKeyData": string(pr.key),
		})
	}
	one, two := newPair(t, "one"), newPair(t, "two")
	set(one, "a")
	plug := p.start(t, nil)
	var idle []bool
	look := roundTripper(func(r *http.Request) (*http.Response, error) {
		cert, err := plug.Certificate(r.Context())
		idle = append(idle, cert == nil)
		if err != nil {
			return nil, err
		}
		return (&bearer{}).RoundTrip(r)
	})
	if _, err := send(t, plug.Middleware, look, http.Header{"Authorization": {"Bearer x"}}); err != nil || p.calls(t) != nil {
		t.Errorf("%v after %d runs, want none", err, len(p.calls(t)))
	}
	first, err := plug.Certificate(t.Context())
	if err != nil || first == nil || first.Leaf.Subject.CommonName != "one" {
		t.Fatalf("Certificate = %v, %v; want that of one", first, err)
	}
	set(one, "b")
	if got, err := send(t, plug.Middleware, &bearer{token: "b"}, nil); got != 200 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if same, err := plug.Certificate(t.Context()); same != first || err != nil {
		t.Errorf("a new token changed the certificate: %v", err)
	}
	set(two, "c")
	if got, err := send(t, plug.Middleware, &bearer{token: "c"}, nil); got != 200 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	second, err := plug.Certificate(t.Context())
	if err != nil || second == first || second.Leaf.Subject.CommonName != "two" {
		t.Errorf("Certificate = %v, %v; want that of two", second, err)
	}
	if _, err := send(t, plug.Middleware, look, http.Header{"Authorization": {"Bearer x"}}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]bool{true, false}, idle); diff != "" {
		t.Errorf("requests with their own token without a certificate (-want +got):\n%s", diff)
	}
	if n := len(p.calls(t)); n != 3 {
		t.Errorf("the plugin ran %d times, want 3", n)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPluginPolicy checks that only allowed plugins run.
func TestPluginPolicy(t *testing.T) {
	here, dir := os.Args[0], t.TempDir()
	for _, name := range []string{"plugin", "other"} {
		if err := os.Symlink(here, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	const notListed = "is not allowed to run"
	for _, tc := range []struct {
		name    string
		command string
		options *auth.PluginOptions
		want    string
	}{
		{"no options", here, nil, ""},
		{"AllowAll", here, &auth.PluginOptions{Policy: auth.AllowAll}, ""},
		{"DenyAll", here, &auth.PluginOptions{Policy: auth.DenyAll}, "is not allowed to run: the policy is DenyAll"},
		{"a path on the list", here, &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"x", here}}, ""},
		{"a name on the list", "plugin", &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"plugin"}}, ""},
		{
			"a name whose path is on the list", "plugin",
			&auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{dir + "/plugin"}}, "",
		},
		{
			"a path whose name is on the list", dir + "/plugin",
			&auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"plugin"}}, "",
		},
		{
			"another path with a name on the list", here,
			&auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{filepath.Base(here)}}, notListed,
		},
		{
			"a name that is not on the list", "other", &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"plugin"}},
			notListed,
		},
		{
			"an empty list", here, &auth.PluginOptions{Policy: auth.Allowlist},
			"PluginOptions.Allow: is empty; name the plugins, or use the policy DenyAll",
		},
		{
			"an empty name", here, &auth.PluginOptions{Policy: auth.Allowlist, Allow: []string{"a", " "}},
			"PluginOptions.Allow: entry 2 is empty; remove it",
		},
		{
			"a list without the policy Allowlist", here, &auth.PluginOptions{Allow: []string{here}},
			"PluginOptions.Allow: requires the policy Allowlist",
		},
		{
			"an unknown policy", here, &auth.PluginOptions{Policy: "Some"},
			`PluginOptions.Policy: "Some" is not a valid policy; use AllowAll, DenyAll or Allowlist`,
		},
		{
			"a negative timeout", here, &auth.PluginOptions{Timeout: -1},
			"PluginOptions.Timeout: -1ns is negative; leave it zero for the default",
		},
		{
			"Stdin together with NoStdin", here, &auth.PluginOptions{Stdin: os.Stdin, NoStdin: true},
			"PluginOptions.NoStdin: conflicts with Stdin; clear one of them",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlugin(t)
			p.cfg.Exec.Command = tc.command
			p.printToken(t, "one")
			made, err := auth.NewPlugin(p.cfg, tc.options)
			if err == nil {
				_, err = send(t, made.Middleware, &bearer{}, nil)
			}
			ran := len(p.calls(t))
			switch {
			case tc.want == "" && (err != nil || ran != 1):
				t.Errorf("%v after %d runs, want one", err, ran)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || ran != 0):
				t.Errorf("%v after %d runs, want %s after none", err, ran, tc.want)
			}
		})
	}
}

// TestPluginStderr checks that the standard error of a plugin is written to PluginOptions.Stderr.
func TestPluginStderr(t *testing.T) {
	p := newPlugin(t)
	p.printToken(t, "one")
	p.set(t, "stderr", "almost there\n")
	var heard bytes.Buffer
	if _, err := send(t, p.start(t, &auth.PluginOptions{Stderr: &heard}).Middleware, &bearer{}, nil); err != nil {
		t.Fatal(err)
	}
	if heard.String() != "almost there\n" {
		t.Errorf("heard %q", heard.String())
	}
	p.set(t, "exit", "1")
	_, err := send(t, p.start(t, &auth.PluginOptions{Stderr: &heard}).Middleware, &bearer{}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "exit status 1: almost there") {
		t.Errorf("error = %v, want it to contain the standard error", err)
	}
}

// TestPluginDoesNotWaitForItsChildren checks that a child process that outlives the plugin does not delay the result.
func TestPluginDoesNotWaitForItsChildren(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlugin(t)
	p.printToken(t, "one")
	p.set(t, "child", sleep)
	to := &bearer{}
	if _, err := send(t, p.start(t, nil).Middleware, to, nil); err != nil || to.seen[0] != "one" {
		t.Errorf("tokens %q, %v; want one", to.seen, err)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.FindProcess(pid)
	if err == nil {
		err = child.Kill()
	}
	if err != nil {
		t.Errorf("the child process was killed: %v", err)
	}
}

func TestNewPluginRequiresAPlugin(t *testing.T) {
	if _, err := auth.NewPlugin(&config.Config{}, nil); err == nil || !strings.Contains(err.Error(), "set Exec") {
		t.Errorf("error = %v, want one that says to set Exec", err)
	}
	p := newPlugin(t)
	p.cfg.Exec.ProvideClusterInfo, p.cfg.CAFile = true, "/no/such/file"
	if _, err := auth.NewPlugin(p.cfg, nil); err == nil || !strings.Contains(err.Error(), "certificate-authority") {
		t.Errorf("error = %v, want one about the certificate authority", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestPluginInteractive checks that a plugin that may be interactive is notified if there is a terminal.
func TestPluginInteractive(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	for _, tc := range []struct {
		name    string
		mode    config.InteractiveMode
		options auth.PluginOptions
		want    bool
	}{
		{"never, with a terminal", config.InteractiveNever, auth.PluginOptions{Stdin: terminal}, false},
		{"if available, with a terminal", config.InteractiveIfAvailable, auth.PluginOptions{Stdin: terminal}, true},
		{"if available, without a terminal", config.InteractiveIfAvailable, auth.PluginOptions{Stdin: null(t)}, false},
		{
			"if available, with a reserved standard input", config.InteractiveIfAvailable,
			auth.PluginOptions{NoStdin: true},
			false,
		},
		{"always, with a terminal", config.InteractiveAlways, auth.PluginOptions{Stdin: terminal}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlugin(t)
			p.cfg.Exec.InteractiveMode = tc.mode
			p.printToken(t, "one")
			if _, err := send(t, p.start(t, &tc.options).Middleware, &bearer{}, nil); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(p.calls(t)[0].Info, `"interactive":true`); got != tc.want {
				t.Errorf("interactive = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPluginOutlivesItsCallers checks that a plugin is not killed after the last waiting request has ended, because it
// may be about to replace a refresh token, and that the next request waits for it instead of starting another one.
func TestPluginOutlivesItsCallers(t *testing.T) {
	testserver.CheckGoroutines(t)
	p := newPlugin(t)
	p.printToken(t, "one")
	p.set(t, "wait", "for the next request")
	plug := p.start(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	gaveUp := make(chan error)
	go func() {
		_, err := plug.Certificate(ctx)
		gaveUp <- err
	}()
	deadline := time.After(time.Minute)
	for len(p.calls(t)) == 0 {
		select {
		case <-deadline:
			t.Fatal("the plugin did not start")
		case <-time.After(time.Millisecond):
		}
	}
	cancel(enough)
	if err := <-gaveUp; err != enough {
		t.Errorf("error = %v, want enough", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { p.release(t) })
	to := &bearer{token: "one"}
	if got, err := send(t, plug.Middleware, to, nil); got != 200 || err != nil || len(p.calls(t)) != 1 {
		t.Errorf("%d, %v after %d runs; want 200 after one", got, err, len(p.calls(t)))
	}
}
