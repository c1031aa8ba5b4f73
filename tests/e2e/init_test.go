// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// TestNewProjectBuildsAndReconciles checks that a project created by kube-derive init, with a release of the modules,
// builds, passes its tests, and reconciles objects of a cluster, outside of the cluster and in it.
func TestNewProjectBuildsAndReconciles(t *testing.T) {
	t.Parallel()
	proxy, version := publish(t)
	u := newUser(t, proxy)
	const group = "shop.e2e.example.com"
	command := strings.Replace(initCommand(t), "@latest ", "@"+version+" ", 1)
	next := u.run(t, command+" --group "+group)
	if !strings.Contains(next, "cd shop\n  make test") {
		t.Errorf("kube-derive init prints %q, want the next steps", next)
	}
	home := u
	u.dir = filepath.Join(u.dir, "shop")

	c := connect(t, nil)
	definitions := kube.Dynamic(c, kube.CRDResource())
	t.Cleanup(func() { deleteNow(t, definitions, "orders."+group) })
	u.run(t, "make build test lint verify")
	checkLinked(t, filepath.Join(u.dir, "bin", "order-controller"), version, "core", "client", "runtime", "kube")
	u.run(t, "go test -count=1 ./test/e2e") // the command of make e2e, with the kubeconfig of this test

	ns := newNamespace(t, c)
	stop := u.start(t, "make run")
	resource := kube.Resource{Group: group, Version: "v1", Kind: "Order", Plural: "orders", Namespaced: true}
	orders := kube.Dynamic(c, resource).In(ns)
	sample := readObjects(t, filepath.Join(u.dir, "config/samples/order.yaml"))[0]
	sample.SetNamespace("")
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	foreign := create(t, maps, "order-taken", "of a user")
	eventually(t, "the kind is served", func(ctx context.Context) error {
		_, err := orders.Create(ctx, sample, nil)
		return err
	})
	published := func(cm *corev1.ConfigMap) error {
		if cm.Data["message"] != "Hello, world." {
			return fmt.Errorf("message = %q, want %q", cm.Data["message"], "Hello, world.")
		}
		return nil
	}
	if _, err := kube.Await(limit(t), maps, "order-order-sample", published, nil); err != nil {
		t.Error(err)
	}
	checkForeign(t, maps, orders, foreign)
	if err := kube.DeleteAndWait(limit(t), orders, "order-sample", nil); err != nil {
		t.Error(err)
	}
	stop()

	if err := kube.DeleteAndWait(limit(t), definitions, "orders."+group, nil); err != nil {
		t.Fatal(err)
	}
	u.extend(t)
	testOutside(t, u, group)
	together(t, map[string]func(*testing.T){
		"in a cluster":  func(t *testing.T) { testDeployed(t, u, group) },
		"with webhooks": func(t *testing.T) { home.startWithWebhooks(t, command) },
	})
}

// checkForeign checks that an order named taken does not take over the ConfigMap of its name, which is foreign, and
// that the order reports it.
func checkForeign(
	t *testing.T, maps *kube.API[corev1.ConfigMap], orders *kube.API[unstructured.Unstructured], foreign *corev1.ConfigMap,
) {
	t.Helper()
	order := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "taken"}, "spec": map[string]any{"message": "I take it"},
	}}
	if _, err := orders.Create(limit(t), order, nil); err != nil {
		t.Fatal(err)
	}
	_, err := kube.Await(limit(t), orders, "taken", func(order *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(order.Object, "status", "conditions")
		if text := fmt.Sprint(conditions); !strings.Contains(text, "reason:NameTaken status:False") {
			return fmt.Errorf("the conditions are %s, want NameTaken", text)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.DeleteAndWait(limit(t), orders, "taken", nil); err != nil {
		t.Error(err)
	}
	got, err := maps.Get(limit(t), foreign.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(foreign, got); diff != "" {
		t.Errorf("the ConfigMap of a user has changed (-before +after):\n%s", diff)
	}
}

// testOutside checks that make run and make e2e serve the webhooks of a project outside of the cluster, and that the
// manifests of make deploy replace what make run has installed.
func testOutside(t *testing.T, u user, group string) {
	t.Helper()
	c := connect(t, nil)
	manifests := func(folder string) (objects []*unstructured.Unstructured) {
		for _, name := range []string{"crd/" + group + "_orders", "crd/" + group + "_invoices", "webhook/manifests"} {
			if path := filepath.Join(u.dir, "config", name+".yaml"); strings.HasPrefix(name, folder) {
				objects = append(objects, readObjects(t, path)...)
			}
		}
		return objects
	}
	deploy := func(objects []*unstructured.Unstructured) {
		mapper := kube.NewMapper(c, nil)
		for _, obj := range objects {
			api, err := mapper.Dynamic(limit(t), obj)
			if err != nil {
				t.Fatal(err)
			}
			// As kubectl apply --server-side does.
			if _, err := api.Apply(limit(t), obj, &kube.ApplyOptions{FieldManager: "kubectl"}); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { deleteNow(t, api, obj.GetName()) })
		}
	}
	kind := kube.Resource{Group: group, Version: "v2", Kind: "Invoice", Plural: "invoices", Namespaced: true}
	deploy(manifests("crd"))
	for range 2 { // also after a deployment
		stop := u.start(t, "make run WEBHOOKS="+freeAddr(t))
		eventually(t, "the kind is served", func(ctx context.Context) error {
			_, err := kube.Dynamic(c, kind).List(ctx, nil)
			return err
		})
		checkWebhooks(t, c, kind)
		ns := newNamespace(t, c)
		order := kube.Resource{Group: group, Version: "v1", Kind: "Order", Plural: "orders", Namespaced: true}
		both := []*kube.API[unstructured.Unstructured]{kube.Dynamic(c, kind).In(ns), kube.Dynamic(c, order).In(ns)}
		for _, objects := range both { // of one name, but with different ConfigMaps
			checkReconciled(t, c, objects, "hello")
		}
		for _, objects := range both {
			if err := kube.DeleteAndWait(limit(t), objects, "hello", nil); err != nil {
				t.Error(err)
			}
		}
		stop()
		deploy(manifests(""))
	}
	u.env = append(u.env, "WEBHOOKS="+freeAddr(t))
	u.run(t, "go test -count=1 ./test/e2e")
	for _, obj := range manifests("") {
		api, err := kube.NewMapper(c, nil).Dynamic(limit(t), obj)
		if err != nil {
			t.Fatal(err)
		}
		if err := kube.DeleteAndWait(limit(t), api, obj.GetName(), nil); err != nil {
			t.Error(err)
		}
	}
}

// startWithWebhooks starts a project with webhooks from the beginning.
func (u user) startWithWebhooks(t *testing.T, command string) {
	t.Helper()
	before, ok := strings.CutSuffix(command, " shop")
	if !ok {
		t.Fatalf("%s: want a command that ends with the directory", command)
	}
	u.run(t, before+" --webhook hooks")
	u.dir = filepath.Join(u.dir, "hooks")
	u.run(t, "make build test verify")
	u.webhooks(t)
}

// extend adds to a new project what kube-derive add can add.
func (u user) extend(t *testing.T) {
	t.Helper()
	for _, part := range []struct{ what, file string }{
		{"kind Invoice", "internal/controller/invoice.go"},
		{"version Invoice v2", "api/v2/invoice_conversion.go"},
		{"webhook Invoice --validate --mutate", "internal/webhook/invoice_validate.go"},
	} {
		if got := u.run(t, "go tool kube-derive add "+part.what); !strings.Contains(got, "created "+part.file+"\n") {
			t.Errorf("kube-derive add %s prints %q, want %s among the created files", part.what, got, part.file)
		}
	}
	u.run(t, "make build test lint verify")
}

// initCommand returns the command in the README that creates a project.
func initCommand(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n### Start a project\n")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := goCommands(section) // the others extend the project, see extend
	if len(commands) == 0 || !strings.Contains(commands[0], "@latest init ") {
		t.Fatalf("the commands in the README that start a project are %q, want init as the first one", commands)
	}
	return commands[0]
}

// start runs a command until stop is called. Like Ctrl-C in a terminal, stop interrupts the process group of the
// command.
func (u user) start(t *testing.T, line string) (stop func()) {
	t.Helper()
	args := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	output := transcript{record: recorder.Writer(args[0])}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = u.dir, u.env, &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // make fails because it is interrupted
		if text := output.String(); !strings.Contains(text, "reconciled") || strings.Contains(text, "order-controller: ") {
			t.Errorf("output of %s:\n%s", line, text)
		}
	}
}

// readObjects returns the objects in a file.
func readObjects(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		objects = append(objects, obj)
	}
	return objects
}
