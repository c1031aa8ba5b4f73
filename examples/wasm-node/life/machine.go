// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package life is the life of a pod on the node as a state machine, with a child machine for each container.
package life

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// Name is the name of the machine.
const Name = "wasm-node.example.com/pod"

// Pod is a pod as the machine sees it: with its position. A pod in the API has no place for a position, and containers
// end with the program, so the position is kept in a [Memory].
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   corev1.PodSpec `json:"spec"`
	Status Status         `json:"status"`
}

// KubeResource returns the resource, which no server has.
func (*Pod) KubeResource() core.Resource {
	return core.Resource{Group: "wasm-node.example.com", Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
}

// Status is the position of the machine, and the status of the pod in the API.
type Status struct {
	machine.Status `json:",inline"`

	Pod corev1.PodStatus `json:"pod"`
}

// ID identifies a container of a pod.
type ID struct {
	Pod  types.UID
	Name string
}

// Container is a container to run.
type Container struct {
	ID      ID
	Of      kube.ObjectRef // the pod
	Image   string
	Args    []string // the first is the name of the program
	Env     []string
	Memory  int64 // the limit in bytes, or 0
	Attempt int32 // the number of restarts
}

// State is the state of a started container.
type State struct {
	Attempt  int32
	Started  time.Time
	Finished time.Time // zero if it runs
	Code     int32
	Reason   string
	Message  string
}

// Images fetches the modules of containers.
type Images interface {
	// Pull begins to fetch the image of a container, and returns its ID when it is ready. It does not wait. A call after
	// an error begins again.
	Pull(c Container) (id string, err error)
}

// Containers runs containers. The methods do not wait.
type Containers interface {
	// Start starts a container whose image is ready, unless this attempt has been started.
	Start(c Container)
	// State returns the state of the last attempt, and whether there was one.
	State(id ID) (State, bool)
	// Stop asks a container to end, and kills it after the grace period. It has no effect on a container that has ended.
	Stop(id ID, grace time.Duration)
}

// Objects reads and writes objects of the API for the machine.
type Objects interface {
	// Variables returns the environment of a container.
	Variables(ctx context.Context, namespace string, c *corev1.Container) ([]string, error)
	// Finish writes the last status of a deleted pod, and deletes the pod.
	Finish(ctx context.Context, pod *Pod) error
}

// Env is what the states need.
type Env struct {
	Images     Images
	Containers Containers
	Objects    Objects
	HostIP     string
	BackOff    time.Duration // the first delay of restarts and pulls; the longest is 30 times as long

	group *fsm.Group[Pod, Create]
}

// Changed is sent to a pod when something in [Images] or [Containers] has changed.
type Changed struct{}

// New returns the machine. The client is that of a [Memory].
func New(c *kube.Client, env *Env, onStep fsm.StepHook) *fsm.Machine[Pod] {
	m := fsm.New[Pod](c, Name, &fsm.Options{Durable: true, Env: env, OnStep: onStep})
	fsm.Add(m, Admit{})
	fsm.Add(m, Run{})
	fsm.Add(m, Rejected{})
	fsm.Add(m, Ended{})
	fsm.OnDelete(m, Stop{})
	fsm.OnDelete(m, Delete{})
	fsm.OnDelete(m, Deleted{})
	env.group = fsm.NewGroup(m, "Container", Create{})
	fsm.Add(env.group, Image{})
	fsm.Add(env.group, ImageBackOff{})
	fsm.Add(env.group, Start{})
	fsm.Add(env.group, Running{})
	fsm.Add(env.group, CrashLoopBackOff{})
	fsm.Add(env.group, Completed{})
	return m
}

type ctx = *fsm.Ctx[Pod]

// The states of a pod, each with the states that may follow it.
type (
	// Admit is a pod that is new to this program.
	Admit     struct{}
	fromAdmit interface{ fromAdmit() }

	// Run is a pod with containers that run or will run.
	Run     struct{}
	fromRun interface{ fromRun() }

	// Rejected is a pod that this node can't run.
	Rejected struct{}

	// Ended is a pod whose containers are completed.
	Ended struct{}

	// Stop is a deleted pod whose containers are ending.
	Stop     struct{}
	fromStop interface{ fromStop() }

	// Delete is a deleted pod without running containers.
	Delete     struct{}
	fromDelete interface{ fromDelete() }

	// Deleted is a pod that is deleted from the API, unless it has finalizers.
	Deleted struct{}
)

func (Run) fromAdmit()      {}
func (Rejected) fromAdmit() {}
func (Ended) fromAdmit()    {}
func (Ended) fromRun()      {}
func (Delete) fromStop()    {}
func (Deleted) fromDelete() {}

// Step decides whether the node runs the pod. The status may be that of an earlier run of the program.
func (Admit) Step(c ctx, to fsm.To[fromAdmit]) fsm.Result[fromAdmit] {
	s := &c.Obj.Status.Pod
	if s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed {
		return to.Go(Ended{})
	}
	if message := unsupported(&c.Obj.Spec); message != "" {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, "UnsupportedPod", message
		return to.Go(Rejected{})
	}
	if s.StartTime == nil {
		s.StartTime = new(metav1.Now())
	}
	s.HostIP = fsm.Env[*Env](c).HostIP
	s.HostIPs = []corev1.HostIP{{IP: s.HostIP}}
	for _, container := range c.Obj.Spec.Containers {
		if find(c.Obj, container.Name) == nil {
			s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
				Name: container.Name, Image: container.Image, State: waiting("ContainerCreating", ""),
			})
		}
	}
	return to.Go(Run{})
}

// Step runs the machines of the containers until all are completed.
func (Run) Step(c ctx, to fsm.To[fromRun]) fsm.Result[fromRun] {
	fsm.Received[Changed](c)
	starts := make(map[string]Create)
	for _, container := range c.Obj.Spec.Containers {
		starts[container.Name] = Create{}
	}
	children := fsm.Env[*Env](c).group.Run(c, starts)
	settle(c.Obj, false)
	if wait, result := fsm.Join(to, children); wait {
		return result
	}
	return to.Go(Ended{})
}

// OnSpecChange leaves a change to the containers.
func (s Run) OnSpecChange(c ctx, to fsm.To[fromRun]) fsm.Result[fromRun] { return s.Step(c, to) }

// Step ends the machine with the reason.
func (Rejected) Step(c ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Failed(to, c.Obj.Status.Pod.Message)
}

// Step ends the machine.
func (Ended) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

// Step stops all containers at once.
func (Stop) Step(c ctx, to fsm.To[fromStop]) fsm.Result[fromStop] {
	fsm.Received[Changed](c)
	var grace time.Duration
	if seconds := c.Obj.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	containers, running := fsm.Env[*Env](c).Containers, false
	for i := range c.Obj.Status.Pod.ContainerStatuses {
		s := &c.Obj.Status.Pod.ContainerStatuses[i]
		id := ID{c.Obj.UID, s.Name}
		containers.Stop(id, grace)
		state, ok := containers.State(id)
		switch {
		case !ok:
			lose(s)
		case state.Finished.IsZero():
			running = true
		case s.State.Running != nil:
			finish(s, state)
		}
	}
	settle(c.Obj, !running)
	if running {
		return to.Stay("containers are ending", 0)
	}
	return to.Go(Delete{})
}

// Step deletes the pod, as a kubelet does.
func (Delete) Step(c ctx, to fsm.To[fromDelete]) fsm.Result[fromDelete] {
	if err := fsm.Env[*Env](c).Objects.Finish(c, c.Obj); err != nil {
		return to.Retry(err)
	}
	return to.Go(Deleted{})
}

// Step ends the machine.
func (Deleted) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
