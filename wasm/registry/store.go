// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// The media types of an artifact.
const (
	configType = "application/vnd.wasm.config.v0+json"
	layerType  = "application/wasm"
)

const (
	maxManifest    = 1 << 20 // bytes
	defaultTimeout = 5 * time.Minute
	defaultTotal   = 2 << 30 // bytes
)

// Options are the options of [New]. The zero value of a field is its default.
//
// The proxies of connections come from the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY, see
// [http.ProxyFromEnvironment]. The certificate authorities of registries are those of the system, see
// [crypto/x509.SystemCertPool].
type Options struct {
	// Dir is the directory that keeps what was pulled. It is created if it does not exist. Required.
	Dir string

	// DockerConfig is the path of a docker configuration file with the credentials of registries, or with the names of
	// programs that have them. It is read again when it has changed. Default: no credentials.
	DockerConfig string

	// PlainHTTP are the registries that use HTTP instead of HTTPS, such as localhost:5000. Default: none.
	PlainHTTP []string

	// Prefixes are the beginnings of the references that may be pulled, such as ghcr.io/example/. Default: all.
	Prefixes []string

	// MaxBytes is the maximum size of a module, in bytes. Default: 64 MiB.
	MaxBytes int64

	// MaxTotalBytes is the size of Dir in bytes from which the modules that were not used for the longest time are
	// removed. Default: 2 GiB.
	MaxTotalBytes int64

	// Timeout is the maximum time of a pull. Default: 5 min.
	Timeout time.Duration

	// Logger logs that a module can't be stored in Dir. Default: [slog.Default].
	Logger *slog.Logger
}

// Store pulls modules and keeps them. Create one with [New]. It is safe for concurrent use.
type Store struct {
	options Options
	folder  folder
	client  *auth.Client

	mu    sync.Mutex // guards pulls
	pulls map[string]*pull
}

// pull is a pull that is active. Its goroutine belongs to the callers that wait for it, and ends before the last of
// them returns.
type pull struct {
	stop    context.CancelFunc
	waiting int // callers; guarded by Store.mu

	done   chan struct{} // closed at the end of the goroutine, which sets the fields below
	module *Module
	err    error
}

// New returns a store.
func New(o *Options) (*Store, error) {
	s := &Store{pulls: make(map[string]*pull)}
	if o != nil {
		s.options = *o
	}
	d := &s.options
	if d.Dir == "" {
		return nil, errors.New("registry: Options.Dir is empty: set a directory for the modules")
	}
	d.MaxBytes = cmp.Or(d.MaxBytes, maxBytes)
	d.MaxTotalBytes = cmp.Or(d.MaxTotalBytes, defaultTotal)
	d.Timeout = cmp.Or(d.Timeout, defaultTimeout)
	d.Logger = cmp.Or(d.Logger, slog.Default())
	var err error
	if s.folder, err = newFolder(d.Dir, d.MaxTotalBytes); err != nil {
		return nil, fmt.Errorf("registry: Options.Dir: %w", err)
	}
	s.client = &auth.Client{Client: &http.Client{Transport: newTransport()}, Cache: auth.NewCache()}
	s.client.SetUserAgent("kube-wasm")
	if d.DockerConfig != "" {
		c := &dockerConfig{path: d.DockerConfig}
		if _, err := c.current(); err != nil {
			return nil, fmt.Errorf("registry: Options.DockerConfig: %w", err)
		}
		s.client.Credential = c.credential
	}
	return s, nil
}

// newTransport returns a transport. A program may have replaced [http.DefaultTransport], so it is not a copy of that.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: refuseMetadata}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 90 * time.Second,
		MaxIdleConns: 100, ForceAttemptHTTP2: true,
	}
}

// refuseMetadata returns an error for addresses on which clouds have their metadata services, such as 169.254.169.254.
// A registry can redirect the store to any address. The library already checks the issuers of tokens. Local registries
// have loopback addresses.
func refuseMetadata(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	addr := to.Addr().Unmap().WithZone("")
	if err != nil || addr.IsLoopback() {
		return err
	}
	for _, prefix := range auth.DefaultBlockedRealmPrefixes() {
		if prefix.Contains(addr) {
			return fmt.Errorf("a registry may not refer to %s, which is in %s", addr, prefix)
		}
	}
	return nil
}

// Pull returns the module of an image, which is a reference with a digest. It is read from the directory of the store,
// or pulled from the registry. Concurrent calls for one reference share a pull, which ends when the contexts of all of
// them have ended.
func (s *Store) Pull(ctx context.Context, image string) (*Module, error) {
	ref, err := s.parse(image)
	if err != nil {
		return nil, err
	}
	if m, ok := s.kept(ref); ok {
		return m, nil
	}
	p := s.join(ctx, ref)
	select {
	case <-p.done:
	case <-ctx.Done():
		if s.leave(p) {
			<-p.done // soon, since all that a pull waits for ends with its context
		}
		return nil, context.Cause(ctx)
	}
	s.leave(p)
	if p.err != nil {
		return nil, fmt.Errorf("pull %s: %w", image, withoutQueries{p.err})
	}
	return p.module, nil
}

// parse returns the reference of an image.
func (s *Store) parse(image string) (registry.Reference, error) {
	ref, err := registry.ParseReference(image)
	if err != nil {
		return ref, fmt.Errorf("image %q: %w", image, err)
	}
	if d, err := ref.Digest(); err != nil || d.Algorithm() != digest.SHA256 {
		return ref, fmt.Errorf("image %q has no digest: append @sha256: and the digest of the manifest", image)
	}
	allowed := func(prefix string) bool { return strings.HasPrefix(image, prefix) }
	if len(s.options.Prefixes) > 0 && !slices.ContainsFunc(s.options.Prefixes, allowed) {
		return ref, fmt.Errorf("image %q: this host pulls only images that begin with one of %q", image, s.options.Prefixes)
	}
	return ref, nil
}

// join returns the active pull of a reference, or starts one.
func (s *Store) join(ctx context.Context, ref registry.Reference) *pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ref.String()
	p := s.pulls[key]
	if p == nil {
		p = &pull{done: make(chan struct{})}
		s.pulls[key] = p
		// A caller that leaves does not end the pull of the others.
		ctx, p.stop = context.WithTimeoutCause(context.WithoutCancel(ctx), s.options.Timeout,
			fmt.Errorf("it took longer than %v", s.options.Timeout))
		go func() {
			defer close(p.done)
			p.module, p.err = s.pull(ctx, ref)
			if cause := context.Cause(ctx); p.err != nil && cause != nil {
				p.err = cause
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.pulls[key] == p {
				delete(s.pulls, key)
			}
		}()
	}
	p.waiting++
	return p
}

// leave ends a pull for which nobody waits, and reports whether it did.
func (s *Store) leave(p *pull) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.waiting--; p.waiting > 0 {
		return false
	}
	p.stop()
	for key, other := range s.pulls {
		if other == p { // it has not ended: the next caller starts another one
			delete(s.pulls, key)
		}
	}
	return true
}

// kept returns the module of a reference if the store has it.
func (s *Store) kept(ref registry.Reference) (*Module, bool) {
	data, ok := s.folder.read(manifests, ref.Reference, maxManifest)
	if !ok {
		return nil, false
	}
	layer, err := s.layer(data)
	if err != nil {
		return nil, false
	}
	data, ok = s.folder.read(modules, layer.Digest.String(), s.options.MaxBytes)
	if !ok {
		return nil, false
	}
	m, err := newModule(data)
	return m, err == nil
}

// pull pulls a module, and keeps it if it can be stored.
func (s *Store) pull(ctx context.Context, ref registry.Reference) (*Module, error) {
	repo := &remote.Repository{
		Client: s.client, Reference: ref, MaxMetadataBytes: maxManifest,
		PlainHTTP: slices.Contains(s.options.PlainHTTP, ref.Registry),
	}
	manifest, r, err := repo.Manifests().FetchReference(ctx, ref.Reference)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	defer r.Close()
	if manifest.Size > maxManifest {
		return nil, fmt.Errorf("manifest: it has %d bytes, more than %d", manifest.Size, maxManifest)
	}
	document, err := content.ReadAll(r, manifest) // verifies the digest
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	layer, err := s.layer(document)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	data, ok := s.folder.read(modules, layer.Digest.String(), s.options.MaxBytes)
	if !ok {
		if data, err = content.FetchAll(ctx, repo.Blobs(), layer); err != nil {
			return nil, fmt.Errorf("module: %w", err)
		}
	}
	m, err := newModule(data)
	if err != nil {
		return nil, fmt.Errorf("module: %w", err)
	}
	if !ok {
		err = s.folder.write(modules, m.Digest, data)
	}
	if err := errors.Join(err, s.folder.write(manifests, ref.Reference, document)); err != nil {
		s.options.Logger.LogAttrs(ctx, slog.LevelWarn, "module can't be stored", slog.String("dir", s.options.Dir),
			slog.String("image", ref.String()), slog.Any("err", err))
	}
	return m, nil
}

// layer returns the descriptor of the module that a manifest names.
func (s *Store) layer(document []byte) (none ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(document, &m); err != nil {
		return none, err
	}
	switch {
	case m.MediaType != "" && m.MediaType != ocispec.MediaTypeImageManifest:
		return none, fmt.Errorf("its media type is %q, want %q", m.MediaType, ocispec.MediaTypeImageManifest)
	case m.Config.MediaType != configType:
		return none, fmt.Errorf("the media type of its config is %q, want %q: push the module as a Wasm OCI artifact",
			m.Config.MediaType, configType)
	case len(m.Layers) != 1:
		return none, fmt.Errorf("it has %d layers, want one", len(m.Layers))
	}
	layer := m.Layers[0]
	switch {
	case layer.MediaType != layerType:
		return none, fmt.Errorf("the media type of its layer is %q, want %q", layer.MediaType, layerType)
	case layer.Size < 0 || layer.Size > s.options.MaxBytes:
		return none, fmt.Errorf("the module has %d bytes, more than %d, the maximum size", layer.Size, s.options.MaxBytes)
	case layer.Digest.Validate() != nil || layer.Digest.Algorithm() != digest.SHA256:
		return none, fmt.Errorf("the digest of its layer is %q, want one with sha256", layer.Digest)
	}
	return layer, nil
}
