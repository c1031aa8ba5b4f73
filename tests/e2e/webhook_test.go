// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/webhook"
)

// webhookEnv makes the program of the tests a webhook server that listens to the address.
const webhookEnv = "E2E_WEBHOOK"

// webhookLog is the source of the output of these programs.
const webhookLog = "the log of the webhook servers"

// runWebhook is a program with a webhook server, which a manager runs.
func runWebhook(addr string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := serveWebhooks(ctx, addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveWebhooks(ctx context.Context, addr string) error {
	slog.SetDefault(programLogger()) // of everything but the client, which logs nothing by default
	c, err := kube.NewClient(ctx, &kube.ClientOptions{Logger: slog.Default()})
	if err != nil {
		return err
	}
	ns := os.Getenv("E2E_NAMESPACE")
	converter, err := conversion.NewConverter([]conversion.Spoke[ropeV2]{conversion.Between(ropeUp, ropeDown)},
		&conversion.ConverterOptions{KeepLost: true})
	if err != nil {
		return err
	}
	srv := kube.NewWebhookServer(c, &kube.WebhookServerOptions{
		Addr: addr, Namespace: ns, Secret: "hooks", Hosts: []string{"127.0.0.1"},
		Mutating: []string{ns}, Validating: []string{ns}, Definitions: []string{"ropes." + ropeGroup},
		AuthorityLifetime: time.Hour, CertificateLifetime: 12 * time.Second, PublishDelay: 4 * time.Second,
		Interval: 250 * time.Millisecond, StopDelay: 5 * time.Second, // in which several probes succeed on a busy machine
	})
	srv.Handle("/mutate", kube.MutateHandler(func(_ context.Context, r *kube.WebhookRequest[corev1.ConfigMap]) error {
		if r.Object.Annotations == nil {
			r.Object.Annotations = map[string]string{}
		}
		r.Object.Annotations["mutated"] = "yes"
		return nil
	}, nil))
	deny := func(_ context.Context, r *kube.WebhookRequest[corev1.ConfigMap]) error {
		if r.Object.Data["v"] == "deny" {
			return errors.New("data.v: must not be deny")
		}
		return nil
	}
	srv.Handle("/validate", kube.ValidateHandler(deny, nil))
	srv.Handle("/convert", kube.ConversionHandler(converter.Convert, nil))
	m := kube.NewManager(c, nil)
	m.AddToAll(srv)
	return m.Run(ctx)
}

// balancer forwards connections to replicas that are ready, like a service.
type balancer struct {
	t        *testing.T
	ns       string
	listener net.Listener
	client   *http.Client // does not check certificates
	next     atomic.Int64
	wg       sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	ready map[string]bool
	conns []net.Conn
}

func newBalancer(t *testing.T, ns string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{t: t, ns: ns, listener: l, ready: map[string]bool{}, client: &http.Client{
		Timeout: time.Second, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a probe
		},
	}}
	b.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.forward(conn) })
		}
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	b.wg.Go(func() { b.probe(ctx) })
	t.Cleanup(func() {
		stop()
		l.Close()
		b.mu.Lock()
		for _, c := range b.conns {
			c.Close()
		}
		b.mu.Unlock()
		b.wg.Wait()
	})
	return b
}

func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

// probe asks the replicas whether they are ready.
func (b *balancer) probe(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		var all sync.WaitGroup
		for _, addr := range b.addrs(false) {
			all.Go(func() { b.probeOne(ctx, addr) })
		}
		all.Wait()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// probeOne asks one replica. A late response changes nothing: like a kubelet, which needs three failures by default.
func (b *balancer) probeOne(ctx context.Context, addr string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+"/readyz", http.NoBody)
	if err != nil {
		b.t.Error(err)
		return
	}
	resp, err := b.client.Do(req)
	if err == nil {
		resp.Body.Close()
	} else if os.IsTimeout(err) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready[addr] = err == nil && resp.StatusCode == http.StatusOK
}

// addrs returns the replicas, or those that are ready.
func (b *balancer) addrs(ready bool) (addrs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for addr, ok := range b.ready {
		if ok || !ready {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

func (b *balancer) forward(from net.Conn) {
	defer from.Close()
	addrs := b.addrs(true)
	if len(addrs) == 0 {
		return
	}
	to, err := new(net.Dialer).DialContext(context.Background(), "tcp", addrs[int(b.next.Add(1))%len(addrs)])
	if err != nil {
		return
	}
	defer to.Close()
	b.mu.Lock()
	b.conns = append(b.conns, from, to)
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		wg.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].(*net.TCPConn).CloseWrite()
		})
	}
	wg.Wait()
}

// start starts a replica at an address, and waits until it is ready.
func (b *balancer) start(addr string) *exec.Cmd {
	b.t.Helper()
	program, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(program) //nolint:noctx // the test ends it
	cmd.Env = append(os.Environ(), webhookEnv+"="+addr, "E2E_NAMESPACE="+b.ns)
	if builtin != nil {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+builtin.Kubeconfig())
	}
	cmd.Stderr = io.MultiWriter(recorder.Writer(webhookLog), b.t.Output())
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
	b.mu.Lock()
	b.ready[addr] = false
	b.mu.Unlock()
	eventually(b.t, "the replica is ready", func(context.Context) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.ready[addr] {
			return errors.New("it is not")
		}
		return nil
	})
	return cmd
}

// end ends a replica, which must drain.
func (b *balancer) end(cmd *exec.Cmd) {
	b.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		b.t.Errorf("the replica: %v", err)
	}
}

// hookConfigs creates the configurations of the webhooks, which are called for ConfigMaps with the label hooked. They
// have no bundle.
func hookConfigs(t *testing.T, c *kube.Client, ns, url string) {
	t.Helper()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}
	hooked := &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": "yes"}}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
		},
	}}
	validating := kube.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c)
	if _, err := validating.Create(limit(t), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validate.e2e.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: new(url + "/validate")},
			Rules: rules, NamespaceSelector: selector, ObjectSelector: hooked,
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	mutating := kube.ClusterWide[admissionv1.MutatingWebhookConfiguration](c)
	if _, err := mutating.Create(limit(t), &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "mutate.e2e.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: new(url + "/mutate")},
			Rules: rules, NamespaceSelector: selector, ObjectSelector: hooked,
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deleteNow(t, validating, ns)
		deleteNow(t, mutating, ns)
	})
}

func hookedMap(name, value string) *corev1.ConfigMap {
	cm := configMap(name, value)
	cm.Labels = map[string]string{"hooked": "yes"}
	return cm
}

// traffic repeats an action until end, and counts. After each action it pauses, so that the machine has time for the
// servers.
type traffic struct {
	done   chan struct{}
	wg     sync.WaitGroup
	count  atomic.Int64
	failed troubles
}

func (l *traffic) run(action func(i int64) error) {
	l.wg.Go(func() {
		for {
			if err := action(l.count.Add(1)); err != nil {
				l.failed.add(err)
			}
			select {
			case <-l.done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// end stops the load.
func (l *traffic) end(t *testing.T, what string, took time.Duration) {
	t.Helper()
	close(l.done)
	l.wg.Wait()
	t.Logf("%s: %d, %.0f per second", what, l.count.Load(), float64(l.count.Load())/took.Seconds())
	if err := l.failed.all(); err != nil {
		text := err.Error()
		t.Errorf("%s: %d failed: %s", what, len(l.failed.errs), text[:min(len(text), 2000)])
	}
}

// TestNoRequestFailsWhileCertificatesChange creates and converts objects while the certificates and their authority are
// replaced, and a replica restarts. Clients that trust only the bundle of the configuration send 1,000 reviews or more.
func TestNoRequestFailsWhileCertificatesChange(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	b, logged := newBalancer(t, ns), recorder.Size(webhookLog)
	hookConfigs(t, c, ns, b.url())
	addrs := []string{freeAddr(t), freeAddr(t)}
	b.start(addrs[0])
	replaced := b.start(addrs[1])
	defineKind(t, c, ropeDefinition(t, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": b.url() + "/convert"},
	}}))
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	v1, v2 := kube.Namespaced[ropeV1](c, ns), kube.Namespaced[ropeV2](c, ns)
	rope := &ropeV2{ObjectMeta: metav1.ObjectMeta{Name: "rope"}, Spec: ropeSpecV2{Length: "3m"}}
	eventually(t, "the webhooks are called", func(ctx context.Context) error {
		probe := hookedMap("probe", "deny")
		if _, err := maps.Create(ctx, probe, &kube.CreateOptions{DryRun: true}); !errors.Is(err, kube.ErrForbidden) {
			return fmt.Errorf("the webhook does not deny the object: %w", err)
		}
		_, err := v2.Create(ctx, rope, nil)
		return err
	})
	t.Cleanup(func() { deleteNow(t, v1, "rope") }) // while the webhooks are running

	var bundle atomic.Pointer[x509.CertPool]
	authorities := func() []string {
		config, err := kube.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c).Get(limit(t), ns, nil)
		if err != nil {
			t.Fatal(err)
		}
		pem := config.Webhooks[0].ClientConfig.CABundle
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			t.Error("the bundle is empty")
		}
		bundle.Store(pool)
		parts := strings.SplitAfter(string(pem), "END CERTIFICATE-----\n")
		return parts[:len(parts)-1]
	}
	if n := len(authorities()); n != 1 {
		t.Errorf("%d authorities", n)
	}

	var objects, conversions, reviews traffic
	for _, l := range []*traffic{&objects, &conversions, &reviews} {
		l.done = make(chan struct{})
	}
	begun := time.Now()
	for range 3 {
		objects.run(func(i int64) error {
			dry := &kube.CreateOptions{DryRun: i%50 != 0}
			cm, err := maps.Create(t.Context(), hookedMap("cm-"+strconv.FormatInt(i, 10), "x"), dry)
			if err == nil && cm.Annotations["mutated"] != "yes" {
				err = errors.New("the object is not mutated")
			}
			return err
		})
	}
	conversions.run(func(int64) error {
		got, err := v2.Get(t.Context(), "rope", nil)
		if err == nil && got.Spec.Length != "3m" {
			err = fmt.Errorf("the object is %v", got.Spec)
		}
		return err
	})
	for range 10 {
		reviews.run(reviewer(t, b, &bundle))
	}

	// The authority is replaced while a replica restarts.
	secrets := kube.Namespaced[corev1.Secret](c, ns)
	withoutKey := kube.MergePatch(map[string]any{"data": map[string]any{"ca.key": nil}})
	if _, err := secrets.Patch(limit(t), "hooks", withoutKey, nil); err != nil {
		t.Fatal(err)
	}
	var added string
	eventually(t, "the new authority is in the bundle", func(context.Context) error {
		all := authorities()
		if len(all) != 2 {
			return fmt.Errorf("%d authorities", len(all))
		}
		added = all[1]
		return nil
	})
	b.end(replaced)
	b.start(addrs[1])
	eventually(t, "the new authority has signed", func(context.Context) error {
		now, err := secrets.Get(limit(t), "hooks", nil)
		if err != nil {
			return err
		}
		for _, key := range []string{"ca.key", "tls.key"} {
			for line := range strings.Lines(string(now.Data[key])) {
				if len(line) > 60 {
					secret(t, key, strings.TrimSpace(line))
				}
			}
		}
		return signedBy(added, now.Data)
	})
	<-time.After(2 * time.Second) // with the new certificate
	took := time.Since(begun)
	objects.end(t, "created objects", took)
	conversions.end(t, "converted objects", took)
	reviews.end(t, "reviews", took)
	if n := reviews.count.Load(); n < 1000 { // the rate depends on what else the machine does
		t.Errorf("%d reviews were sent in %v, want at least 1000", n, took)
	}
	if recorder.Size(webhookLog) == logged {
		t.Error("the logs of the servers are not recorded")
	}
}

// reviewer returns an action that sends a review, on a connection that it replaces after 40 reviews.
func reviewer(t *testing.T, b *balancer, bundle *atomic.Pointer[x509.CertPool]) func(int64) error {
	t.Helper()
	const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",` +
		`"operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},` +
		`"resource":{"group":"","version":"v1","resource":"configmaps"},` +
		`"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}}}`
	var transport *http.Transport
	n := 0
	return func(int64) error {
		if n++; transport == nil || n%40 == 0 {
			if transport != nil {
				transport.CloseIdleConnections()
			}
			// HTTP/1.1, like API servers
			config := &tls.Config{RootCAs: bundle.Load(), MinVersion: tls.VersionTLS12}
			transport = &http.Transport{TLSClientConfig: config}
		}
		ctx := context.WithoutCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url()+"/mutate", strings.NewReader(review))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil && !strings.Contains(string(body), `"allowed":true`) {
			err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
		}
		return err
	}
}

// signedBy returns an error unless an authority has signed the serving certificate in a secret.
func signedBy(authority string, data map[string][]byte) error {
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(authority))
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool})
	return err
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestServerShowsErrorsOfWebhooks checks what users see when a webhook can't respond as it should.
func TestServerShowsErrorsOfWebhooks(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := kube.NewWebhookServer(c, &kube.WebhookServerOptions{
		Listener: l, Namespace: ns, Secret: "hooks", Hosts: []string{"127.0.0.1"}, Validating: []string{ns},
		StopDelay: -1, Interval: 100 * time.Millisecond, Logger: debugLogger(t), MaxBodyBytes: 512 << 10,
	})
	type request = kube.WebhookRequest[corev1.ConfigMap]
	o := &kube.WebhookHandlerOptions{Logger: debugLogger(t)}
	small := &kube.WebhookHandlerOptions{Logger: debugLogger(t), Limits: &wire.Limits{ObjectBytes: 1000}}
	deny := func(context.Context, *request) error { return errors.New("data.v: is wrong") }
	srv.Handle("/deny", webhook.Validate(deny, o))
	srv.Handle("/large", webhook.Validate(deny, small))
	srv.Handle("/panic", webhook.Validate(func(context.Context, *request) error { panic("hunter2") }, o))
	allow := func(context.Context, *kube.WebhookRequest[corev1.Pod]) error { return nil }
	srv.Handle("/pods", webhook.Validate(allow, o))
	srv.Handle("/conversion", webhook.Conversion(ropeConverter(t).Convert, o))
	srv.Handle("/text", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "a text", http.StatusBadRequest)
	}))
	background(t, srv.Run)

	cases := []struct{ path, version, want string }{
		{"deny", "v1", `admission webhook "deny.e2e.example.com" denied the request: data.v: is wrong`},
		{"large", "v1", `webhook "large.e2e.example.com" denied the request: admission review: body is larger than`},
		{"deny", "v1beta1", "denied the request: admission review: apiVersion is \"admission.k8s.io/v1beta1\", want " +
			"admission.k8s.io/v1; set admissionReviewVersions: [v1] in the webhook's configuration"},
		{"pods", "v1", `this path is for Pod of v1, but the request is for ConfigMap of v1: correct the path`},
		{"panic", "v1", `failed calling webhook "panic.e2e.example.com": failed to call webhook: an error on the server ` +
			`("the webhook panicked, see its log") has prevented the request from succeeding`},
		{"conversion", "v1", "failed calling webhook"},
		{"text", "v1", "failed calling webhook"},
		{"missing", "v1", "the server could not find the requested resource"},
	}
	var hooks []admissionv1.ValidatingWebhook
	for _, tt := range cases {
		name := tt.path
		if tt.version != "v1" {
			name += "-" + tt.version
		}
		hooks = append(hooks, admissionv1.ValidatingWebhook{
			Name:              name + ".e2e.example.com",
			ClientConfig:      admissionv1.WebhookClientConfig{URL: new("https://" + l.Addr().String() + "/" + tt.path)},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"case": name}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
			SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{tt.version},
		})
	}
	configs := kube.ClusterWide[admissionv1.ValidatingWebhookConfiguration](c)
	create := func() {
		t.Helper()
		if _, err := configs.Create(limit(t), &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ns}, Webhooks: hooks,
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	create()
	t.Cleanup(func() { deleteNow(t, configs, ns) })
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	call := func(ctx context.Context, name string) error {
		cm := configMap("a", strings.Repeat("x", 2000))
		cm.Labels = map[string]string{"case": name}
		_, err := maps.Create(ctx, cm, &kube.CreateOptions{DryRun: true})
		return err
	}
	trusted := func() {
		t.Helper()
		eventually(t, "the API server trusts the webhook", func(ctx context.Context) error {
			if err := call(ctx, "deny"); !errors.Is(err, kube.ErrForbidden) {
				return fmt.Errorf("the webhook does not deny the object: %w", err)
			}
			return nil
		})
	}
	trusted()
	for i, tt := range cases {
		name := strings.TrimSuffix(hooks[i].Name, ".e2e.example.com")
		err := call(limit(t), name)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		t.Logf("%s: %v", name, err)
	}

	// Large bodies that arrive slowly leave no space until they end. The API server sends its review again.
	release := occupy(t, "https://"+l.Addr().String()+"/deny")
	rejected := srv.Metrics()[0].Codes[http.StatusTooManyRequests]
	denied := make(chan error, 1)
	review := func() { denied <- call(limit(t), "deny") }
	go review()
	eventually(t, "the review of the API server is rejected", func(context.Context) error {
		if srv.Metrics()[0].Codes[http.StatusTooManyRequests] > rejected {
			return nil
		}
		select {
		case err := <-denied: // before the server had read the bodies
			go review()
			return fmt.Errorf("it was received: %w", err)
		default:
			return errors.New("it is not")
		}
	})
	release()
	if err := <-denied; !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("a review that was sent again: %v, want a denial", err)
	}

	// Somebody replaces the configuration by one without a bundle.
	deleteNow(t, configs, ns)
	create()
	trusted()
}

// occupy sends bodies that fill a limit of 512 KiB for the small ones, until the returned function is called.
func occupy(t *testing.T, url string) (release func()) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // not the subject
	const clients, size = 4, 80 << 10                                                    // a client keeps the end of what it has written
	end := make(chan struct{})
	var sent, ended sync.WaitGroup
	sent.Add(clients)
	for range clients {
		ended.Go(func() {
			r, w := io.Pipe()
			go func() {
				_, err := w.Write(make([]byte, size))
				sent.Done()
				<-end
				w.CloseWithError(err)
			}()
			req, err := http.NewRequestWithContext(limit(t), http.MethodPost, url, r)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	sent.Wait()
	return func() {
		close(end)
		ended.Wait()
		transport.CloseIdleConnections()
	}
}
