// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/wasm/host"
)

// buildInC builds a module in C. It skips the test if the compiler is missing, or fails it if KUBECLUSTER_NODE says
// that it must run.
func buildInC(t *testing.T, source string) []byte {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "check").CombinedOutput(); err != nil {
		if os.Getenv("KUBECLUSTER_NODE") == "1" {
			t.Fatalf("KUBECLUSTER_NODE is 1, but guests in C can't be built: run make wasm-guests: %s", out)
		}
		t.Skipf("run make wasm-guests: %s", out)
	}
	file := filepath.Join(t.TempDir(), "module.wasm")
	build := exec.CommandContext(t.Context(), "../../scripts/wasm-guests", "build", file, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// buildInGo builds a module in Go from a folder of wasm/host.
func buildInGo(t *testing.T, program string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "module.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-tags=nethttpomithttp2",
		"-ldflags=-s -w", "-o", file, program)
	cmd.Dir, cmd.Env = "../../wasm/host", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// another returns a module that does the same and has another digest: it has a custom section more.
func another(binary []byte) []byte { return append(slices.Clone(binary), 0, 2, 1, 'x') }

// crowd is many modules in one host.
type crowd struct {
	client    *kube.Client
	host      *host.Host
	log       *wasmHost
	ns, other string // the namespace of the modules, and one that they may not read

	mu      sync.Mutex // guards modules
	modules map[string]host.Module
}

// set adds or replaces a module.
func (c *crowd) set(t *testing.T, m host.Module) {
	t.Helper()
	m.Namespace = c.ns
	m.ServiceAccount = kube.ObjectRef{Namespace: c.ns, Name: "greeter"}
	if err := c.host.Set(limit(t), m); err != nil {
		t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modules[m.Name] = m
}

// right returns an error unless the objects of each greeter are those of the sources.
func (c *crowd) right(ctx context.Context, sources map[string]string) error {
	got := map[string]string{}
	for cm, err := range kube.Namespaced[corev1.ConfigMap](c.client, c.ns).All(ctx, nil) {
		if err != nil {
			return err
		}
		got[cm.Name] = cm.Data["text"]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.modules {
		if !strings.HasPrefix(name, "greeter") {
			continue
		}
		for source, value := range sources {
			if text := got[name+"-"+source]; text != m.Args[2]+" "+value {
				return fmt.Errorf("module %s has written %q for %s, want %q", name, text, source, m.Args[2]+" "+value)
			}
		}
	}
	return nil
}

// account creates the service account of the modules, which may read and write the ConfigMaps of their namespace.
func (c *crowd) account(t *testing.T) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}}
	if _, err := kube.Namespaced[corev1.ServiceAccount](c.client, c.ns).Create(limit(t), account, nil); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"},
		Verbs: []string{"get", "list", "watch", "create", "patch"},
	}}}
	if _, err := kube.Namespaced[rbacv1.Role](c.client, c.ns).Create(limit(t), role, nil); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "greeter"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "greeter"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.ns, Name: "greeter"}},
	}
	if _, err := kube.Namespaced[rbacv1.RoleBinding](c.client, c.ns).Create(limit(t), binding, nil); err != nil {
		t.Fatal(err)
	}
}

// write creates or updates a ConfigMap that the greeters read.
func (c *crowd) write(ctx context.Context, ns, name, value string) error {
	_, err := kube.Namespaced[corev1.ConfigMap](c.client, ns).Apply(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: map[string]string{"greet": "please"}},
		Data:       map[string]string{"value": value},
	}, &kube.ApplyOptions{FieldManager: "test", Force: true})
	return err
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{client: connect(t, nil), log: &wasmHost{log: &guarded[string]{}}, modules: map[string]host.Module{}}
	c.ns, c.other = newNamespace(t, c.client), newNamespace(t, c.client)
	c.account(t)
	logger := slog.New(slog.NewTextHandler(c.log, nil))
	var err error
	c.host, err = host.New(t.Context(), c.client, &host.Options{
		Logger: logger, BackOff: 50 * time.Millisecond, MaxFailures: 3, IdleAfter: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	background(t, c.host.Run)
	return c
}

// TestManyModulesAreRightBesidesHostileOnes runs twelve greeters, one module of each hostile kind, and two that want to
// read what they may not. While the objects change, the API server is killed and restarted, and modules are replaced.
func TestManyModulesAreRightBesidesHostileOnes(t *testing.T) {
	apiserver := builtinCluster(t).Component(cluster.APIServer)
	inC, hostile := buildInC(t, "wasm/host/testdata/greeter.c"), buildInC(t, "wasm/conformance/testdata/hostile.c")
	inGo := buildInGo(t, "./testdata/greeter")
	c := newCrowd(t)
	sources := map[string]string{"a": "1", "b": "1", "c": "1"}
	for name, value := range sources {
		if err := c.write(limit(t), c.ns, name, value); err != nil {
			t.Fatal(err)
		}
	}
	const secret = "of the other namespace"
	if err := c.write(limit(t), c.other, "a", secret); err != nil {
		t.Fatal(err)
	}

	var adding sync.WaitGroup
	for n, act := range []string{"loop", "trap", "memory", "deadlock", "write", "bodies", "cancelled", "call"} {
		number := "100000"
		if act == "call" {
			number = "/api/v1/namespaces/" + c.ns + "/configmaps?watch=true"
		}
		adding.Go(func() {
			c.set(t, host.Module{
				Name: fmt.Sprintf("hostile-%d-%s", n, act), Binary: hostile, Args: []string{act, number},
				Limits: host.Limits{Wake: 2 * time.Second},
			})
		})
	}
	greeter := func(n int, text string) host.Module {
		m := host.Module{Name: fmt.Sprintf("greeter-%d", n), Binary: inGo}
		if n%2 == 1 {
			m.Binary = inC
		}
		m.Args = []string{m.Name, c.ns, text}
		return m
	}
	for n := range 12 {
		adding.Go(func() { c.set(t, greeter(n, "hello")) })
	}
	for n, binary := range [][]byte{inC, inGo} {
		adding.Go(func() {
			name := fmt.Sprintf("spy-%d", n)
			c.set(t, host.Module{Name: name, Binary: binary, Args: []string{name, c.other, "seen"}})
		})
	}
	adding.Wait()
	eventually(t, "the first objects", func(ctx context.Context) error { return c.right(ctx, sources) })

	stop := background(t, func(ctx context.Context) error {
		for n := 0; ctx.Err() == nil; n++ {
			_ = c.write(ctx, c.ns, string(rune('a'+n%3)), fmt.Sprint("load ", n)) // the API server may be down
		}
		return context.Cause(ctx)
	})
	if err := apiserver.Kill(); err != nil {
		t.Fatal(err)
	}
	c.set(t, greeter(0, "hi"))
	c.set(t, greeter(1, "hi"))
	if err := apiserver.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	replaced := greeter(3, "hello")
	replaced.Binary = another(replaced.Binary)
	c.set(t, replaced)
	c.set(t, greeter(2, "good day"))
	_ = stop()
	for name := range sources {
		sources[name] = "last"
		if err := c.write(limit(t), c.ns, name, "last"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the last objects", func(ctx context.Context) error { return c.right(ctx, sources) })
	c.check(t, secret)
}

// check checks what the modules have done.
func (c *crowd) check(t *testing.T, secret string) {
	t.Helper()
	if strings.Contains(c.log.log.get(), secret) {
		t.Error("a module has read an object of a namespace that its service account may not read")
	}
	for cm, err := range kube.Namespaced[corev1.ConfigMap](c.client, c.ns).All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(cm.Name, "spy") {
			t.Errorf("module %s has written %v", cm.Name, cm.Data)
		}
	}
	for _, s := range c.host.Status() {
		kind, _, _ := strings.Cut(s.Name, "-")
		switch {
		case kind == "greeter" && s.Failures > 0:
			t.Errorf("module %s has failed: %v", s.Name, s.Err)
		case kind == "greeter" && s.Stats.Failures > 0:
			t.Errorf("module %s has started %d times after failures", s.Name, s.Stats.Starts)
		}
	}
	if !strings.Contains(c.log.log.get(), "may not list configmaps") {
		t.Error("the log does not report what the service account may not do")
	}
}
