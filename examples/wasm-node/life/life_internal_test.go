// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// world stands in for the engine and the API.
type world struct {
	t       *testing.T
	memory  *Memory
	machine *fsm.Machine[Pod]
	onStep  fsm.StepHook

	pulling    bool // an image that is pulled is not ready
	pullErr    error
	envErr     error
	containers map[ID]*State
	images     []string // of the containers that were started
	stopped    map[ID]time.Duration
	finished   []corev1.PodStatus // the last statuses of deleted pods
}

// restart makes the world forget what a program forgets when it is restarted.
func (w *world) restart() {
	w.memory, w.containers, w.stopped = new(Memory), make(map[ID]*State), make(map[ID]time.Duration)
	c, err := w.memory.Client(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	env := &Env{Images: w, Containers: w, Objects: w, HostIP: "192.0.2.1", BackOff: 10 * time.Second}
	w.machine = New(c, env, w.onStep)
	if err := w.machine.Check(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Pull(Container) (string, error) {
	if w.pulling || w.pullErr != nil {
		return "", w.pullErr
	}
	return "sha256:0", nil
}

func (w *world) Start(c Container) {
	w.containers[c.ID] = &State{Attempt: c.Attempt, Started: time.Now()}
	w.images = append(w.images, c.Image)
}

func (w *world) State(id ID) (State, bool) {
	if s := w.containers[id]; s != nil {
		return *s, true
	}
	return State{}, false
}

func (w *world) Stop(id ID, grace time.Duration) { w.stopped[id] = grace }

func (w *world) Variables(context.Context, string, *corev1.Container) ([]string, error) {
	return nil, w.envErr
}

func (w *world) Finish(_ context.Context, pod *Pod) error {
	w.finished = append(w.finished, pod.Status.Pod)
	return nil
}

// exit ends a container.
func (w *world) exit(pod *corev1.Pod, name string, code int32) {
	s := w.containers[ID{pod.UID, name}]
	s.Finished, s.Code, s.Reason = time.Now(), code, "Error"
}

// pass makes enough passes for everything that is due, and writes the status of the pod.
func (w *world) pass(pod *corev1.Pod) {
	w.t.Helper()
	for range 4 {
		own, err := w.memory.Of(pod)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.machine.Reconcile(w.t.Context(), own); err != nil {
			w.t.Fatal(err)
		}
		if own, err = w.memory.Of(pod); err != nil {
			w.t.Fatal(err)
		}
		pod.Status = own.Status.Pod
	}
}

// after makes a pass after some time.
func (w *world) after(d time.Duration, pod *corev1.Pod) {
	w.t.Helper()
	time.Sleep(d)
	w.pass(pod)
}

// is checks the state of a container: waiting:REASON, running or exited:REASON, and the number of its restarts.
func (w *world) is(pod *corev1.Pod, name, want string, restarts int32) {
	w.t.Helper()
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name != name {
			continue
		}
		got := "running"
		switch {
		case s.State.Waiting != nil:
			got = "waiting:" + s.State.Waiting.Reason
		case s.State.Terminated != nil:
			got = "exited:" + s.State.Terminated.Reason
		}
		if got != want || s.RestartCount != restarts || s.Ready != (want == "running") {
			w.t.Errorf("the container %s is %s, ready %t, with %d restarts; want %s with %d", name, got, s.Ready, s.RestartCount,
				want, restarts)
		}
		return
	}
	w.t.Errorf("the container %s has no status", name)
}

func (w *world) phase(pod *corev1.Pod, want corev1.PodPhase, ready corev1.ConditionStatus) {
	w.t.Helper()
	if pod.Status.Phase != want {
		w.t.Errorf("the phase is %s, want %s", pod.Status.Phase, want)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != ready {
			w.t.Errorf("Ready is %s because of %s, want %s", c.Status, c.Reason, ready)
		}
	}
}

func newPod(policy corev1.RestartPolicy, names ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "pod", UID: "1", Generation: 1, ResourceVersion: "1",
	}}
	pod.Spec.RestartPolicy = policy
	for _, name := range names {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "one"})
	}
	return pod
}

// TestPods checks the life of pods, and that the cases take all transitions.
func TestPods(t *testing.T) {
	coverage := new(fsmtest.Coverage)
	for name, test := range map[string]func(*world){
		"a container that fails is restarted later and later":     backsOff,
		"an image is fetched again after an error":                pullsAgain,
		"a container waits for its environment":                   waitsForEnvironment,
		"a deleted pod is deleted when its containers have ended": stops,
		"a pod that is deleted before it has begun has failed":    neverBegins,
		"a pod ends by its restart policy":                        ends,
		"a new image replaces a running container":                replaces,
		"containers do not survive the program":                   loses,
		"a pod with init containers is rejected":                  rejects,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, onStep: coverage.OnStep}
				w.restart()
				test(w)
			})
		})
	}
	c, err := new(Memory).Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	coverage.Check(t, New(c, new(Env), nil).Graph())
}

func backsOff(w *world) {
	pod := newPod(corev1.RestartPolicyAlways, "web", "job")
	w.pulling = true
	w.pass(pod)
	w.is(pod, "web", "waiting:ContainerCreating", 0)
	w.phase(pod, corev1.PodPending, corev1.ConditionFalse)
	w.pulling = false
	w.pass(pod)
	w.phase(pod, corev1.PodRunning, corev1.ConditionTrue)
	w.exit(pod, "job", 1)
	w.pass(pod)
	w.is(pod, "job", "running", 1) // the first restart is immediate
	for n, delay := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		w.exit(pod, "job", 1)
		w.pass(pod)
		w.is(pod, "job", "waiting:CrashLoopBackOff", int32(n+1))
		w.phase(pod, corev1.PodRunning, corev1.ConditionFalse)
		w.after(delay*time.Second-time.Millisecond, pod)
		w.is(pod, "job", "waiting:CrashLoopBackOff", int32(n+1))
		w.after(time.Millisecond, pod)
		w.is(pod, "job", "running", int32(n+2))
	}
	time.Sleep(10 * time.Minute)
	w.exit(pod, "job", 1)
	w.pass(pod)
	w.is(pod, "job", "running", 9)
	w.is(pod, "web", "running", 0)
	if last := pod.Status.ContainerStatuses[1].LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
		w.t.Errorf("the last end is %+v", last)
	}
}

func pullsAgain(w *world) {
	pod := newPod(corev1.RestartPolicyNever, "web")
	w.pullErr = errors.New("not there")
	w.pass(pod)
	w.is(pod, "web", "waiting:ErrImagePull", 0)
	w.pullErr = nil
	w.after(9*time.Second, pod)
	w.is(pod, "web", "waiting:ErrImagePull", 0)
	w.after(time.Second, pod)
	w.is(pod, "web", "running", 0)
}

func waitsForEnvironment(w *world) {
	pod := newPod(corev1.RestartPolicyAlways, "web")
	w.envErr = errors.New("the ConfigMap does not exist")
	w.pass(pod)
	w.is(pod, "web", "waiting:CreateContainerConfigError", 0)
	w.envErr = nil
	w.pass(pod)
	w.is(pod, "web", "running", 0)
}

func stops(w *world) {
	pod := newPod(corev1.RestartPolicyAlways, "web", "job")
	w.pass(pod)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(7))
	pod.Generation++
	w.exit(pod, "job", 0)
	w.pass(pod)
	w.is(pod, "job", "exited:Error", 0) // and not restarted
	if s := pod.Status.ContainerStatuses[1]; s.LastTerminationState.Terminated != nil {
		w.t.Errorf("the container has ended once, but its last end is %+v", s.LastTerminationState)
	}
	w.is(pod, "web", "running", 0)
	if got := w.stopped[ID{pod.UID, "web"}]; got != 7*time.Second || len(w.finished) > 0 {
		w.t.Errorf("the grace period is %v, and the pod is deleted %d times", got, len(w.finished))
	}
	w.exit(pod, "web", killed)
	w.pass(pod)
	if len(w.finished) == 0 || w.finished[0].Phase != corev1.PodFailed {
		w.t.Errorf("the last statuses are %+v", w.finished)
	}
}

func neverBegins(w *world) {
	pod := newPod(corev1.RestartPolicyNever, "web")
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(0))
	w.pass(pod)
	if len(w.finished) == 0 || len(w.images) > 0 {
		w.t.Fatalf("the last statuses are %+v, and %d containers were started", w.finished, len(w.images))
	}
	pod.Status = w.finished[0]
	w.phase(pod, corev1.PodFailed, corev1.ConditionFalse)
}

func ends(w *world) {
	for name, tc := range map[string]struct {
		policy corev1.RestartPolicy
		codes  [2]int32
		want   corev1.PodPhase
	}{
		"1": {corev1.RestartPolicyNever, [2]int32{0, 0}, corev1.PodSucceeded},
		"2": {corev1.RestartPolicyNever, [2]int32{0, 1}, corev1.PodFailed},
		"3": {corev1.RestartPolicyOnFailure, [2]int32{0, 0}, corev1.PodSucceeded},
		"4": {corev1.RestartPolicyOnFailure, [2]int32{0, 1}, corev1.PodRunning},
		"5": {corev1.RestartPolicyAlways, [2]int32{0, 0}, corev1.PodRunning},
	} {
		pod := newPod(tc.policy, "a", "b")
		pod.Name = name
		pod.UID += "-" + pod.UID
		w.restart()
		w.pass(pod)
		w.exit(pod, "a", tc.codes[0])
		w.pass(pod)
		w.exit(pod, "b", tc.codes[1])
		w.pass(pod)
		if pod.Status.Phase != tc.want {
			w.t.Errorf("%s with the codes %v: %s, want %s", tc.policy, tc.codes, pod.Status.Phase, tc.want)
		}
		if tc.want != corev1.PodRunning {
			started := len(w.images)
			pod.Generation++
			w.pass(pod)
			w.restart()
			w.pass(pod)
			if len(w.images) != started {
				w.t.Error("a container of an ended pod was started again")
			}
		}
	}
}

func replaces(w *world) {
	for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever} {
		w.restart()
		w.images = nil
		pod := newPod(policy, "done", "web")
		w.pass(pod)
		w.exit(pod, "done", 0)
		w.pass(pod)
		pod.Generation++
		pod.Spec.Containers[1].Image = "two"
		w.pass(pod)
		if len(w.stopped) != 1 {
			w.t.Errorf("%s: stopped: %v", policy, w.stopped)
		}
		w.exit(pod, "web", killed)
		w.pass(pod)
		w.is(pod, "web", "running", 1)
		w.is(pod, "done", "exited:Error", 0)
		w.phase(pod, corev1.PodRunning, corev1.ConditionFalse) // done is not ready
		if got := strings.Join(w.images, " "); got != "one one two" {
			w.t.Errorf("%s: started: %s", policy, got)
		}
		w.exit(pod, "web", 1) // the first time that the new image has ended
		w.pass(pod)
		if policy == corev1.RestartPolicyNever {
			w.is(pod, "web", "exited:Error", 1)
		} else {
			w.is(pod, "web", "running", 2)
		}
	}
}

func loses(w *world) {
	pod := newPod(corev1.RestartPolicyAlways, "web")
	w.pass(pod)
	w.restart()
	w.pass(pod)
	w.is(pod, "web", "running", 1)
	pod = newPod(corev1.RestartPolicyNever, "web")
	pod.UID = "2"
	w.pass(pod)
	w.restart()
	w.pass(pod)
	w.is(pod, "web", "exited:ContainerStatusUnknown", 0)
	w.phase(pod, corev1.PodFailed, corev1.ConditionFalse)
}

func rejects(w *world) {
	pod := newPod(corev1.RestartPolicyAlways, "web")
	pod.Spec.InitContainers = []corev1.Container{{Name: "first"}}
	w.pass(pod)
	if w.phase(pod, corev1.PodFailed, ""); pod.Status.Message == "" || len(w.images) > 0 {
		w.t.Errorf("the status is %+v", pod.Status)
	}
}

// TestPatchHasOnlyFieldsOfTheNode checks what is written to the API.
func TestPatchHasOnlyFieldsOfTheNode(t *testing.T) {
	pod := newPod(corev1.RestartPolicyAlways, "web")
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "old", HostIP: "192.0.2.1", HostIPs: []corev1.HostIP{{IP: "192.0.2.1"}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "old"},
		},
	}
	want := pod.Status.DeepCopy()
	if diff, err := Patch(pod, want); err != nil || len(diff) > 0 {
		t.Errorf("the patch of equal statuses is %v, %v", diff, err)
	}
	want.Reason, want.HostIP, want.HostIPs = "", "192.0.2.2", []corev1.HostIP{{IP: "192.0.2.2"}}
	want.ContainerStatuses = []corev1.ContainerStatus{{Name: "web"}}
	want.Conditions = []corev1.PodCondition{ // PodScheduled is one of others, and may be old
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse},
		want.Conditions[1],
		{Type: corev1.ContainersReady, Status: corev1.ConditionFalse},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	diff, err := Patch(pod, want)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(diff)
	if err != nil {
		t.Fatal(err)
	}
	const wantBody = `{"metadata":{"resourceVersion":"1"},"status":{` +
		`"conditions":[{"status":"False","type":"ContainersReady"},{"reason":null,"status":"True","type":"Ready"}],` +
		`"containerStatuses":[{"image":"","imageID":"","lastState":{},"name":"web","ready":false,"restartCount":0,` +
		`"state":{}}],` +
		`"hostIP":"192.0.2.2","hostIPs":[{"ip":"192.0.2.2"},{"$patch":"replace"}],"reason":null}}`
	if diff := cmp.Diff(wantBody, string(body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheReadmeHasTheDiagram checks that README.md has the diagram of the machine.
func TestTheReadmeHasTheDiagram(t *testing.T) {
	c, err := new(Memory).Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	diagram := "```mermaid\n" + New(c, new(Env), nil).Graph().Mermaid() + "```\n"
	if !strings.Contains(string(readme), diagram) {
		t.Errorf("README.md does not have the diagram\n%s", diagram)
	}
}
