// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Options are the options of [NewServer]. The zero value of a field is its default.
type Options struct {
	// Addr is the TCP address of the server. Default: ":9443".
	Addr string

	// Listener accepts connections instead of Addr. Run always closes it. Default: nil, so that Run listens at Addr.
	Listener net.Listener

	// Service is the name of the service that API servers call, and Namespace its namespace. Without CertDir, Service or
	// Hosts is required. Default of Namespace: that of the client, which in a cluster is that of the pod.
	Service   string
	Namespace string

	// Hosts are further DNS names and IP addresses of the server: those of a clientConfig with a URL. Default: none.
	Hosts []string

	// Mutating, Validating and Definitions are the names of the MutatingWebhookConfigurations,
	// ValidatingWebhookConfigurations and CustomResourceDefinitions that get the bundle, in each clientConfig with the
	// Service or with a URL of the Hosts. One that does not exist is logged, and gets it soon after it is created.
	// Default: none; without CertDir, at least one name is required.
	Mutating    []string
	Validating  []string
	Definitions []string

	// Secret is the name of the secret that the replicas share, in Namespace. Default: the name of the service with
	// "-webhook-tls". Without a Service, it is required.
	Secret string

	// AuthorityLifetime and CertificateLifetime are how long a certificate authority and a serving certificate are valid.
	// Each is replaced when a third of it is left. An authority must be valid for at least three times as long as a
	// certificate. Defaults: 365 days and 90 days.
	AuthorityLifetime   time.Duration
	CertificateLifetime time.Duration

	// PublishDelay is how long a new authority is in all configurations before it signs. All API servers must observe
	// the configurations within that time. Default: 10 minutes, but at most a tenth of CertificateLifetime.
	PublishDelay time.Duration

	// CertDir is a folder with the files tls.crt and tls.key, such as a volume with a secret of cert-manager. The server
	// reads them again when they change, makes no certificates, and writes no configurations: the options from Service
	// to PublishDelay must be empty. Default: none, so that the server makes its certificates.
	CertDir string

	// Interval is the time between checks of the secret, the configurations and the files. Default: 10 s.
	Interval time.Duration

	// StopDelay is how long the server continues after its context has ended. During that time it is not ready, so that no
	// new connections reach it, and closes each connection after a response. Then it waits for the requests that are still
	// running, so the grace period of the pod must be longer. Default: 10 s; negative: none.
	StopDelay time.Duration

	// MaxBodyBytes bounds the sum of the bodies of all current requests, in bytes. One half is for the first 64 KiB of
	// each body, the other half for the rest. A request that would exceed the limit gets status 429 with Retry-After,
	// and API servers send it again until the timeout of the webhook. A single body may use at most half of the limit.
	// Objects that callbacks decode need memory besides, so the memory limit of the pod should be several times as
	// large. A handler in another HTTP server has only the limit of [HandlerOptions] for each body. Default: 64 MiB.
	MaxBodyBytes int64

	// TLS changes the TLS settings of the server when Run begins, such as ClientCAs and ClientAuth. It must keep
	// GetCertificate. The probes of a kubelet have no client certificate: to require one for reviews only, set ClientAuth
	// to [tls.VerifyClientCertIfGiven], and check the TLS field of requests in a handler. Default: no change; the server
	// accepts TLS 1.2 and later, and asks for no client certificate.
	TLS func(*tls.Config)

	// Logger logs changes of certificates, failures, and that the server drains. A certificate that can't be replaced is
	// logged each hour, with its end. Default: [slog.Default].
	Logger *slog.Logger
}

const (
	readyPath = "/readyz"
	day       = 24 * time.Hour

	headerTimeout   = 10 * time.Second
	bodyTimeout     = 30 * time.Second // the longest timeout of a webhook
	responseTimeout = time.Minute
	idleTimeout     = 3 * time.Minute // longer than that of API servers, 90 s, so that they close connections
	shutdownTimeout = 15 * time.Second
	maxHeaderBytes  = 64 << 10
)

// Server serves webhooks over TLS. Create one with [NewServer].
type Server struct {
	options  Options
	problems []error
	mux      *http.ServeMux
	paths    []string
	keep     func(context.Context) // keeps the certificates
	budget   budget
	meters   []*meter // of the paths

	serving  atomic.Pointer[tls.Certificate]
	started  atomic.Bool
	draining atomic.Bool
}

// NewServer returns a server without handlers. The client is for the secret and the configurations; it may be nil with
// [Options.CertDir].
func NewServer(c *client.Client, o *Options) *Server {
	s := &Server{mux: http.NewServeMux()}
	if o != nil {
		s.options = *o
	}
	d := &s.options
	if d.Addr == "" {
		d.Addr = ":9443"
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	d.Interval = cmp.Or(d.Interval, 10*time.Second)
	d.StopDelay = cmp.Or(d.StopDelay, 10*time.Second)
	s.budget.total = cmp.Or(d.MaxBodyBytes, 64<<20)
	if d.MaxBodyBytes < 0 {
		s.wrong("Options.MaxBodyBytes is %d: set a positive number", d.MaxBodyBytes)
	}
	if d.Interval < 0 {
		s.wrong("Options.Interval is %v: set a positive duration", d.Interval)
	}
	if d.CertDir != "" {
		s.useFiles()
	} else {
		s.useSecret(c)
	}
	s.mux.HandleFunc("GET "+readyPath, s.readyz)
	s.mux.HandleFunc("/", s.notFound)
	return s
}

func (s *Server) wrong(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf("webhook: "+format, args...))
}

func (s *Server) useFiles() {
	d := &s.options
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"Service", d.Service != ""},
		{"Namespace", d.Namespace != ""},
		{"Hosts", len(d.Hosts) > 0},
		{"Mutating", len(d.Mutating) > 0},
		{"Validating", len(d.Validating) > 0},
		{"Definitions", len(d.Definitions) > 0},
		{"Secret", d.Secret != ""},
		{"AuthorityLifetime", d.AuthorityLifetime != 0},
		{"CertificateLifetime", d.CertificateLifetime != 0},
		{"PublishDelay", d.PublishDelay != 0},
	} {
		if option.set {
			s.wrong("Options.CertDir is set together with %s: remove one of them, since with CertDir another program makes the "+
				"certificates and writes the configurations", option.name)
		}
	}
	f := &files{dir: d.CertDir, interval: d.Interval, logger: d.Logger, serving: &s.serving}
	s.keep = f.run
}

func (s *Server) useSecret(c *client.Client) {
	d := &s.options
	if c == nil {
		s.wrong("the client is nil: pass one, or set Options.CertDir")
		return
	}
	d.Namespace = cmp.Or(d.Namespace, c.Namespace())
	if d.Secret == "" && d.Service != "" {
		d.Secret = d.Service + "-webhook-tls"
	}
	d.AuthorityLifetime = cmp.Or(d.AuthorityLifetime, 365*day)
	d.CertificateLifetime = cmp.Or(d.CertificateLifetime, 90*day)
	d.PublishDelay = cmp.Or(d.PublishDelay, min(10*time.Minute, d.CertificateLifetime/10))
	switch {
	case d.Namespace == "":
		s.wrong("Options.Namespace is empty, and the client has no namespace: set one of them")
	case d.Secret == "":
		s.wrong("Options.Service is empty: set it, or set Options.Hosts and Options.Secret")
	case d.Service == "" && len(d.Hosts) == 0:
		s.wrong("Options.Service and Options.Hosts are empty: set how API servers call the webhooks")
	case len(d.Mutating)+len(d.Validating)+len(d.Definitions) == 0:
		s.wrong("Options.Mutating, Validating and Definitions are empty: name the objects that get the bundle of " +
			"certificate authorities, or set Options.CertDir")
	case d.CertificateLifetime < time.Second || d.AuthorityLifetime < 3*d.CertificateLifetime:
		s.wrong("Options.AuthorityLifetime is %v: set at least three times CertificateLifetime, which is %v",
			d.AuthorityLifetime, d.CertificateLifetime)
	case d.PublishDelay < 0 || d.PublishDelay > d.CertificateLifetime/3:
		s.wrong("Options.PublishDelay is %v: set at most a third of CertificateLifetime, which is %v",
			d.PublishDelay, d.CertificateLifetime)
	}
	k := &keeper{
		policy: policy{
			caLife: d.AuthorityLifetime, leafLife: d.CertificateLifetime, delay: d.PublishDelay, names: d.names(),
		},
		namespace: d.Namespace, service: d.Service, secret: d.Secret, interval: d.Interval,
		secrets: client.Namespaced[tlsSecret](c, d.Namespace), logger: d.Logger, serving: &s.serving,
	}
	for _, kind := range []struct {
		res   core.Resource
		names []string
	}{
		{configurations("MutatingWebhookConfiguration"), d.Mutating},
		{configurations("ValidatingWebhookConfiguration"), d.Validating},
		{core.CRDResource(), d.Definitions},
	} {
		for _, name := range kind.names {
			k.targets = append(k.targets, target{client.Dynamic(c, kind.res), name})
		}
	}
	s.keep = k.run
}

func configurations(kind string) core.Resource {
	return core.Resource{
		Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind, Plural: strings.ToLower(kind) + "s",
	}
}

// names returns the names of the serving certificate.
func (o *Options) names() []string {
	var names []string
	if o.Service != "" {
		name := o.Service + "." + o.Namespace
		names = append(names, name, name+".svc", name+".svc.cluster.local")
	}
	for _, host := range o.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			host = ip.String()
		}
		names = append(names, host)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mistakeOf returns the mistake of a handler of this package that can't serve.
func mistakeOf(h http.Handler) error {
	if own, ok := h.(*handler); ok {
		return own.mistake
	}
	return nil
}

// Handle adds a handler, such as that of [Validate], for the path of a clientConfig. Call it before Run.
func (s *Server) Handle(path string, h http.Handler) {
	switch {
	case !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsAny(path, " {}"):
		s.wrong("the path %q is invalid: it must begin with a slash and must not contain a space, { or }", path)
	case path == readyPath, slices.Contains(s.paths, path):
		s.wrong("the path %q has a handler already: give each handler a path of its own, such as by path= of the marker "+
			"//kube:conversion", path)
	case h == nil:
		s.wrong("the handler of the path %q is nil: pass one, such as that of Validate", path)
	case mistakeOf(h) != nil:
		s.wrong("the handler of the path %q is invalid: %w", path, mistakeOf(h))
	default:
		if own, ok := h.(*handler); ok && own.opts.Logger == nil {
			logs := *own
			logs.opts.Logger = s.options.Logger
			h = &logs
		}
		s.paths = append(s.paths, path)
		m := newMeter(path, h)
		s.meters = append(s.meters, m)
		s.mux.Handle(path, m)
	}
}

// Name returns a name for logs and errors.
func (s *Server) Name() string { return "webhook server" }

// Ready returns an error if the server can't serve: it has no valid certificate yet, or it is stopping. It is a check
// for a manager; see the comment of the package for readiness probes.
func (s *Server) Ready(context.Context) error {
	cert := s.serving.Load()
	switch {
	case s.draining.Load():
		return errors.New("the webhook server is stopping")
	case cert == nil:
		return errors.New("the webhook server has no certificate")
	case !time.Now().Before(cert.Leaf.NotAfter):
		return fmt.Errorf("the certificate of the webhook server expired at %s", cert.Leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.Ready(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, "ok")
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.options.Logger.WarnContext(r.Context(), "no webhook has this path", "path", r.URL.Path, "paths", s.paths)
	http.Error(w, "no webhook has this path", http.StatusNotFound)
}

// Run serves until ctx ends, drains, and returns the cause of ctx. It returns an error if an option is invalid, if it
// can't listen, or if the server fails.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("webhook: Run was called twice")
	}
	l := s.options.Listener
	if err := errors.Join(s.problems...); err != nil {
		if l != nil {
			_ = l.Close()
		}
		return err
	}
	if l == nil {
		var err error
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", s.options.Addr); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // lasts longer than ctx
	var running sync.WaitGroup
	running.Go(func() { s.keep(work) })
	defer running.Wait()
	defer stop()

	server := s.httpServer()
	defer func() { _ = server.Close() }() // also the connections that are open when ServeTLS fails
	defer s.draining.Store(true)
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(l, "", "") }() // ends with close
	select {
	case err := <-failed:
		return fmt.Errorf("webhook: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	if s.options.StopDelay > 0 {
		s.options.Logger.InfoContext(ctx, "the webhook server drains before it stops", "duration", s.options.StopDelay)
		timer := time.NewTimer(s.options.StopDelay)
		defer timer.Stop()
		select {
		case err := <-failed:
			return fmt.Errorf("webhook: %w", err)
		case <-timer.C:
		}
	}
	end, cancel := context.WithTimeout(work, shutdownTimeout)
	defer cancel()
	late := server.Shutdown(end)
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("%w; webhook: %w", context.Cause(ctx), err)
	}
	if late != nil {
		late = fmt.Errorf("webhook: requests were still running %v after the end", shutdownTimeout)
		return fmt.Errorf("%w; %w", context.Cause(ctx), late)
	}
	return context.Cause(ctx)
}

func (s *Server) httpServer() *http.Server {
	settings := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if cert := s.serving.Load(); cert != nil {
				return cert, nil
			}
			return nil, errors.New("the webhook server has no certificate")
		},
	}
	if s.options.TLS != nil {
		s.options.TLS(settings)
	}
	return &http.Server{
		Handler: http.HandlerFunc(s.serve), TLSConfig: settings,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: responseTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(&errorLog{s.options.Logger}, "", 0),
	}
}

// serve responds to a request, whose body it bounds. While the server drains, it closes each connection after the
// response, so that the next request of the client uses another replica.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	var release func()
	r.Body, release = s.budget.limit(r)
	defer release()
	s.mux.ServeHTTP(w, r)
}

// errorLog logs the messages of an HTTP server. Failed handshakes are warnings, because an API server that does not
// trust the certificate is one. Connections that end early are not: they are those of TCP health checks.
type errorLog struct{ logger *slog.Logger }

func (l *errorLog) Write(line []byte) (int, error) {
	level := slog.LevelWarn
	text := strings.TrimSpace(string(line))
	if strings.HasSuffix(text, ": EOF") || strings.HasSuffix(text, "connection reset by peer") {
		level = slog.LevelDebug
	}
	l.logger.Log(context.Background(), level, "webhook server", "err", text)
	return len(line), nil
}
