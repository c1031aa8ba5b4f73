// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// shop is the kind of the tests.
type shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		machine.Status `json:",inline"`
	} `json:"status"`
}

func (*shop) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Shop", Plural: "shops", Namespaced: true}
}

// The states: a shop builds, and then is open.
type (
	build     struct{}
	open      struct{}
	closed    struct{}
	fromBuild interface{ fromBuild() }
)

func (open) fromBuild()   {}
func (closed) fromBuild() {}

// made counts the ConfigMaps with random names.
var made atomic.Int64

// clientOf is the client of the current machine: a state has no fields that are not stored.
var clientOf atomic.Pointer[client.Client]

// Step creates a ConfigMap, with a random name unless the shop is safe.
func (build) Step(c *fsm.Ctx[shop], to fsm.To[fromBuild]) fsm.Result[fromBuild] {
	maps := client.Namespaced[corev1.ConfigMap](clientOf.Load(), c.Obj.Namespace)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stock"}}
	if c.Obj.Labels["safe"] == "" {
		cm.Name = fmt.Sprint("stock-", made.Add(1))
	}
	found, err := maps.GetOrNil(c, cm.Name, nil)
	if err == nil && found == nil {
		_, err = maps.Create(c, cm, nil)
	}
	if err != nil {
		return to.Retry(err)
	}
	if c.Obj.Labels["bankrupt"] != "" {
		return to.Go(closed{})
	}
	return to.Go(open{})
}

func (open) Step(_ *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func (closed) Step(_ *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Failed(to, "it is bankrupt")
}

func newMachine(c *client.Client, o *fsm.Options) *fsm.Machine[shop] {
	clientOf.Store(c)
	m := fsm.New[shop](c, "example.com/shop", o)
	fsm.Add(m, build{})
	fsm.Add(m, open{})
	fsm.Add(m, closed{})
	return m
}

// scenario is the life of a shop on a fake server.
func scenario(t *testing.T, coverage *fsmtest.Coverage, labels map[string]string) fsmtest.Scenario[shop] {
	t.Helper()
	shops, err := core.ResourceOf[shop]()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := core.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	server := fakeapi.New(shops, maps)
	count := 0
	return fsmtest.Scenario[shop]{
		Connect: func(m middleware.Func) (*client.Client, error) {
			return client.New(t.Context(), &client.Options{
				Config:     &config.Config{Server: "https://cluster.test"},
				Transport:  server,
				PerAttempt: []middleware.Func{m},
			})
		},
		Machine: func(c *client.Client) *fsm.Machine[shop] { return newMachine(c, &fsm.Options{OnStep: coverage.OnStep}) },
		Create: func(tb testing.TB, _ *client.Client) *shop {
			tb.Helper()
			count++
			obj := &shop{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("ns-", count), Name: "corner", Labels: labels}}
			obj.UID = "1"
			server.Put(shops, obj)
			return obj
		},
		Final: func(tb testing.TB, c *client.Client, obj *shop) string {
			tb.Helper()
			list, err := client.Namespaced[corev1.ConfigMap](c, obj.Namespace).List(tb.Context(), nil)
			if err != nil {
				tb.Fatal(err)
			}
			var names []string
			for _, cm := range list.Items {
				names = append(names, strings.SplitN(cm.Name, "-", 2)[0])
			}
			return strings.Join(names, " ")
		},
	}
}

// failures is a test that records its errors.
type failures struct {
	testing.TB

	errors []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

// TestCrashAcceptsASafeMachine checks that a machine that survives each crash passes, and what Coverage reports.
func TestCrashAcceptsASafeMachine(t *testing.T) {
	coverage := new(fsmtest.Coverage)
	for _, stale := range []bool{false, true} {
		s := scenario(t, coverage, map[string]string{"safe": "yes"})
		s.Stale = stale
		fsmtest.Crash(t, s)
	}
	g := newMachine(fakeapi.New().Client(), nil).Graph()
	if missing := coverage.Missing(g); len(missing) != 1 || missing[0] != (fsm.GraphTransition{From: "build", To: "closed"}) {
		t.Errorf("the missing transitions are %v", missing)
	}
	f := &failures{TB: t}
	coverage.Check(f, g)
	if len(f.errors) != 1 || f.errors[0] != "no test takes the transitions build --> closed" {
		t.Errorf("Check reports %q", f.errors)
	}
}

// TestCrashKillsAfterARequestThatFails checks a scenario in which the response to a create is lost: the program is killed
// after that request, too.
func TestCrashKillsAfterARequestThatFails(t *testing.T) {
	s := scenario(t, new(fsmtest.Coverage), map[string]string{"safe": "yes"})
	s.Timeout = 10 * time.Second
	connect, lost := s.Connect, map[string]bool{} // by the path, which each run has once
	s.Connect = func(m middleware.Func) (*client.Client, error) {
		return connect(func(next http.RoundTripper) http.RoundTripper {
			return m(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err != nil || r.Method != http.MethodPost || lost[r.URL.Path] {
					return resp, err
				}
				lost[r.URL.Path] = true
				return nil, errors.Join(errors.New("connection reset by peer"), resp.Body.Close())
			}))
		})
	}
	fsmtest.Crash(t, s)
}

// TestCrashEndsWithAFailure checks that a scenario also ends with Failed.
func TestCrashEndsWithAFailure(t *testing.T) {
	coverage := new(fsmtest.Coverage)
	fsmtest.Crash(t, scenario(t, coverage, map[string]string{"safe": "yes", "bankrupt": "yes"}))
	missing := coverage.Missing(newMachine(fakeapi.New().Client(), nil).Graph())
	if len(missing) != 1 || missing[0] != (fsm.GraphTransition{From: "build", To: "open"}) {
		t.Errorf("the missing transitions are %v", missing)
	}
}

// TestCrashRejectsAMachineThatCreatesTwice checks that a machine that creates another object after a crash fails.
func TestCrashRejectsAMachineThatCreatesTwice(t *testing.T) {
	f := &failures{TB: t}
	fsmtest.Crash(f, scenario(t, new(fsmtest.Coverage), nil))
	all := strings.Join(f.errors, "\n")
	for _, want := range []string{
		"killed after request 3, POST /api/v1/namespaces/",
		"the final state is\nstock stock\nwant\nstock",
		"the creates and deletes are",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("Crash reports\n%s\nwant %q", all, want)
		}
	}
}

// TestCrashComparesTheResultsOfPath checks that Crash compares what Scenario.Path returns for the paths.
func TestCrashComparesTheResultsOfPath(t *testing.T) {
	for name, tc := range map[string]struct {
		path func(string) string
		want bool // whether runs differ
	}{
		"the same path":      {func(string) string { return "path" }, false},
		"a path of each run": {func(path string) string { return fmt.Sprint(path, made.Add(1)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := &failures{TB: t}, scenario(t, new(fsmtest.Coverage), map[string]string{"safe": "yes"})
			s.Path = tc.path
			fsmtest.Crash(f, s)
			if got := len(f.errors) > 0; got != tc.want {
				t.Errorf("Crash reports %q", f.errors)
			}
		})
	}
}
