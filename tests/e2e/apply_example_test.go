// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// The files for the example apply are not in the order in which they must be applied. NS stands for the namespace of
// the test, and GROUP for its API group.
const (
	manifestOfWidgets = `apiVersion: GROUP/v1
kind: Widget
metadata: {name: one}
spec: {size: 1}
`
	manifestOfConfig = `# Some programs write null timestamps and empty statuses.
apiVersion: v1
kind: ConfigMap
metadata: {name: config, creationTimestamp: null}
data: {a: "1"}
---
---
` + manifestOfOld + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec: {containers: [{name: main, image: "main:1", resources: {}}]}
status: {}
`
	manifestOfOld = `apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: NS}
`
	manifestOfKinds = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.GROUP"},"spec":{
  "group":"GROUP","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
  "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
)

// TestApplyExampleAppliesAndPrunes checks the output of the example apply from the first dry run to the last prune.
func TestApplyExampleAppliesAndPrunes(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	m := manifests{dir: t.TempDir(), ns: ns, group: ns + ".example.com"}
	removeCRD(t, c, "widgets."+m.group)
	m.write(t, "a.yaml", manifestOfWidgets)
	m.write(t, "b.yml", manifestOfConfig)
	m.write(t, "z.json", manifestOfKinds)
	m.write(t, "notes.txt", "not a manifest")
	const (
		crd    = "customresourcedefinitions.apiextensions.k8s.io widgets.GROUP"
		widget = "widgets.GROUP NS/one"
		config = "configmaps NS/config"
		old    = "configmaps NS/old"
		web    = "deployments.apps NS/web"
	)

	m.apply(t, "-applyset", "web", "-prune", "-dry-run").says(t, "a first dry run", 0, []string{
		crd + " created (dry run)",
		"Widget one created, not validated: its kind does not exist yet (dry run)",
		config + " created (dry run)", old + " created (dry run)", web + " created (dry run)",
	})
	m.apply(t, "-applyset", "web", "-prune").says(t, "the first run", 0, []string{
		crd + " created", widget + " created", config + " created", old + " created", web + " created",
	})
	awaitQuiet(t, c, ns, "web")
	m.apply(t, "-applyset", "web", "-prune").says(t, "a run without changes", 0, []string{
		crd + " unchanged", widget + " unchanged", config + " unchanged", old + " unchanged", web + " unchanged",
	})

	changed := strings.NewReplacer(`"1"`, `"2"`, manifestOfOld, "").Replace(manifestOfConfig)
	m.write(t, "b.yml", changed)
	m.apply(t, "-applyset", "web", "-prune", "-dry-run").says(t, "a dry run of a change", 0, []string{
		crd + " unchanged (dry run)", widget + " unchanged (dry run)",
		config + " configured (dry run)", web + " unchanged (dry run)", old + " pruned (dry run)",
	})
	m.apply(t, "-applyset", "web", "-prune").says(t, "a change", 0, []string{
		crd + " unchanged", widget + " unchanged", config + " configured", web + " unchanged", old + " pruned",
	})
	if err := kube.AwaitGone(limit(t), kube.Namespaced[corev1.ConfigMap](c, ns), "old", "", nil); err != nil {
		t.Error(err)
	}

	limited := kube.MergePatch(map[string]any{"spec": map[string]any{"revisionHistoryLimit": 3}})
	deployments := kube.Namespaced[appsv1.Deployment](c, ns)
	if _, err := deployments.Patch(limit(t), "web", limited, &kube.PatchOptions{FieldManager: "a person"}); err != nil {
		t.Fatal(err)
	}
	m.write(t, "b.yml", strings.Replace(changed, "replicas: 0", "replicas: 0\n  revisionHistoryLimit: 2", 1))
	m.apply(t, "-applyset", "web", "-prune").says(t, "a conflict", 1,
		[]string{crd + " unchanged", widget + " unchanged", config + " unchanged"},
		"DIR/b.yml, line N: apply "+web+": other field managers own fields with different values:",
		`  .spec.revisionHistoryLimit is owned by "a person", which updated it`,
		"  remove these fields from the file, or use -force to take ownership",
		"apply: 1 of 4 objects could not be applied",
	)
	m.apply(t, "-applyset", "web", "-force").says(t, "a forced apply", 0, []string{
		crd + " unchanged", widget + " unchanged", config + " unchanged", web + " configured",
	})
	got := m.apply(t, "-applyset", "configmap/other")
	n := strings.Count(got.stderr, "is part of another apply set, applyset-")
	if n != 4 || got.code != 1 || got.stdout != "" {
		t.Errorf("apply of another set: exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

// awaitQuiet waits until the controllers write no more changes to a deployment.
func awaitQuiet(t *testing.T, c *kube.Client, ns, name string) {
	t.Helper()
	_, err := kube.Await(limit(t), kube.Namespaced[appsv1.Deployment](c, ns), name, func(d *appsv1.Deployment) error {
		for _, cond := range d.Status.Conditions {
			if cond.Type == appsv1.DeploymentProgressing && cond.Reason == "NewReplicaSetAvailable" &&
				d.Status.ObservedGeneration == d.Generation {
				return nil
			}
		}
		return fmt.Errorf("conditions = %v, want the new replica set to be available", d.Status.Conditions)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// TestCustomResourceCanBeApplySetParent checks that an object of a custom kind can be the parent of an apply set if the
// definition of the kind permits it, and that the parent has the same labels and annotations as with kubectl.
func TestCustomResourceCanBeApplySetParent(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	plans := newWidgets(t, c, "parents").In(ns)
	m := manifests{dir: t.TempDir(), ns: ns, group: plans.Resource().Group}
	m.write(t, "a.yaml", manifestOfOld)
	const parent = "widgets.GROUP/plan"
	parentOf := []string{"-applyset", strings.Replace(parent, "GROUP", m.group, 1), "-prune"}
	m.apply(t, parentOf...).says(t, "a kind that is not permitted", 1, nil,
		"apply: apply set "+parent+": widgets.GROUP cannot be parents: use secret/plan or configmap/plan, "+
			"or set the label applyset.kubernetes.io/is-parent-type on the kind's definition")
	permit := kube.MergePatch([]byte(`{"metadata":{"labels":{"applyset.kubernetes.io/is-parent-type":"true"}}}`))
	if _, err := kube.Dynamic(c, kube.CRDResource()).Patch(limit(t), plans.Resource().String(), permit, nil); err != nil {
		t.Fatal(err)
	}
	m.apply(t, parentOf...).says(t, "a parent that does not exist", 1, nil,
		"apply: apply set "+parent+": Widget NS/plan does not exist: create it first")
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "plan"}}}
	if _, err := plans.Create(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	m.apply(t, parentOf...).says(t, "a new parent", 0, []string{"configmaps NS/old created"})
	m.write(t, "a.yaml", strings.Replace(manifestOfOld, "old", "new", 1))
	m.apply(t, append(parentOf, "-field-manager", "another")...).says(t, "another member and another field manager", 0,
		[]string{"configmaps NS/new created", "configmaps NS/old pruned"})
	now, err := plans.Metadata().Get(limit(t), "plan", nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("plan." + ns + ".Widget." + m.group))
	id := "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
	want := map[string]string{
		"applyset.kubernetes.io/tooling":               "kube-go-apply/v1.0.0",
		"applyset.kubernetes.io/contains-group-kinds":  "ConfigMap",
		"applyset.kubernetes.io/additional-namespaces": "",
	}
	if diff := cmp.Diff(want, now.Annotations); diff != "" || now.Labels["applyset.kubernetes.io/id"] != id {
		t.Errorf("the parent has the labels %v; annotations (-want +got):\n%s", now.Labels, diff)
	}
	const groupKinds = "applyset.kubernetes.io/contains-group-kinds"
	forget := kube.MergePatch([]byte(`{"metadata":{"annotations":{"` + groupKinds + `":null}}}`))
	if _, err := plans.Patch(limit(t), "plan", forget, nil); err != nil {
		t.Fatal(err)
	}
	m.apply(t, parentOf...).says(t, "a parent without the kinds of its members", 1, nil, "apply: apply set "+parent+
		": Widget NS/plan has no annotation "+groupKinds+", which lists the kinds of the members: restore it")
}

// manifests is a directory of manifests.
type manifests struct{ dir, ns, group string }

func (m manifests) write(t *testing.T, name, text string) {
	t.Helper()
	text = strings.NewReplacer("NS", m.ns, "GROUP", m.group).Replace(text)
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// apply runs the program for the directory. In its output, it replaces the names that are different in each run.
func (m manifests) apply(t *testing.T, args ...string) outcome {
	t.Helper()
	got := call{program: "apply", args: append([]string{"-n", m.ns, "-f", m.dir}, args...)}.run(t)
	names := strings.NewReplacer(m.group, "GROUP", m.ns, "NS", m.dir, "DIR")
	lines := regexp.MustCompile(`line \d+`)
	got.stdout = names.Replace(got.stdout)
	got.stderr = lines.ReplaceAllString(names.Replace(got.stderr), "line N")
	return got
}

// says compares the exit code and the lines of the output of a program.
func (o outcome) says(t *testing.T, name string, code int, stdout []string, stderr ...string) {
	t.Helper()
	text := func(lines []string) string {
		if len(lines) == 0 {
			return ""
		}
		return strings.Join(lines, "\n") + "\n"
	}
	if diff := cmp.Diff(outcome{code, text(stdout), text(stderr)}, o, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", name, diff)
	}
}

// removeCRD deletes a CustomResourceDefinition when the test ends.
func removeCRD(t *testing.T, c *kube.Client, name string) {
	t.Helper()
	t.Cleanup(func() {
		disc, err := kube.Discover(context.WithoutCancel(t.Context()), c, nil)
		if err != nil {
			t.Error(err)
			return
		}
		res, err := disc.Resolve("customresourcedefinitions")
		if err != nil {
			t.Error(err)
			return
		}
		if err := kube.Dynamic(c, res).Delete(context.WithoutCancel(t.Context()), name, nil); err != nil {
			t.Error(err)
		}
	})
}
