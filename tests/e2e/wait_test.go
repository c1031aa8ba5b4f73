// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// TestReadyFollowsTheControllers checks when objects are ready with the controllers of Kubernetes, for structs of
// k8s.io/api, lean structs and unstructured objects. No node runs the pods: the test writes their statuses.
func TestReadyFollowsTheControllers(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	background(t, func(ctx context.Context) error { return playKubelet(ctx, kube.Namespaced[corev1.Pod](c, ns)) })
	for name, test := range map[string]func(*testing.T, *kube.Client, string){
		"deployment":   testReadyDeployment,
		"stateful set": testReadyStatefulSet,
		"daemon set":   testReadyDaemonSet,
		"job":          testReadyJob,
		"service":      testReadyService,
		"pod":          testReadyPod,
		"definition":   testReadyDefinition,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c, ns)
		})
	}
}

// fate is the label of the phase that a pod shall have. A pod of the phase Running is ready.
const fate = "example.com/fate"

// playKubelet writes the statuses of pods.
func playKubelet(ctx context.Context, pods *kube.API[corev1.Pod]) error {
	for ev, err := range kube.Watch(ctx, pods, &kube.WatchOptions{LabelSelector: fate}) {
		if err != nil {
			return err
		}
		pod := ev.Object
		if ev.Type == kube.Deleted || pod == nil || pod.DeletionTimestamp != nil || string(pod.Status.Phase) == pod.Labels[fate] {
			continue
		}
		ready := corev1.ConditionFalse
		if pod.Labels[fate] == string(corev1.PodRunning) {
			ready = corev1.ConditionTrue
		}
		_, err := pods.Status().Patch(ctx, pod.Name, kube.MergePatch(map[string]any{"status": map[string]any{
			"phase":      pod.Labels[fate],
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		}}), nil)
		if err != nil && !errors.Is(err, kube.ErrNotFound) && !errors.Is(err, kube.ErrConflict) {
			return err
		}
	}
	return nil
}

// podTemplate returns the template of pods that no node runs.
func podTemplate(app, phase string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app, fate: phase}},
		Spec: corev1.PodSpec{
			NodeSelector:  map[string]string{"example.com/none": "true"},
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/none"}},
		},
	}
}

func selects(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// mustCreate creates an object.
func mustCreate[K any, P core.ObjectPtr[K]](t *testing.T, c *kube.Client, ns string, obj *K) *kube.API[K] {
	t.Helper()
	api := kube.Namespaced[K, P](c, ns)
	if _, err := api.Create(limit(t), obj, nil); err != nil {
		t.Fatal(err)
	}
	return api
}

// mustBeReady waits until an object is ready.
func mustBeReady[K any, P core.ObjectPtr[K]](t *testing.T, api *kube.API[K], name string) *K {
	t.Helper()
	obj, err := kube.Await[K, P](limit(t), api, name, kube.Ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// mustChange patches an object.
func mustChange[K any](t *testing.T, api *kube.API[K], name string, patch map[string]any) {
	t.Helper()
	if _, err := api.Patch(limit(t), name, kube.MergePatch(patch), nil); err != nil {
		t.Fatal(err)
	}
}

// notReady waits for the error of an object that does not become ready, which must contain a text.
func notReady[K any, P core.ObjectPtr[K]](t *testing.T, api *kube.API[K], name, want string) {
	t.Helper()
	_, err := kube.Await[K, P](limit(t), api, name, func(obj *K) error {
		if err := kube.Ready(obj); err == nil || !strings.Contains(err.Error(), want) {
			return errors.Join(errors.New("want a reason with "+want), err)
		}
		return nil
	}, nil)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// fails waits for an error that ends the wait before its deadline.
func fails[K any, P core.ObjectPtr[K]](t *testing.T, api *kube.API[K], name, want string) {
	t.Helper()
	_, err := kube.Await[K, P](limit(t), api, name, kube.Ready, nil)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
		t.Errorf("Await(%s) = %v, want a final error with %q", name, err, want)
	}
}

// leanDeployment declares only the fields that matter for the readiness of a Deployment.
type leanDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas *int32 `json:"replicas,omitempty"`
		Paused   bool   `json:"paused,omitempty"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Replicas           int32              `json:"replicas,omitempty"`
		UpdatedReplicas    int32              `json:"updatedReplicas,omitempty"`
		AvailableReplicas  int32              `json:"availableReplicas,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

func (*leanDeployment) KubeResource() kube.Resource {
	return kube.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Namespaced: true}
}

func testReadyDeployment(t *testing.T, c *kube.Client, ns string) {
	deployments := mustCreate(t, c, ns, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: selects("web"), Template: podTemplate("web", "Pending"),
			ProgressDeadlineSeconds: new(int32(600)),
		},
	})
	lean := kube.Namespaced[leanDeployment](c, ns)
	notReady(t, deployments, "web", "0 of 2 replicas are available")
	template := func(phase string) map[string]any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{fate: phase}}}
	}
	mustChange(t, deployments, "web", map[string]any{"spec": map[string]any{"template": template("Running")}})
	status := mustBeReady(t, deployments, "web").Status
	if status.AvailableReplicas != 2 || status.UpdatedReplicas != 2 || status.Replicas != 2 {
		t.Errorf("status = %+v of a deployment that is ready", status)
	}
	mustBeReady(t, lean, "web")
	mustBeReady(t, kube.Dynamic(c, lean.Resource()).In(ns), "web")
	current := &kube.ListOptions{LabelSelector: "app=web," + fate + "=Running"}
	sets, err := kube.Namespaced[appsv1.ReplicaSet](c, ns).List(limit(t), current)
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("replica sets = %v, %v", sets, err)
	}
	mustBeReady(t, kube.Namespaced[appsv1.ReplicaSet](c, ns), sets.Items[0].Name)

	mustChange(t, deployments, "web", map[string]any{"spec": map[string]any{"paused": true, "template": template("Pending")}})
	notReady(t, deployments, "web", "it is paused: 0 of 2 replicas are updated")
	notReady(t, lean, "web", "it is paused: 0 of 2 replicas are updated")
	mustChange(t, deployments, "web", map[string]any{"spec": map[string]any{"paused": false, "progressDeadlineSeconds": 1}})
	fails(t, deployments, "web", "condition Progressing is False: ProgressDeadlineExceeded")
	fails(t, lean, "web", "condition Progressing is False: ProgressDeadlineExceeded")
	mustChange(t, deployments, "web", map[string]any{"spec": map[string]any{"progressDeadlineSeconds": 600, "template": template("Running")}})
	if _, err := kube.Await(limit(t), deployments, "web", func(d *appsv1.Deployment) error {
		if err := kube.Ready(d); err != nil { // the condition of the earlier template passes
			return errors.New(err.Error())
		}
		return nil
	}, nil); err != nil {
		t.Error(err)
	}
}

func testReadyStatefulSet(t *testing.T, c *kube.Client, ns string) {
	sets := mustCreate(t, c, ns, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(2)), Selector: selects("db"), Template: podTemplate("db", "Running")},
	})
	mustBeReady(t, sets, "db")
	change := func(version string, strategy map[string]any) {
		t.Helper()
		labels := map[string]any{"metadata": map[string]any{"labels": map[string]any{"version": version}}}
		mustChange(t, sets, "db", map[string]any{"spec": map[string]any{"template": labels, "updateStrategy": strategy}})
	}
	versions := func() string {
		t.Helper()
		var all []string
		for p, err := range kube.Namespaced[corev1.Pod](c, ns).All(limit(t), &kube.ListOptions{LabelSelector: "app=db"}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimSuffix(p.Name+"-"+p.Labels["version"], "-"))
		}
		return strings.Join(all, " ")
	}
	change("b", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": 1}})
	mustBeReady(t, sets, "db")
	if got := versions(); got != "db-0 db-1-b" {
		t.Errorf("pods after an update with a partition = %s", got)
	}
	change("b", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": 0}})
	if mustBeReady(t, sets, "db"); versions() != "db-0-b db-1-b" {
		t.Errorf("pods after the update = %s", versions())
	}
	change("c", map[string]any{"type": "OnDelete", "rollingUpdate": nil})
	if mustBeReady(t, sets, "db"); versions() != "db-0-b db-1-b" {
		t.Errorf("pods after a change with the strategy OnDelete = %s", versions())
	}
}

func testReadyDaemonSet(t *testing.T, c *kube.Client, ns string) {
	mustBeReady(t, mustCreate(t, c, ns, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selects("agent"), Template: podTemplate("agent", "Running")},
	}), "agent")
}

func testReadyJob(t *testing.T, c *kube.Client, ns string) {
	job := func(name, phase string, suspend bool) *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)), Suspend: new(suspend), Template: podTemplate(name, phase),
		}}
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		return j
	}
	jobs := mustCreate(t, c, ns, job("good", "Succeeded", true))
	notReady(t, jobs, "good", "it is suspended")
	mustChange(t, jobs, "good", map[string]any{"spec": map[string]any{"suspend": false}})
	mustBeReady(t, jobs, "good")
	mustCreate(t, c, ns, job("bad", "Failed", false))
	fails(t, jobs, "bad", "condition Failed is True: BackoffLimitExceeded")
}

func testReadyService(t *testing.T, c *kube.Client, ns string) {
	service := func(name string, typ corev1.ServiceType) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: typ, Ports: []corev1.ServicePort{{Port: 80}},
		}}
	}
	services := mustCreate(t, c, ns, service("internal", corev1.ServiceTypeClusterIP))
	mustBeReady(t, services, "internal")
	mustCreate(t, c, ns, service("public", corev1.ServiceTypeLoadBalancer))
	notReady(t, services, "public", "the load balancer has no address")
	ip := wait.JSONPath[corev1.Service]("{.status.loadBalancer.ingress[0].ip}", "")
	done := make(chan error, 1)
	go func() {
		_, err := kube.Await(limit(t), services, "public", ip, nil)
		done <- err
	}()
	patch := kube.MergePatch(map[string]any{"status": map[string]any{
		"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}},
	}})
	if _, err := services.Status().Patch(limit(t), "public", patch, nil); err != nil {
		t.Fatal(err)
	}
	mustBeReady(t, services, "public")
	awaitValue(t, done, nil)
}

func testReadyPod(t *testing.T, c *kube.Client, ns string) {
	build := func(name, phase string) *corev1.Pod {
		template := podTemplate(name, phase)
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels}, Spec: template.Spec}
	}
	pods := mustCreate(t, c, ns, build("running", "Running"))
	running := kube.JSONPath[corev1.Pod]("{.status.phase}", "Running")
	if _, err := kube.Await(limit(t), pods, "running", running, nil); err != nil {
		t.Error(err)
	}
	mustBeReady(t, pods, "running")
	objects := kube.Dynamic(c, pods.Resource()).In(ns)
	ready := kube.JSONPath[unstructured.Unstructured](`{.status.conditions[?(@.type=="Ready")].status}`, "True")
	if _, err := kube.Await(limit(t), objects, "running", ready, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(limit(t))
	defer cancel()
	failed := kube.JSONPath[corev1.Pod]("{.status.phase}", "Failed")
	_, err := kube.Await(ctx, pods, "running", func(pod *corev1.Pod) error {
		defer cancel()
		return failed(pod)
	}, nil)
	want := `last seen: {.status.phase} is "Running", want "Failed"`
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
		t.Errorf("Await() = %v, want %q", err, want)
	}
	mustCreate(t, c, ns, build("done", "Succeeded"))
	mustBeReady(t, pods, "done")
	mustCreate(t, c, ns, build("broken", "Failed"))
	fails(t, pods, "broken", `phase is "Failed"`)
}

func testReadyDefinition(t *testing.T, c *kube.Client, _ string) {
	crds := kube.Dynamic(c, kube.CRDResource())
	define := func(plural string) string {
		crd, _ := notes("title")
		_ = unstructured.SetNestedField(crd.Object, "wait.example.com", "spec", "group")
		_ = unstructured.SetNestedField(crd.Object, plural, "spec", "names", "plural")
		crd.SetName(plural + ".wait.example.com")
		if _, err := crds.Create(limit(t), crd, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			err := crds.Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil)
			if err != nil && !errors.Is(err, kube.ErrNotFound) {
				t.Error(err)
			}
		})
		return crd.GetName()
	}
	first := define("notes")
	mustBeReady(t, crds, first)
	second := define("memos") // of the same kind
	notReady(t, crds, second, "condition NamesAccepted is False")
	if err := kube.DeleteAndWait(limit(t), crds, first, nil); err != nil {
		t.Fatal(err)
	}
	mustBeReady(t, crds, second)
}
