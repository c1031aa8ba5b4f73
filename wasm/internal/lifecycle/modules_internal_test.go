// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

func TestSpecBecomesAModule(t *testing.T) {
	obj := v1alpha1.NewWasmController("prod", "hello", v1alpha1.WasmControllerSpec{
		Args: []string{"x"}, Env: []v1alpha1.EnvVar{{Name: "A", Value: "b"}}, ServiceAccountName: "reader",
		Origins: []string{"https://hooks.example.com"},
		Limits: v1alpha1.Limits{
			Memory: new(resource.MustParse("1Gi")), CallTimeout: &metav1.Duration{Duration: time.Second}, InFlight: 3,
			LogsPerSecond: 4, Watches: 5, RequestsPerSecond: 6, CacheMemory: new(resource.MustParse("64Mi")),
			CPU: new(resource.MustParse("250m")),
		},
	})
	m := moduleOf(obj, []byte("wasm"))
	if m.Name != "prod/hello" || m.Namespace != "prod" || m.Env["A"] != "b" || m.Args[0] != "x" ||
		string(m.Binary) != "wasm" || !slices.Equal(m.Origins, obj.Spec.Origins) ||
		m.ServiceAccount != (core.ObjectRef{Namespace: "prod", Name: "reader"}) ||
		m.Limits != (host.Limits{
			MemoryBytes: 1 << 30, CallTimeout: time.Second, InFlight: 3, LogsPerSecond: 4, Watches: 5, RequestsPerSecond: 6,
			CacheBytes: 64 << 20, CPU: 0.25,
		}) {
		t.Errorf("the module is %+v", m)
	}
	if refOf(m.Name) != (core.ObjectRef{Namespace: "prod", Name: "hello"}) {
		t.Errorf("the object of %s is %v", m.Name, refOf(m.Name))
	}
}

func TestModuleNeverHasTheIdentityOfTheHost(t *testing.T) {
	m := moduleOf(v1alpha1.NewWasmController("prod", "hello", v1alpha1.WasmControllerSpec{}), nil)
	if m.ServiceAccount != (core.ObjectRef{Namespace: "prod", Name: "default"}) {
		t.Errorf("the service account is %v", m.ServiceAccount)
	}
}

func TestInvalidSpecsNameTheField(t *testing.T) {
	m := &Modules{store: new(registry.Store)}
	for want, spec := range map[string]v1alpha1.WasmControllerSpec{
		"set either image or file":       {},
		"spec.file: this host reads no ": {File: "a"},
		"spec.limits.memory is 5Gi":      {Image: "a", Limits: v1alpha1.Limits{Memory: new(resource.MustParse("5Gi"))}},
		"spec.limits.memory is -1":       {Image: "a", Limits: v1alpha1.Limits{Memory: new(resource.MustParse("-1"))}},
		"spec.limits.cacheMemory is 5Gi": {
			Image: "a", Limits: v1alpha1.Limits{CacheMemory: new(resource.MustParse("5Gi"))},
		},
		"spec.limits.cacheMemory is 0": {
			Image: "a", Limits: v1alpha1.Limits{CacheMemory: new(resource.MustParse("0"))},
		},
		"spec.limits.cpu is 9,": {Image: "a", Limits: v1alpha1.Limits{CPU: new(resource.MustParse("9"))}},
		"spec.limits.callTimeout is 1h0m0s": {
			Image: "a", Limits: v1alpha1.Limits{CallTimeout: &metav1.Duration{Duration: time.Hour}},
		},
		"spec.limits: inFlight, watches": {Image: "a", Limits: v1alpha1.Limits{RequestsPerSecond: -1}},
		`spec.origins: "ftp://a" is not`: {Image: "a", Origins: []string{"ftp://a"}},
		`spec.origins: "https://a/b" is`: {Image: "a", Origins: []string{"https://a/b"}},
		`spec.origins: "https://" is no`: {Image: "a", Origins: []string{"https://"}},
		`spec.origins: "http://u@a" is `: {Image: "a", Origins: []string{"http://u@a"}},
	} {
		if err := m.check(&spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
	if err := m.check(&v1alpha1.WasmControllerSpec{Image: "a"}); err != nil {
		t.Error(err)
	}
	allowed, other := []string{"https://a"}, []string{"https://a", "http://169.254.169.254"}
	err := m.check(&v1alpha1.WasmControllerSpec{Image: "a", Origins: allowed})
	if err == nil || !strings.Contains(err.Error(), "-allow-origin https://a") {
		t.Errorf("an origin of a host that allows none: %v", err)
	}
	m.origins = allowed
	if err := m.check(&v1alpha1.WasmControllerSpec{Image: "a", Origins: allowed}); err != nil {
		t.Error(err)
	}
	err = m.check(&v1alpha1.WasmControllerSpec{Image: "a", Origins: other})
	if err == nil || !strings.Contains(err.Error(), "-allow-origin http://169.254.169.254") {
		t.Errorf("an origin that the host does not allow: %v", err)
	}
	err = new(Modules).check(&v1alpha1.WasmControllerSpec{Image: "a"})
	if err == nil || !strings.Contains(err.Error(), "-cache") {
		t.Errorf("an image without a store: %v", err)
	}
}

func TestConfigDependsOnTheObjectAndItsSpec(t *testing.T) {
	all := map[string]string{}
	for name, change := range map[string]func(*v1alpha1.WasmController){
		"same":   func(*v1alpha1.WasmController) {},
		"args":   func(o *v1alpha1.WasmController) { o.Spec.Args = []string{"b"} },
		"uid":    func(o *v1alpha1.WasmController) { o.UID = "2" },
		"memory": func(o *v1alpha1.WasmController) { o.Spec.Limits.Memory = new(resource.MustParse("1Gi")) },
	} {
		obj := v1alpha1.NewWasmController("n", "a", v1alpha1.WasmControllerSpec{Args: []string{"a"}})
		change(obj)
		config := configOf(obj)
		if other, ok := all[config]; ok {
			t.Errorf("%s and %s have the same config", name, other)
		}
		all[config] = name
		obj.Labels = map[string]string{"a": "b"}
		obj.Status.Digest = "sha256:1"
		if configOf(obj) != config {
			t.Errorf("%s: the config depends on the metadata or the status", name)
		}
	}
}

func TestFileHasChangedWhenItIsStable(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	m, r := &Modules{root: root}, &record{}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	if r.file, err = m.stat("a"); err != nil {
		t.Fatal(err)
	}
	r.seen = r.file
	if m.changed(r, "a") {
		t.Error("an unchanged file has changed")
	}
	write("12")
	if first, second := m.changed(r, "a"), m.changed(r, "a"); first || second {
		t.Error("a file that is being written has changed")
	}
	r.since = r.since.Add(-fileCheck)
	if !m.changed(r, "a") {
		t.Error("a file that is stable has not changed")
	}
	if r.file, err = m.stat("a"); err != nil {
		t.Fatal(err)
	}
	r.seen, r.since = r.file, r.since.Add(time.Hour)
	write("3")
	path, at := filepath.Join(dir, "a"), r.file.mtime
	err = errors.Join(os.Rename(path, path+"2"), os.WriteFile(path, []byte("34"), 0o600), os.Chtimes(path, at, at))
	if err != nil {
		t.Fatal(err)
	}
	_ = m.changed(r, "a") // for the first time
	r.since = r.since.Add(-fileCheck)
	if !m.changed(r, "a") {
		t.Error("another file with the same size and time has not changed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if m.changed(r, "a") {
		t.Error("a file that does not exist has changed")
	}
}

func TestChangesOfTheHostAreFound(t *testing.T) {
	before := map[string]seen{
		"same": {phase: host.Running}, "other": {phase: host.Running}, "gone": {}, "blocked": seenOf(host.Status{}),
	}
	now := map[string]seen{
		"same": {phase: host.Running}, "other": {phase: host.BackOff}, "new": {},
		"blocked": seenOf(host.Status{Blocked: os.ErrPermission}),
	}
	got := changed(before, now)
	if len(got) != 4 || !got["other"] || !got["gone"] || !got["new"] || !got["blocked"] {
		t.Errorf("the changes are %v", got)
	}
}

// TestErrorOfTheHostIsNoFailure has a module without a failure, and one that has failed before.
func TestErrorOfTheHostIsNoFailure(t *testing.T) {
	err := errors.New("the host can't run the module: too many open files")
	for failures, want := range []string{err.Error(), "failed 1 times; last error: " + err.Error()} {
		s := situation{status: host.Status{Phase: host.BackOff, Failures: failures, Err: err}}
		if got := s.reason(); got != want {
			t.Errorf("after %d failures, the reason is %q, want %q", failures, got, want)
		}
	}
}

// TestModuleIsSetAgainAfterAnErrorOfTheHost distinguishes the errors that reject a module.
func TestModuleIsSetAgainAfterAnErrorOfTheHost(t *testing.T) {
	ended, stop := context.WithCancelCause(t.Context())
	stop(errReplaced)
	for _, test := range []struct {
		name     string
		replaced bool // the job
		err      error
		want     string // empty if the module is rejected
	}{
		{name: "no error"},
		{name: "a module that is invalid", err: errors.New("invalid")},
		{
			name: "no memory for the code", err: fmt.Errorf("compile: %w", syscall.ENOMEM),
			want: "the host can't run the module: compile: cannot allocate memory",
		},
		{name: "a job that was replaced", replaced: true, err: errors.New("invalid"), want: errReplaced.Error()},
		{name: "a job that was replaced when it had succeeded", replaced: true},
	} {
		ctx := t.Context()
		if test.replaced {
			ctx = ended
		}
		err := hindrance(ctx, test.err)
		if got := fmt.Sprint(err); got != cmp.Or(test.want, "<nil>") {
			t.Errorf("%s: the hindrance is %v, want %q", test.name, err, test.want)
		}
	}
}

func TestErrorsOfGuestsAreShortAndValid(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("x", 5000), strings.Repeat("é", 1000), "\xff\xfe", strings.Repeat("\xff", 2000),
	} {
		if got := shorten(text); len(got) > maxError || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%d bytes, valid: %v", len(got), strings.ToValidUTF8(got, "") == got)
		}
	}
}

func TestMachineIsValid(t *testing.T) {
	if err := newMachine(newClient(t), "example.com/test", &Modules{}).Check(); err != nil {
		t.Error(err)
	}
}
