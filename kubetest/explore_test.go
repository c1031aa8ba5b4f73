// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

const cleanup = "e2e.example.com/cleanup" // the finalizer of copied ConfigMaps

// copier is a process that copies each ConfigMap of the namespace shop into the namespace copies. It has one of the
// bugs of TestExploreFindsBugs, or none.
type copier struct {
	bug               string
	originals, copies *kube.API[corev1.ConfigMap]
	made              *sync.Map // the names of the copies that this process has made
}

// runCopier returns the program.
func runCopier(bug string) func(context.Context, *kube.Client) error {
	return func(ctx context.Context, c *kube.Client) error {
		switch bug {
		case "requests without end":
			maps := kube.Namespaced[corev1.ConfigMap](c, "shop")
			for ctx.Err() == nil {
				_, _ = maps.Get(ctx, "a", nil)
			}
			return nil
		case "does not end with its context":
			for {
				<-time.After(time.Minute)
			}
		case "panics":
			panic("out of order")
		case "ends with an error":
			return errors.New("out of order")
		}
		p := copier{
			bug: bug, originals: kube.Namespaced[corev1.ConfigMap](c, "shop"),
			copies: kube.Namespaced[corev1.ConfigMap](c, "copies"), made: new(sync.Map),
		}
		view := kube.ViewOf[corev1.ConfigMap](kube.NewCache(c, nil), &kube.Selection{Namespace: "shop"})
		ctl := kube.NewController(kube.ForView(view), &kube.ControllerOptions{OnGone: p.gone})
		return ctl.Run(ctx, p.reconcile)
	}
}

func (p copier) gone(ctx context.Context, key kube.Key) {
	if p.bug == "forgets deletions" {
		_ = p.copies.Delete(ctx, key.Ref.Name, nil)
	}
}

func (p copier) reconcile(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
	if cm.DeletionTimestamp != nil {
		if err := p.copies.Delete(ctx, cm.Name, nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
			return kube.Action{}, err
		}
		return p.change(ctx, cm, func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	}
	if p.bug != "forgets deletions" && !slices.Contains(cm.Finalizers, cleanup) {
		return p.change(ctx, cm, func(cm *corev1.ConfigMap) { cm.Finalizers = []string{cleanup} })
	}
	if err := p.copy(ctx, cm); err != nil {
		return kube.Action{}, err
	}
	action, err := p.change(ctx, cm, func(cm *corev1.ConfigMap) {
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "copied", "true")
		if p.bug == "changes objects every minute" {
			metav1.SetMetaDataAnnotation(&cm.ObjectMeta, "time", time.Now().String())
		}
	})
	if p.bug == "changes objects every minute" {
		return kube.RequeueAfter(time.Minute), err
	}
	return action, err
}

// change changes a ConfigMap.
func (p copier) change(ctx context.Context, cm *corev1.ConfigMap, f func(*corev1.ConfigMap)) (kube.Action, error) {
	if p.bug == "overwrites" {
		f(cm)
		cm.ResourceVersion = ""
		_, err := p.originals.Update(ctx, cm, nil)
		return kube.AwaitChange(), err
	}
	_, err := p.originals.Modify(ctx, cm.Name, func(cm *corev1.ConfigMap) error {
		f(cm)
		return nil
	}, nil)
	return kube.AwaitChange(), err
}

// copy makes the copy of a ConfigMap.
func (p copier) copy(ctx context.Context, cm *corev1.ConfigMap) (err error) {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cm.Name}, Data: cm.Data}
	switch p.bug {
	case "fails if the copy exists":
		if cm.Annotations["copied"] == "" {
			_, err = p.copies.Create(ctx, made, nil)
		}
	case "remembers what it has done":
		made.Name, made.GenerateName = "", cm.Name+"-"
		if _, ok := p.made.Load(cm.Name); !ok && cm.Annotations["copied"] == "" {
			_, err = p.copies.Create(ctx, made, nil)
		}
		if err == nil {
			p.made.Store(cm.Name, true)
		}
	case "takes each error for absence":
		found, _ := p.copies.List(ctx, &kube.ListOptions{LabelSelector: "of=" + cm.Name})
		if found == nil || len(found.Items) == 0 {
			made.Name, made.GenerateName, made.Labels = "", cm.Name+"-", map[string]string{"of": cm.Name}
			_, err = p.copies.Create(ctx, made, nil)
		}
	case "makes copies again":
		if cm.Annotations["copied"] == "" {
			_ = p.copies.Delete(ctx, cm.Name, nil)
			_, err = p.copies.Create(ctx, made, nil)
		}
	default:
		_, err = p.copies.Apply(ctx, made, &kube.ApplyOptions{FieldManager: "copier"})
	}
	return err
}

// permissions returns the roles of the program, and bindings for the user jane.
func permissions(t *testing.T, verbs string) (objects []kube.Object) {
	t.Helper()
	docs := strings.NewReader(strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: copier}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [VERBS]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: copier}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: copier}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}]
`, "VERBS", verbs))
	for doc, err := range kube.Documents(docs, nil) {
		obj := &unstructured.Unstructured{}
		if err == nil {
			err = doc.Decode(obj)
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// exploreCopier explores the program.
func exploreCopier(t *testing.T, bug string) {
	t.Helper()
	verbs := "get, list, watch, create, update, patch, delete"
	if bug == "may not delete" {
		verbs = "get, list, watch, create, patch"
	}
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Options: &kubetest.Options{Objects: append(permissions(t, verbs),
				configMap("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "copies"}},
			)},
			User:    "jane",
			Program: runCopier(bug),
			Story: func(s *kubetest.Server) {
				originals := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "shop")
				if _, err := originals.Create(t.Context(), configMap("b"), nil); err != nil {
					t.Fatal(err)
				}
				s.Settle()
				if err := originals.Delete(t.Context(), "a", nil); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestExploreAcceptsProgramsThatTolerateFaults(t *testing.T) { exploreCopier(t, "") }

// exploredTests explores a scenario and returns the names of its tests.
func exploredTests(t *testing.T, scenario func() *kubetest.Scenario) (names []string) {
	t.Helper()
	var mu sync.Mutex
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, path.Base(t.Name()))
		return scenario()
	})
	return names
}

func TestNoOtherClientChangesAnObjectBeforeItIsCreated(t *testing.T) {
	names := exploredTests(t, func() *kubetest.Scenario {
		return &kubetest.Scenario{Program: func(ctx context.Context, c *kube.Client) (err error) {
			maps := kube.Namespaced[corev1.ConfigMap](c, "default")
			for _, value := range []string{"1", "2"} {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"n": value}}
				if _, err = maps.Apply(ctx, cm, &kube.ApplyOptions{FieldManager: "a"}); err != nil {
					return err
				}
			}
			return nil
		}}
	})
	const other = "another_client_before_PATCH_configmaps_default_a"
	if slices.Contains(names, other) || !slices.Contains(names, other+"_2") {
		t.Errorf("the tests are %q, want another client before the second apply, and not before the first one", names)
	}
}

func TestDeletesOfSeveralObjectsHaveFaults(t *testing.T) {
	names := exploredTests(t, func() *kubetest.Scenario {
		return &kubetest.Scenario{
			Options: &kubetest.Options{Objects: []kube.Object{configMap("a"), configMap("b")}},
			Ignore:  func(obj *unstructured.Unstructured) bool { return obj.GetName() == "b" }, // which is deleted last
			Program: func(ctx context.Context, c *kube.Client) error {
				return kube.Namespaced[corev1.ConfigMap](c, "shop").DeleteCollection(ctx, nil, nil)
			},
		}
	})
	if !slices.Contains(names, "crash_after_DELETE_configmaps_shop") {
		t.Errorf("the tests are %q, want a crash after the delete", names)
	}
}

// bugEnv is set in the process that tests a program with a bug.
const bugEnv = "KUBETEST_BUG"

func TestExploreFindsBugs(t *testing.T) {
	for bug, tt := range map[string]struct {
		fault string // the name of its test, or empty for all tests
		want  []string
	}{
		"forgets deletions": {
			"outage_at_story_DELETE_configmaps_shop_a", []string{"configmaps copies/a exists, but not without faults"},
		},
		"fails if the copy exists": {
			"crash_after_POST_configmaps_copies_b",
			[]string{`shop/b: metadata.annotations.copied is absent, without faults "true"`},
		},
		"remembers what it has done": {
			"crash_after_POST_configmaps_copies_b-x", []string{"configmaps copies/b-* 2 exists, but not without faults"},
		},
		"makes copies again": {
			"cut_connections_after_POST_configmaps_copies_b",
			[]string{"configmaps copies/b was deleted 1 times, without faults 0 times"},
		},
		"takes each error for absence": {"", []string{ // after one of the later lists
			"fault:   error for GET configmaps/copies ", "-* 2 exists, but not without faults",
		}},
		"overwrites": {
			"another_client_before_PUT_configmaps_shop_b", []string{
				"the program has undone the change of another client: the annotation", "configmaps/b",
			},
		},
		"may not delete": {"", []string{
			`the program lacks a permission: configmaps "a" is forbidden: User "jane" cannot delete resource "configmaps" in API ` +
				`group "" in the namespace "copies"`,
		}},
		"changes objects every minute": {"", []string{
			"objects still change after 4h0m0s: configmaps shop/", "has changed 10 times in the last 10m0s",
			"set Scenario.Quiet to a shorter time",
		}},
		"requests without end": {"", []string{
			"a program is in an endless loop: it has sent GET /api/v1/namespaces/shop/configmaps/a 10001 times in a minute",
		}},
		"ends with an error": {"", []string{"the program has ended: out of order"}},
		"panics":             {"", []string{"the program panics: out of order", "to repeat: go test -run"}},
		"does not end with its context": {"", []string{
			"the program has not returned within 1h0m0s after its context had ended",
		}},
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			findsBug(t, bug, exploreCopier, tt.fault, tt.want...)
		})
	}
}

// findsBug checks that the test of a program with a bug fails, and that its output has some texts. It runs in another
// process, and there only the subtest whose name ends with sub, unless that is empty.
func findsBug(t *testing.T, bug string, explore func(t *testing.T, bug string), sub string, want ...string) {
	t.Helper()
	if os.Getenv(bugEnv) != "" {
		explore(t, bug)
		return
	}
	run := "^" + t.Name() + "$"
	if sub != "" {
		run = "^" + t.Name() + "/.*/" + sub + "$"
	}
	test := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+run)
	test.Env = append(os.Environ(), bugEnv+"=1")
	output, err := test.CombinedOutput()
	if err == nil {
		t.Error("the test succeeds, want a failure")
	}
	for _, text := range append(want, sub) {
		if !strings.Contains(string(output), text) {
			t.Errorf("the output does not contain %q:\n%s", text, output)
		}
	}
}

func TestExploreOfAProgramThatRenewsALease(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Quiet:  time.Minute,
			Ignore: func(obj *unstructured.Unstructured) bool { return obj.GetName() == "heartbeat" },
			Program: func(ctx context.Context, c *kube.Client) error {
				m := kube.NewManager(c, &kube.ManagerOptions{LeaderElection: "shop"}) // a lease in the default namespace
				maps := kube.Namespaced[corev1.ConfigMap](c, "default")
				m.Add(kube.NewController(kube.For[corev1.ConfigMap](kube.NewCache(c, nil)), nil).With(
					func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
						_, err := maps.Apply(ctx, &corev1.ConfigMap{
							ObjectMeta: metav1.ObjectMeta{Name: "heartbeat"}, Data: map[string]string{"time": time.Now().String()},
						}, &kube.ApplyOptions{FieldManager: "heart"})
						return kube.RequeueAfter(30 * time.Second), err
					},
				))
				return m.Run(ctx)
			},
			Story: func(s *kubetest.Server) {
				maps := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "default")
				if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Minute)
			},
		}
	})
}

func TestStoriesCutTheConnectionsOfPrograms(t *testing.T) {
	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario {
		var watches atomic.Int32
		count := func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") != "" {
					watches.Add(1)
				}
				return next.RoundTrip(r)
			})
		}
		return &kubetest.Scenario{
			Options: &kubetest.Options{Objects: []kube.Object{
				configMap("a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "copies"}},
			}},
			Program: func(ctx context.Context, c *kube.Client) error {
				c, err := kube.NewClient(ctx, &kube.ClientOptions{Share: c, Middleware: []kube.Middleware{count}})
				if err != nil {
					return err
				}
				return runCopier("")(ctx, c)
			},
			Story: func(s *kubetest.Server) {
				s.Settle()
				before := watches.Load()
				s.CloseConnections()
				<-time.After(10 * time.Second)
				if watches.Load() == before {
					t.Error("the watch of the program is not cut")
				}
			},
		}
	})
}

func TestRequestsAfterSettleHaveNoLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{configMap("a")}})
		s.Settle()
		maps := kube.Namespaced[corev1.ConfigMap](s.Client(nil), "shop")
		for range 10_001 { // one more than while Settle waits
			if _, err := maps.Get(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A program with a schedule may wake up at the moment at which Settle stops to wait.
func TestExploreWaitsForRetriesAtTheEnd(t *testing.T) {
	kubetest.Explore(t, func(*testing.T) *kubetest.Scenario {
		return &kubetest.Scenario{
			Program: func(ctx context.Context, c *kube.Client) error {
				delay := 10 * time.Minute
				for {
					select {
					case <-time.After(delay):
					case <-ctx.Done():
						return nil
					}
					b := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
					_, err := kube.Namespaced[corev1.ConfigMap](c, "default").Create(ctx, b, nil)
					if err == nil || errors.Is(err, kube.ErrAlreadyExists) {
						<-ctx.Done()
						return nil
					}
					delay = time.Second
				}
			},
		}
	})
}
