// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// The states of a container, each with the states that may follow it. Crashes is how often it has ended in a row.
type (
	// Create is a container that is new to this program.
	Create     struct{}
	fromCreate interface{ fromCreate() }

	// Image is a container whose image is fetched.
	Image struct {
		Crashes int `json:"crashes,omitempty"`
		Pulls   int `json:"pulls,omitempty"` // that have failed
	}
	fromImage interface{ fromImage() }

	// ImageBackOff is a container that waits for another attempt to fetch its image.
	ImageBackOff struct {
		Crashes int `json:"crashes,omitempty"`
		Pulls   int `json:"pulls"`
	}
	fromImageBackOff interface{ fromImageBackOff() }

	// Start is a container whose image is ready.
	Start struct {
		Crashes int `json:"crashes,omitempty"`
	}
	fromStart interface{ fromStart() }

	// Running is a container that was started.
	Running struct {
		Crashes int    `json:"crashes,omitempty"`
		Image   string `json:"image"`
	}
	fromRunning interface{ fromRunning() }

	// CrashLoopBackOff is a container that waits for its restart.
	CrashLoopBackOff struct {
		Crashes int           `json:"crashes"`
		Delay   time.Duration `json:"delay"`
	}
	fromCrashLoopBackOff interface{ fromCrashLoopBackOff() }

	// Completed is a container that is not restarted.
	Completed struct{}
)

func (Image) fromCreate()             {}
func (Completed) fromCreate()         {}
func (ImageBackOff) fromImage()       {}
func (Start) fromImage()              {}
func (Image) fromImageBackOff()       {}
func (Running) fromStart()            {}
func (Image) fromRunning()            {}
func (CrashLoopBackOff) fromRunning() {}
func (Completed) fromRunning()        {}
func (Image) fromCrashLoopBackOff()   {}

// Step finds out what an earlier run of the program has done with the container, which has ended with it.
func (Create) Step(c ctx, to fsm.To[fromCreate]) fsm.Result[fromCreate] {
	s := find(c.Obj, c.Child())
	lose(s)
	if end := s.State.Terminated; end != nil && !restarts(&c.Obj.Spec, end.ExitCode) {
		return to.Go(Completed{})
	}
	return to.Go(Image{})
}

// Step waits for the image.
func (s Image) Step(c ctx, to fsm.To[fromImage]) fsm.Result[fromImage] {
	status := find(c.Obj, c.Child())
	id, err := fsm.Env[*Env](c).Images.Pull(container(c, status))
	switch {
	case err != nil:
		leave(status, waiting("ErrImagePull", err.Error()))
		return to.Go(ImageBackOff{s.Crashes, s.Pulls + 1})
	case id == "":
		leave(status, waiting("ContainerCreating", ""))
		return to.Stay("fetching the image", 0)
	}
	status.ImageID = id
	return to.Go(Start{s.Crashes})
}

// Step waits until the image may be fetched again.
func (s ImageBackOff) Step(c ctx, to fsm.To[fromImageBackOff]) fsm.Result[fromImageBackOff] {
	if rest := fsm.Env[*Env](c).delay(s.Pulls) - time.Since(c.Since()); rest > 0 {
		return to.Stay("waiting for another attempt to fetch the image", rest)
	}
	return to.Go(Image(s))
}

// Step starts the container.
func (s Start) Step(c ctx, to fsm.To[fromStart]) fsm.Result[fromStart] {
	env, status := fsm.Env[*Env](c), find(c.Obj, c.Child())
	if status.ContainerID != "" {
		status.RestartCount++
	}
	next := container(c, status)
	variables, err := env.Objects.Variables(c, c.Obj.Namespace, specOf(c))
	if err != nil {
		if status.ContainerID != "" {
			status.RestartCount--
		}
		leave(status, waiting("CreateContainerConfigError", err.Error()))
		return to.Stay("its environment is incomplete", env.BackOff)
	}
	next.Env = variables
	env.Containers.Start(next)
	leave(status, corev1.ContainerState{})
	status.Image = next.Image
	status.ContainerID = fmt.Sprintf("wasm://%s/%s/%d", next.ID.Pod, next.ID.Name, next.Attempt)
	return to.Go(Running{s.Crashes, next.Image})
}

// Step waits until the container ends, and decides whether it is restarted. As in a kubelet, the first restart is
// immediate, a container that has run for ten minutes is taken for a new one, and so is one with a new image, which
// runs whatever the policy is.
func (s Running) Step(c ctx, to fsm.To[fromRunning]) fsm.Result[fromRunning] {
	env, status := fsm.Env[*Env](c), find(c.Obj, c.Child())
	state, ok := env.Containers.State(ID{c.Obj.UID, status.Name})
	switch {
	case !ok: // it has been removed
		return to.Go(Image{Crashes: s.Crashes})
	case state.Finished.IsZero():
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: timeOf(state.Started)}}
		status.Ready, status.Started = true, new(true)
		return to.Stay("running", 0)
	}
	finish(status, state)
	if specOf(c).Image != s.Image { // it was stopped for the new one
		return to.Go(Image{})
	}
	if !restarts(&c.Obj.Spec, state.Code) {
		return to.Go(Completed{})
	}
	if state.Finished.Sub(state.Started) >= 60*env.BackOff {
		s.Crashes = 0
	}
	delay := env.delay(s.Crashes)
	if delay == 0 {
		return to.Go(Image{Crashes: s.Crashes + 1})
	}
	message := fmt.Sprintf("back-off %v restarting failed container=%s pod=%s", delay, status.Name, kube.RefOf(c.Obj))
	leave(status, waiting("CrashLoopBackOff", message))
	return to.Go(CrashLoopBackOff{s.Crashes + 1, delay})
}

// OnSpecChange stops a container whose image has changed: its restart runs the new one.
func (s Running) OnSpecChange(c ctx, to fsm.To[fromRunning]) fsm.Result[fromRunning] {
	if specOf(c).Image != s.Image {
		fsm.Env[*Env](c).Containers.Stop(ID{c.Obj.UID, c.Child()}, time.Second)
	}
	return s.Step(c, to)
}

// Step waits until the container may be restarted.
func (s CrashLoopBackOff) Step(c ctx, to fsm.To[fromCrashLoopBackOff]) fsm.Result[fromCrashLoopBackOff] {
	if rest := s.Delay - time.Since(c.Since()); rest > 0 {
		return to.Stay("waiting for its restart", rest)
	}
	return to.Go(Image{Crashes: s.Crashes})
}

// Step ends the machine of the container.
func (Completed) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

// OnSpecChange does not run the container again.
func (s Completed) OnSpecChange(c ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return s.Step(c, to)
}

// delay returns the delay after a number of failures.
func (e *Env) delay(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	longest := 30 * e.BackOff
	if failures > 5 {
		return longest
	}
	return min(e.BackOff<<(failures-1), longest)
}

// restarts reports whether a container with an exit code is restarted.
func restarts(spec *corev1.PodSpec, code int32) bool {
	switch spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	default:
		return true
	}
}

// specOf returns the spec of the container of a child machine.
func specOf(c ctx) *corev1.Container {
	all := c.Obj.Spec.Containers
	return &all[slices.IndexFunc(all, func(container corev1.Container) bool { return container.Name == c.Child() })]
}

// container returns the next attempt of a container, without its environment.
func container(c ctx, status *corev1.ContainerStatus) Container {
	spec := specOf(c)
	command := spec.Command
	if len(command) == 0 {
		command = []string{spec.Name}
	}
	return Container{
		ID:      ID{c.Obj.UID, spec.Name},
		Of:      kube.RefOf(c.Obj),
		Image:   spec.Image,
		Args:    slices.Concat(command, spec.Args),
		Memory:  spec.Resources.Limits.Memory().Value(),
		Attempt: status.RestartCount,
	}
}
