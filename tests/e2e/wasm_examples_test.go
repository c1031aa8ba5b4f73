// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	docsv1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	moosev1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/wasm/host"
)

// TestExamplesBehaveTheSameAsModules runs examples as processes, and then, from the same source, as modules of a
// host. In the end, each has written the same objects. The test has a cluster of its own, since the examples run for
// the objects of all namespaces.
func TestExamplesBehaveTheSameAsModules(t *testing.T) {
	t.Parallel()
	kubeconfig := ownKubeconfig(t, &cluster.Options{})
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, &kube.ClientOptions{Config: cfg})
	for _, program := range []struct {
		name  string
		args  []string
		story func(*testing.T, *kube.Client) map[string]string
	}{
		{"document-controller", []string{"-install", "-dir="}, documentStory},
		{"moose", nil, mooseStory},
		{"restarts", nil, restartsStory},
		{"hello-controller", nil, helloStory},
	} {
		t.Run(program.name, func(t *testing.T) {
			process := call{program: program.name, args: program.args, env: []string{"KUBECONFIG=" + kubeconfig}}.start(t)
			want := program.story(t, c)
			if got := process.stop(); got.code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0:\n%s", got.code, got.stderr)
			}

			module := host.Module{
				Name: program.name, Args: program.args, Binary: buildInGo(t, "github.com/kube-go/sdk/examples/"+program.name),
			}
			h, err := host.New(t.Context(), c, &host.Options{Logger: debugLogger(t)})
			if err != nil {
				t.Fatal(err)
			}
			background(t, h.Run)
			if err := h.Set(whileCompiling(t), module); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, program.story(t, c)); diff != "" {
				t.Errorf("the objects of the process (-) are not those of the module (+):\n%s", diff)
			}
			if s := h.Status(); s[0].Stats.Failures > 0 {
				t.Errorf("the module has failed: %v", s[0].Err)
			}
		})
	}
}

// Values that differ between two runs.
var (
	uids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	tags  = regexp.MustCompile(`tag-[0-9a-f]{8}`)
	times = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z`)
)

// withoutChance returns the text of an object without the values that differ between two runs.
func withoutChance(t *testing.T, obj metav1.Object) string {
	t.Helper()
	ns := obj.GetNamespace()
	obj.SetResourceVersion("")
	managed := obj.GetManagedFields() // the server orders them by their times
	slices.SortFunc(managed, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(a.Manager, b.Manager), strings.Compare(string(a.Operation), string(b.Operation)),
			strings.Compare(a.Subresource, b.Subresource))
	})
	text, err := json.MarshalIndent(obj, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	out := uids.ReplaceAllString(string(text), "UID")
	out = times.ReplaceAllString(tags.ReplaceAllString(out, "TAG"), "TIME")
	return strings.ReplaceAll(out, ns, "NAMESPACE")
}

// storyNamespace creates a namespace and waits until a kind is served.
func storyNamespace(t *testing.T, c *kube.Client, served func(ctx context.Context, ns string) error) string {
	t.Helper()
	ns := newNamespace(t, c)
	eventually(t, "the kind is served", func(ctx context.Context) error { return served(ctx, ns) })
	return ns
}

// documentStory writes documents, and returns what the controller has made of them.
func documentStory(t *testing.T, c *kube.Client) map[string]string {
	t.Helper()
	ns := storyNamespace(t, c, func(ctx context.Context, ns string) error {
		_, err := kube.Namespaced[docsv1.Document](c, ns).List(ctx, nil)
		return err
	})
	docs, cms := kube.Namespaced[docsv1.Document](c, ns), kube.Namespaced[corev1.ConfigMap](c, ns)
	author := &kube.ApplyOptions{FieldManager: "author"}
	write := func(name, body string) *docsv1.Document {
		spec := docsv1.DocumentSpec{Title: name, Body: body, Format: docsv1.FormatMarkdown}
		doc, err := docs.Apply(limit(t), docsv1.NewDocument("", name, spec), author)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	reported := func(name string, generation int64, status metav1.ConditionStatus) {
		ready := kube.StatusCondition[docsv1.Document](docsv1.ConditionReady, status)
		if _, err := kube.Await(limit(t), docs, name, func(doc *docsv1.Document) error {
			if doc.Status.ObservedGeneration != generation {
				return fmt.Errorf("generation %d was observed, want %d", doc.Status.ObservedGeneration, generation)
			}
			return ready(doc)
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	good, bad := write("good", "# one\n\ntwo"), write("bad", "```\nnever closed")
	reported("good", 1, metav1.ConditionTrue)
	reported("bad", 1, metav1.ConditionFalse)
	write("good", "three")
	reported("good", 2, metav1.ConditionTrue)
	restored := func(cm *corev1.ConfigMap) error {
		if !strings.Contains(cm.Data["index.html"], "three") {
			return fmt.Errorf("data = %q, want the text of the document", cm.Data)
		}
		return nil
	}
	overwritten := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "good"}, Data: map[string]string{"index.html": "overwritten"},
	}
	if _, err := cms.Apply(limit(t), overwritten, &kube.ApplyOptions{FieldManager: "vandal", Force: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Await(limit(t), cms, "good", restored, nil); err != nil {
		t.Fatal(err)
	}

	out := make(map[string]string)
	for _, name := range []string{"good", "bad"} {
		doc, err := docs.Get(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		out["document "+name] = withoutChance(t, doc)
	}
	for cm, err := range cms.All(limit(t), &kube.ListOptions{FieldSelector: "metadata.name=good"}) {
		if err != nil {
			t.Fatal(err)
		}
		out["configmap "+cm.Name] = withoutChance(t, cm)
	}
	for _, doc := range []*docsv1.Document{good, bad} {
		if err := docs.Delete(limit(t), doc.Name, nil); err != nil {
			t.Fatal(err)
		}
		if err := kube.AwaitGone(limit(t), docs, doc.Name, doc.UID, nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the events", func(ctx context.Context) error {
		found := make(map[string]bool)
		for e, err := range kube.Namespaced[eventsv1.Event](c, ns).All(ctx, nil) {
			if err != nil {
				return err
			}
			found[fmt.Sprint(e.Regarding.Name, e.Type, e.Reason, e.Action, e.Note, e.ReportingController)] = true
		}
		out["events"] = strings.Join(slices.Sorted(maps.Keys(found)), "\n")
		if len(found) < 2 {
			return fmt.Errorf("events %q, want Rendered and Invalid", out["events"])
		}
		return nil
	})
	return out
}

// mooseStory creates mooses, and returns what the machine has made of them.
func mooseStory(t *testing.T, c *kube.Client) map[string]string {
	t.Helper()
	ns := storyNamespace(t, c, func(ctx context.Context, ns string) error {
		_, err := kube.Namespaced[moosev1.Moose](c, ns).List(ctx, nil)
		return err
	})
	mooses := kube.Namespaced[moosev1.Moose](c, ns)
	create := func(name string, weight int32) *moosev1.Moose {
		moose, err := mooses.Create(limit(t), &moosev1.Moose{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: moosev1.MooseSpec{Weight: weight},
		}, &kube.CreateOptions{FieldManager: "ranger"})
		if err != nil {
			t.Fatal(err)
		}
		return moose
	}
	released := func(weight int32) *moosev1.Moose {
		elk, err := kube.Await(limit(t), mooses, "elk", func(m *moosev1.Moose) error {
			if p := m.Status.FSM; p == nil || p.State != "Released" || m.Status.Weight != weight {
				return fmt.Errorf("position %+v and weight %d, want Released with %d", p, m.Status.Weight, weight)
			}
			return kube.StatusCondition[moosev1.Moose]("Ready", metav1.ConditionTrue)(m)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return elk
	}
	out := make(map[string]string)
	create("elk", 90)
	calf := create("calf", 100_000)
	out["three meals"] = withoutChance(t, released(90))
	if _, err := mooses.Patch(limit(t), "elk", kube.MergePatch(map[string]any{"spec": map[string]any{"weight": 120}}),
		&kube.PatchOptions{FieldManager: "ranger"}); err != nil {
		t.Fatal(err)
	}
	out["another meal"] = withoutChance(t, released(120))

	if err := mooses.Delete(limit(t), "calf", nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(limit(t), mooses, "calf", calf.UID, nil); err != nil {
		t.Fatal(err)
	}
	if err := mooses.Delete(limit(t), "elk", nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(limit(t), mooses, "elk", "", nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// restartsStory reports restarts of pods, and returns what the controller has made of the pods.
func restartsStory(t *testing.T, c *kube.Client) map[string]string {
	t.Helper()
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	restart := func(name string, counts ...int32) {
		_, err := pods.Status().Modify(limit(t), name, func(pod *corev1.Pod) error {
			pod.Status.ContainerStatuses = nil
			for i, n := range counts {
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
					corev1.ContainerStatus{Name: pod.Spec.Containers[i].Name, RestartCount: n})
			}
			return nil
		}, &kube.ModifyOptions{FieldManager: "node"})
		if err != nil {
			t.Fatal(err)
		}
	}
	labelled := func(name string) *corev1.Pod {
		pod, err := kube.Await(limit(t), pods, name, func(pod *corev1.Pod) error {
			if got := pod.Labels["restarts"]; got != "many" {
				return fmt.Errorf("the label restarts is %q, want many", got)
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	for _, name := range []string{"healthy", "broken"} {
		_, err := pods.Create(limit(t), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
			Spec: corev1.PodSpec{
				SchedulerName:                "nobody", // the usual one would write a condition at any time
				Containers:                   []corev1.Container{{Name: "main", Image: "none"}, {Name: "sidecar", Image: "none"}},
				AutomountServiceAccountToken: new(false), // the server would add a volume with a random name
			},
		}, &kube.CreateOptions{FieldManager: "user"})
		if err != nil {
			t.Fatal(err)
		}
	}
	restart("healthy", 2, 2)
	restart("broken", 2, 3)
	out := map[string]string{"broken": withoutChance(t, labelled("broken"))}
	healthy, err := pods.Get(limit(t), "healthy", nil)
	if err != nil {
		t.Fatal(err)
	}
	if healthy.Labels["restarts"] != "" {
		t.Errorf("the pod with 4 restarts has the labels %v", healthy.Labels)
	}
	out["healthy"] = withoutChance(t, healthy)
	restart("healthy", 2, 3)
	out["healthy no more"] = withoutChance(t, labelled("healthy"))
	return out
}

// helloStory creates ConfigMaps, and returns what the controller has made of them.
func helloStory(t *testing.T, c *kube.Client) map[string]string {
	t.Helper()
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	out := make(map[string]string)
	for name, labels := range map[string]map[string]string{"ann": {"hello": "please"}, "bob": nil} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := maps.Create(limit(t), cm, &kube.CreateOptions{FieldManager: "user"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kube.Await(limit(t), maps, "ann", func(cm *corev1.ConfigMap) error {
		if got := cm.Data["greeting"]; got != "hello, ann" {
			return fmt.Errorf("the greeting is %q, want hello, ann", got)
		}
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob"} {
		cm, err := maps.Get(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = withoutChance(t, cm)
	}
	return out
}
