// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// Config resolves a context of k to a connection. Options.Path must be empty. Config reads the files that the context's
// stanzas name, to validate them. It validates nothing else: a mistake in another context is not an error.
//
// No secret is sent over plain http: as with kubectl, the credentials of the user are then left out. The user to
// impersonate is not a secret, and is kept.
//
// Errors: [ErrNoConfig] if k does not select a server, [ErrCertificateExpired], [FieldError].
func (k *Kubeconfig) Config(ctx context.Context, opts *Options) (*Config, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Path != "" {
		return nil, errors.New("options: Path is set, but the kubeconfig has already been read: leave Path empty")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return k.config(osEnv(), &o)
}

func (k *Kubeconfig) config(e env, o *Options) (*Config, error) {
	if err := k.checkSpelling(); err != nil {
		return nil, err
	}
	if !k.chooses(o) && len(k.Contexts) == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrNoConfig, k.files())
	}
	s, err := k.choose(o)
	if err != nil {
		return nil, err
	}
	c := checker{env: e}
	p := s.places()
	c.spelling(p.context, "", reflect.ValueOf(s.context))
	c.spelling(p.cluster, "", reflect.ValueOf(s.cluster))
	c.spelling(p.user, "", reflect.ValueOf(s.user))
	cfg := s.cluster.Cluster.config()
	s.user.User.addTo(&cfg)
	if cfg.AuthProvider != nil {
		cfg.AuthProvider.File, cfg.AuthProvider.User = s.user.User.Origin, s.user.Name
	}
	cfg.Namespace = s.context.Context.Namespace
	if x := find(s.cluster.Cluster.Extensions, execExtension); x != nil && cfg.Exec != nil {
		cfg.Exec.ClusterConfig = x.Extension
	}
	cfg.Source = s.source(k)
	return c.finish(&cfg, o, p)
}

// finish applies the options, validates the result, and sets the defaults.
func (c *checker) finish(cfg *Config, o *Options, p places) (*Config, error) {
	overridden, err := cfg.override(o)
	if err != nil {
		return nil, err
	}
	p.cluster.overridden, p.user.overridden, p.context.overridden = overridden, overridden, overridden
	cfg.Namespace = cmp.Or(cfg.Namespace, "default")
	cfg.Server = serverURL(cfg)
	c.cluster(p.cluster, cfg)
	c.user(p.user, cfg)
	c.namespace(p.context, cfg.Namespace)
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	if strings.HasPrefix(cfg.Server, "http:") {
		return cfg.withoutCredentials(), nil
	}
	if cfg.onlyCertificate() {
		if err := cfg.checkExpiry(c.env, p.user, expiryGrace); err != nil {
			return nil, err
		}
	}
	if cfg.BearerToken == "" && cfg.BearerTokenFile != "" {
		cfg.BearerToken = c.fileToken
	}
	return cfg, nil
}

// expiryGrace is the maximum difference between the clocks of the server and of this machine.
const expiryGrace = 5 * time.Minute

// checkSpelling reports misspelled top-level fields.
func (k *Kubeconfig) checkSpelling() error {
	var c checker
	c.spelling(k.place(), "", reflect.ValueOf(*k))
	return errors.Join(c.errs...)
}

// stanzas are the selected stanzas. A stanza without a name is empty, except for a user whose entry has an empty name.
type stanzas struct {
	context NamedContext
	cluster NamedCluster
	user    NamedUser
	unnamed bool // user is such an entry
}

func (k *Kubeconfig) choose(o *Options) (*stanzas, error) {
	var s stanzas
	if name := cmp.Or(o.Context, k.CurrentContext); name != "" {
		found := find(k.Contexts, name)
		if found == nil {
			field := ""
			if o.Context == "" {
				field = "current-context"
			}
			return nil, k.place().errorf(field, "", "%s", missing("context", name, names(k.Contexts)))
		}
		s.context = *found
	} else if o.Cluster == "" && (o.Override == nil || o.Override.Server == "") {
		return nil, k.noContext()
	}
	if err := s.chooseCluster(k, o); err != nil {
		return nil, err
	}
	return &s, s.chooseUser(k, o)
}

func (s *stanzas) chooseCluster(k *Kubeconfig, o *Options) error {
	name := cmp.Or(o.Cluster, s.context.Context.Cluster)
	if name == "" {
		if o.Override != nil && o.Override.Server != "" {
			return nil
		}
		return s.contextPlace().errorf("cluster", "name "+oneOf("cluster", names(k.Clusters)), "is missing")
	}
	found := find(k.Clusters, name)
	switch {
	case found != nil:
		s.cluster = *found
		return nil
	case o.Cluster != "":
		return k.place().errorf("", "", "%s", missing("cluster", name, names(k.Clusters)))
	}
	return s.contextPlace().errorf("cluster", "", "%s", missing("cluster", name, names(k.Clusters)))
}

func (s *stanzas) chooseUser(k *Kubeconfig, o *Options) error {
	name := cmp.Or(o.User, s.context.Context.User)
	found := find(k.Users, name)
	switch {
	case found != nil: // including an entry named "", for a context without a user
		s.user, s.unnamed = *found, name == ""
		return nil
	case name == "":
		return nil // anonymous
	case o.User != "":
		return k.place().errorf("", "", "%s", missing("user", name, names(k.Users)))
	}
	return s.contextPlace().errorf("user", "", "%s", missing("user", name, names(k.Users)))
}

// place returns the place of fields outside of the stanzas.
func (k *Kubeconfig) place() place { return place{file: k.files()} }

// places are the origins of the fields of a Config.
type places struct{ cluster, user, context place }

func (s *stanzas) contextPlace() place {
	return stanzaPlace("context", s.context.Name, s.context.Context.Origin)
}

// stanzaPlace returns the place of a stanza. Fields without a stanza can only have come from an override.
func stanzaPlace(kind, name, file string) place {
	if name == "" {
		return place{stanza: "override", goNames: true}
	}
	return place{file: file, stanza: fmt.Sprintf("%s %q", kind, name)}
}

func (s *stanzas) places() places {
	p := places{
		cluster: stanzaPlace("cluster", s.cluster.Name, s.cluster.Cluster.Origin),
		user:    stanzaPlace("user", s.user.Name, s.user.User.Origin),
		context: s.contextPlace(),
	}
	if s.unnamed {
		p.user = place{file: s.user.User.Origin, stanza: `user ""`}
	}
	return p
}

// source describes where the configuration came from.
func (s *stanzas) source(k *Kubeconfig) string {
	switch {
	case s.context.Name != "":
		return fmt.Sprintf("context %q of %s", s.context.Name, cmp.Or(s.context.Context.Origin, k.files()))
	case s.cluster.Name != "":
		return fmt.Sprintf("cluster %q of %s", s.cluster.Name, cmp.Or(s.cluster.Cluster.Origin, k.files()))
	}
	return "override"
}

// config returns the fields of a Config that a cluster sets.
func (c Cluster) config() Config {
	return Config{
		Server:                c.Server,
		TLSServerName:         c.TLSServerName,
		InsecureSkipTLSVerify: c.InsecureSkipTLSVerify,
		CAFile:                resolvePath(c.Origin, c.CertificateAuthority),
		CAData:                c.CertificateAuthorityData,
		ProxyURL:              c.ProxyURL,
		DisableCompression:    c.DisableCompression,
	}
}

// config returns the fields of a Config that a user sets.
func (u User) config() Config {
	var cfg Config
	u.addTo(&cfg)
	return cfg
}

// addTo sets the fields of a Config that a user sets.
func (u User) addTo(cfg *Config) {
	cfg.ClientCertFile = resolvePath(u.Origin, u.ClientCertificate)
	cfg.ClientCertData = u.ClientCertificateData
	cfg.ClientKeyFile = resolvePath(u.Origin, u.ClientKey)
	cfg.ClientKeyData = u.ClientKeyData
	cfg.BearerToken = u.Token
	cfg.BearerTokenFile = resolvePath(u.Origin, u.TokenFile)
	cfg.Username = u.Username
	cfg.Password = u.Password
	cfg.Impersonate = Impersonation{u.Impersonate, u.ImpersonateUID, u.ImpersonateGroups, u.ImpersonateUserExtra}
	if u.AuthProvider != nil {
		cfg.AuthProvider = &AuthProvider{Name: u.AuthProvider.Name, Config: u.AuthProvider.Config}
	}
	if u.Exec != nil {
		cfg.Exec = u.Exec.resolved(u.Origin)
	}
}

func (e *ExecConfig) resolved(origin string) *ExecConfig {
	out := *e
	out.Unknown = nil
	if filepath.Base(e.Command) != e.Command { // otherwise it is looked up in PATH
		out.Command = resolvePath(origin, e.Command)
	}
	out.InstallHint = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1 // the hint is printed on the terminal: it must not contain escape sequences
		}
		return r
	}, e.InstallHint)
	if e.InteractiveMode == "" && e.APIVersion == ExecV1Beta1 {
		out.InteractiveMode = InteractiveIfAvailable
	}
	return &out
}

// resolvePath resolves a path relative to the directory of the file that names it.
func resolvePath(origin, path string) string {
	if path == "" || origin == "" || filepath.IsAbs(path) {
		return path
	}
	dir := filepath.Dir(origin)
	if abs, err := filepath.Abs(dir); err == nil { // without a separator, a program would be looked up in PATH
		dir = abs
	}
	return filepath.Join(dir, path)
}

// serverURL completes a server written as HOST or HOST:PORT. The scheme is https if another field requires TLS, and
// http otherwise. client-go uses http without the credentials here, because it looks at the other fields too late. A
// value that is neither HOST, HOST:PORT nor a URL is returned unchanged, for validation to report.
func serverURL(cfg *Config) string {
	u, err := url.Parse(cfg.Server)
	if err == nil && u.Scheme != "" && u.Host != "" {
		u.RawQuery, u.Fragment = "", ""
		return u.String()
	}
	scheme := "http://"
	if cfg.CAFile != "" || len(cfg.CAData) > 0 || cfg.hasCertificate() || cfg.InsecureSkipTLSVerify {
		scheme = "https://"
	}
	u, err = url.Parse(scheme + cfg.Server)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || strings.Contains(cfg.Server, "://") {
		return cfg.Server
	}
	return u.String()
}

// onlyCertificate reports whether a client certificate is the only credential.
func (c *Config) onlyCertificate() bool {
	return c.hasCertificate() && !c.hasAuthorization()
}

// withoutCredentials keeps the fields that apply to a connection without TLS.
func (c *Config) withoutCredentials() *Config {
	return &Config{
		Server:             c.Server,
		Namespace:          c.Namespace,
		ProxyURL:           c.ProxyURL,
		DisableCompression: c.DisableCompression,
		Impersonate:        c.Impersonate,
		Source:             c.Source,
	}
}
