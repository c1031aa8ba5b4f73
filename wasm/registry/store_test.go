// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
)

// module returns a small module with some content.
func module(content string) []byte {
	size := byte(len(content) + 2)
	return append([]byte("\x00asm\x01\x00\x00\x00\x00"), append([]byte{size, 1, 'x'}, content...)...)
}

func newStore(t *testing.T, server *registrytest.Server, o registry.Options) *registry.Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.PlainHTTP == nil {
		o.PlainHTTP = []string{server.Host}
	}
	s, err := registry.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPullReturnsTheModuleAndKeepsIt(t *testing.T) {
	server, dir := registrytest.New(t), t.TempDir()
	image := server.Push(module("a"))
	for range 2 {
		m, err := newStore(t, server, registry.Options{Dir: dir}).Pull(t.Context(), image)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Binary, module("a")) || !strings.HasPrefix(m.Digest, "sha256:") {
			t.Errorf("the module is %q with the digest %s", m.Binary, m.Digest)
		}
	}
	if n := server.Requests("/modules/test/"); n != 2 {
		t.Errorf("the registry got %d requests, want those of one pull", n)
	}
}

func TestDamagedFileIsPulledAgain(t *testing.T) {
	server, dir := registrytest.New(t), t.TempDir()
	image := server.Push(module("a"))
	store := newStore(t, server, registry.Options{Dir: dir})
	if _, err := store.Pull(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"manifests", "modules"} {
		files, err := filepath.Glob(filepath.Join(dir, part, "sha256-*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := store.Pull(t.Context(), image)
		if err != nil || !bytes.Equal(m.Binary, module("a")) {
			t.Errorf("%s: %v, %v", part, m, err)
		}
	}
}

func TestPullRefusesWhatIsWrong(t *testing.T) {
	server := registrytest.New(t)
	digest := func(image string) string { return image[strings.Index(image, "sha256:"):] }
	layer := func(m map[string]any) map[string]any { return m["layers"].([]any)[0].(map[string]any) }
	wrongManifest := server.Push(module("wrong manifest"))
	server.Replace(digest(wrongManifest), []byte(`{"schemaVersion":2}`))
	var wrong string
	wrongModule := server.Push(module("wrong module"), func(m map[string]any) { wrong = layer(m)["digest"].(string) })
	server.Replace(wrong, module("other module"))
	for name, c := range map[string]struct{ image, want string }{
		"a tag":            {server.Host + "/modules/test:v1", "has no digest: append @sha256:"},
		"another digest":   {server.Host + "/modules/test@sha512:" + strings.Repeat("0", 128), "has no digest"},
		"an unknown image": {server.Host + "/modules/test@sha256:" + strings.Repeat("0", 64), "not found"},
		"no image":         {"x", `image "x"`},
		"a wrong manifest": {wrongManifest, "mismatch"},
		"a wrong module":   {wrongModule, "mismatch"},
		"a large module":   {server.Push(module(strings.Repeat("x", 100))), "more than 64, the maximum size"},
		"garbage":          {server.Push([]byte("garbage, which is not a module")), "not a WebAssembly module"},
		"a component":      {server.Push([]byte("\x00asm\x0d\x00\x01\x00")), "a WebAssembly component: build a core module"},
		"an empty module":  {server.Push(nil), "not a WebAssembly module"},
		"a container": {server.Push(module("c"), func(m map[string]any) {
			m["config"].(map[string]any)["mediaType"] = "application/vnd.oci.image.config.v1+json"
		}), "push the module as a Wasm OCI artifact"},
		"another layer": {server.Push(module("l"), func(m map[string]any) {
			layer(m)["mediaType"] = "application/tar"
		}), `the media type of its layer is "application/tar"`},
		"no layer":   {server.Push(module("n"), func(m map[string]any) { m["layers"] = []any{} }), "it has 0 layers"},
		"an index":   {server.Push(module("i"), func(m map[string]any) { m["mediaType"] = "index" }), `"index"`},
		"a negative": {server.Push(module("s"), func(m map[string]any) { layer(m)["size"] = -1 }), "has -1 bytes"},
		"a path": {server.Push(module("p"), func(m map[string]any) {
			layer(m)["digest"] = "sha256:../../etc/passwd"
		}), "the digest of its layer is"},
		"a longer module": {server.Push(module("longer"), func(m map[string]any) { layer(m)["size"] = 9 }), "module:"},
		"a large manifest": {server.Push(module("m"), func(m map[string]any) {
			m["annotations"] = map[string]string{"x": strings.Repeat("x", 2<<20)}
		}), "manifest:"},
	} {
		dir := t.TempDir()
		_, err := newStore(t, server, registry.Options{MaxBytes: 64, Dir: dir}).Pull(t.Context(), c.image)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.want)
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(kept) > 0 {
			t.Errorf("%s: %v was kept", name, kept)
		}
	}
}

// interrupted sends one byte less than it announces.
type interrupted struct{ http.ResponseWriter }

func (w *interrupted) Write(p []byte) (int, error) {
	w.Header().Set("Content-Length", strconv.Itoa(len(p)))
	return w.ResponseWriter.Write(p[:len(p)-1])
}

func TestInterruptedTransferIsAnErrorAndCanBeRepeated(t *testing.T) {
	server := registrytest.New(t)
	store := newStore(t, server, registry.Options{})
	image := server.Push(module("a"))
	for _, part := range []string{"/manifests/", "/blobs/"} {
		server.Hook(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, part) {
				w = &interrupted{ResponseWriter: w}
			}
			server.Serve(w, r)
		})
		if m, err := store.Pull(t.Context(), image); err == nil {
			t.Errorf("%s: %v, want an error", part, m)
		}
	}
	server.Hook(nil)
	if _, err := store.Pull(t.Context(), image); err != nil {
		t.Error(err)
	}
}

func TestConcurrentPullsHappenOnce(t *testing.T) {
	server := registrytest.New(t)
	store := newStore(t, server, registry.Options{})
	image := server.Push(module("a"))
	begun, proceed := make(chan struct{}, 100), make(chan struct{})
	server.Hook(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-proceed
		server.Serve(w, r)
	})
	// The first caller leaves: the pull goes on for the others.
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := store.Pull(first, image); !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller got %v", err)
		}
	})
	<-begun
	for range 20 {
		all.Go(func() {
			if _, err := store.Pull(t.Context(), image); err != nil {
				t.Error(err)
			}
		})
	}
	for store.Waiting() < 21 {
		<-time.After(time.Millisecond)
	}
	leave()
	for store.Waiting() > 20 {
		<-time.After(time.Millisecond)
	}
	close(proceed)
	all.Wait()
	if n := server.Requests("/manifests/"); n != 1 {
		t.Errorf("the registry got %d requests for the manifest", n)
	}
}

// slowHelper makes a program for credentials that does not end. It returns a docker configuration that names it, and
// the file that it creates when it begins.
func slowHelper(t *testing.T, host string) (config, begun string) {
	t.Helper()
	dir := t.TempDir()
	config, begun = filepath.Join(dir, "config.json"), filepath.Join(dir, "begun")
	for path, content := range map[string]string{
		config: fmt.Sprintf(`{"credHelpers":{%q:"slow"}}`, host),
		filepath.Join(dir, "docker-credential-slow"): fmt.Sprintf("#!/bin/sh\n: > %s\nexec sleep 600\n", begun),
	} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return config, begun
}

func TestPullEndsBeforeItsLastCallerReturns(t *testing.T) {
	server := registrytest.New(t)
	image := server.Push(module("a"))
	config, helping := slowHelper(t, server.Host)
	begun := make(chan struct{})
	stuck := func(r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}
	for _, c := range []struct {
		name string
		hook http.HandlerFunc
	}{
		{"the registry does not send the manifest", func(_ http.ResponseWriter, r *http.Request) { stuck(r) }},
		{"the registry does not send the module", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				stuck(r)
				return
			}
			server.Serve(w, r)
		}},
		{"the registry sends a part of the module", func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				w.Header().Set("Content-Length", strconv.Itoa(len(module("a"))))
				_, _ = w.Write(module("a")[:5])
				w.(http.Flusher).Flush()
				stuck(r)
				return
			}
			server.Serve(w, r)
		}},
		{"the program with the credentials does not end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			go func() {
				for {
					if _, err := os.Stat(helping); err == nil {
						close(begun)
						return
					}
					<-time.After(time.Millisecond)
				}
			}()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun = make(chan struct{})
			server.Hook(c.hook)
			store := newStore(t, server, registry.Options{DockerConfig: config})
			ctx, leave := context.WithCancel(t.Context())
			result := make(chan error)
			go func() {
				_, err := store.Pull(ctx, image)
				all := make([]byte, 1<<20)
				if all = all[:runtime.Stack(all, true)]; bytes.Contains(all, []byte(".(*Store).pull(")) {
					t.Errorf("the pull is active after Pull has returned:\n%s", all)
				}
				result <- err
			}()
			<-begun
			leave()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("Pull = %v, want %v", err, context.Canceled)
			}
			server.Hook(nil)
			if _, err := store.Pull(t.Context(), image); err != nil {
				t.Errorf("the next pull: %v", err)
			}
		})
	}
}

// TestRegistriesMayNotReferToMetadataServices checks the issuer of tokens, and the target of a redirect.
func TestRegistriesMayNotReferToMetadataServices(t *testing.T) {
	for want, refer := range map[string]http.HandlerFunc{
		"169.254.169.254, in blocked prefix 169.254.0.0/16": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://169.254.169.254/latest",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"a registry may not refer to fe80::1, which is in fe80::/10": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://[fe80::1%25lo]/latest", http.StatusTemporaryRedirect)
		},
	} {
		server := httptest.NewServer(refer)
		host := strings.TrimPrefix(server.URL, "http://")
		store, err := registry.New(&registry.Options{Dir: t.TempDir(), PlainHTTP: []string{host}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Pull(t.Context(), host+"/modules/test@sha256:"+strings.Repeat("0", 64))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Pull = %v, want %q", err, want)
		}
		server.Close()
	}
}

func TestPullDoesNotUseTheTransportOfTheProgram(t *testing.T) {
	server := registrytest.New(t)
	image := server.Push(module("a"))
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	http.DefaultTransport = http.NewFileTransport(http.Dir(t.TempDir()))
	if _, err := newStore(t, server, registry.Options{}).Pull(t.Context(), image); err != nil {
		t.Error(err)
	}
}

func TestSlowPullEnds(t *testing.T) {
	server := registrytest.New(t)
	image := server.Push(module("a"))
	server.Hook(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := newStore(t, server, registry.Options{Timeout: time.Millisecond}).Pull(t.Context(), image)
	if err == nil || !strings.Contains(err.Error(), "it took longer than 1ms") {
		t.Errorf("Pull = %v", err)
	}
}

func TestOnlyAllowedImagesArePulled(t *testing.T) {
	server := registrytest.New(t)
	image := server.Push(module("a"))
	store := newStore(t, server, registry.Options{Prefixes: []string{server.Host + "/modules/"}})
	if _, err := store.Pull(t.Context(), image); err != nil {
		t.Error(err)
	}
	_, err := newStore(t, server, registry.Options{Prefixes: []string{"ghcr.io/"}}).Pull(t.Context(), image)
	if err == nil || !strings.Contains(err.Error(), "only images that begin with one of") {
		t.Errorf("Pull = %v", err)
	}
}

func TestPullUsesTheCredentialsOfADockerConfig(t *testing.T) {
	server := registrytest.New(t)
	image := server.Push(module("a"))
	server.Hook(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "jane" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		server.Serve(w, r)
	})
	login := base64.StdEncoding.EncodeToString([]byte("jane:s3cret"))
	data, err := json.Marshal(map[string]any{"auths": map[string]any{server.Host: map[string]string{"auth": login}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newStore(t, server, registry.Options{DockerConfig: file}).Pull(t.Context(), image); err != nil {
		t.Error(err)
	}
	_, err = newStore(t, server, registry.Options{}).Pull(t.Context(), image)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := registry.New(&registry.Options{Dir: t.TempDir(), DockerConfig: file + "x"}); err == nil {
		t.Error("a config that does not exist is accepted")
	}
}

// TestReplacedDockerConfigIsReadAgain has a password that expires, also while the file can't be read.
func TestReplacedDockerConfigIsReadAgain(t *testing.T) {
	server := registrytest.New(t)
	var valid atomic.Value
	server.Hook(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != valid.Load() {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		server.Serve(w, r)
	})
	file := filepath.Join(t.TempDir(), "config.json")
	replace := func(content string) { // with a file of the same size and time
		t.Helper()
		at, next := time.Unix(1, 0), file+".next"
		err := errors.Join(os.WriteFile(next, []byte(content), 0o600), os.Chtimes(next, at, at), os.Rename(next, file))
		if err != nil {
			t.Fatal(err)
		}
	}
	config := func(password string) string {
		login := base64.StdEncoding.EncodeToString([]byte("jane:" + password))
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, server.Host, login)
	}
	replace(config("old"))
	valid.Store("old")
	store := newStore(t, server, registry.Options{DockerConfig: file})
	if _, err := store.Pull(t.Context(), server.Push(module("a"))); err != nil {
		t.Fatal(err)
	}
	valid.Store("new")
	replace("{")
	if _, err := store.Pull(t.Context(), server.Push(module("b"))); err == nil ||
		!strings.Contains(err.Error(), "docker configuration: ") {
		t.Errorf("with an invalid file, Pull = %v", err)
	}
	replace(config("new"))
	if _, err := store.Pull(t.Context(), server.Push(module("b"))); err != nil {
		t.Errorf("with the new password, Pull = %v", err)
	}
}

// TestErrorsHaveNoSignaturesOfURLs has a registry that redirects to a signed URL of another server, which fails.
func TestErrorsHaveNoSignaturesOfURLs(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"a refusal":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"no response": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"another length": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 5)) // the client may have left
		},
		"an invalid URL": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://storage.test/%zz?X-Amz-Signature=s3cret")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			storage := httptest.NewServer(fail)
			defer storage.Close()
			server := registrytest.New(t)
			image := server.Push(module("a"))
			server.Hook(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/blobs/") {
					to := storage.URL + "/blob?X-Amz-Credential=AKIA&X-Amz-Signature=s3cret"
					http.Redirect(w, r, to, http.StatusTemporaryRedirect)
					return
				}
				server.Serve(w, r)
			})
			_, err := newStore(t, server, registry.Options{}).Pull(t.Context(), image)
			if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "AKIA") {
				t.Errorf("Pull = %v, want an error without the query", err)
			}
		})
	}
}

// TestModuleThatCannotBeStoredIsReturned has a directory that can't be written.
func TestModuleThatCannotBeStoredIsReturned(t *testing.T) {
	server, dir := registrytest.New(t), t.TempDir()
	var log bytes.Buffer
	store := newStore(t, server, registry.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, part := range []string{"manifests", "modules"} {
		path := filepath.Join(dir, part)
		if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := store.Pull(t.Context(), server.Push(module("a")))
	if err != nil || !bytes.Equal(m.Binary, module("a")) {
		t.Errorf("Pull = %+v, %v, want the module", m, err)
	}
	if n := strings.Count(log.String(), "dir="+dir); n != 1 {
		t.Errorf("the log has %d warnings that name the directory, want one:\n%s", n, &log)
	}
}

func TestOldModulesAreRemoved(t *testing.T) {
	server, dir := registrytest.New(t), t.TempDir()
	store := newStore(t, server, registry.Options{Dir: dir, MaxTotalBytes: 1000})
	var last string
	for _, content := range []string{"a", "b", "c", "d", "e"} {
		last = server.Push(module(content))
		if _, err := store.Pull(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 1000 || len(files) == 0 {
		t.Errorf("%d files have %d bytes", len(files), total)
	}
	before := server.Requests("/")
	if _, err := store.Pull(t.Context(), last); err != nil || server.Requests("/") != before {
		t.Errorf("the newest module was removed: %v", err)
	}
}
