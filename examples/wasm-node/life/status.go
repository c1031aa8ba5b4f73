// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxName is the maximum length of the name of a container, which is part of the name of a child machine.
const maxName = 62 - len("Container")

// killed is the exit code of a killed program.
const killed = 128 + 9

// unsupported returns what the node can't do for a pod, or "". Volumes are ignored, because each pod has that of its
// service account.
func unsupported(spec *corev1.PodSpec) string {
	if len(spec.InitContainers) > 0 {
		return "the node does not run init containers"
	}
	for _, c := range spec.Containers {
		switch {
		case len(c.Name) > maxName:
			return fmt.Sprintf("the name of the container %s is longer than %d characters", c.Name, maxName)
		case c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil:
			return fmt.Sprintf("the container %s has probes or lifecycle hooks, which the node does not run", c.Name)
		}
	}
	return ""
}

// find returns the status of a container, or nil.
func find(pod *Pod, name string) *corev1.ContainerStatus {
	all := pod.Status.Pod.ContainerStatuses
	if i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func timeOf(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// leave replaces the state of a container. The end of the last attempt is kept.
func leave(s *corev1.ContainerStatus, next corev1.ContainerState) {
	if s.State.Terminated != nil {
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
	}
	s.State, s.Ready, s.Started = next, false, new(false)
}

// finish sets the state of a container that has ended.
func finish(s *corev1.ContainerStatus, state State) {
	leave(s, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: state.Code, Reason: state.Reason, Message: state.Message,
		StartedAt: timeOf(state.Started), FinishedAt: timeOf(state.Finished), ContainerID: s.ContainerID,
	}})
}

// lose sets the state of a container that was running when the program ended, as a kubelet does.
func lose(s *corev1.ContainerStatus) {
	if s.State.Running == nil {
		return
	}
	leave(s, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: killed, Reason: "ContainerStatusUnknown", Message: "the node has been restarted",
		StartedAt: s.State.Running.StartedAt, FinishedAt: timeOf(time.Now()), ContainerID: s.ContainerID,
	}})
}

// settle computes the phase and the conditions from the containers. Stopped is whether no container will run any more.
func settle(pod *Pod, stopped bool) {
	s := &pod.Status.Pod
	s.ObservedGeneration = pod.Generation
	if s.Phase != corev1.PodSucceeded && s.Phase != corev1.PodFailed {
		s.Phase = phase(pod, stopped)
	}
	var unready []string
	for _, c := range s.ContainerStatuses {
		if !c.Ready {
			unready = append(unready, c.Name)
		}
	}
	ready, reason, message := len(unready) == 0 && len(s.ContainerStatuses) > 0, "", ""
	switch {
	case s.Phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case s.Phase == corev1.PodFailed:
		reason = "PodFailed"
	case !ready:
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
	}
	set(s, corev1.PodInitialized, true, "", "")
	set(s, corev1.ContainersReady, ready, reason, message)
	for _, gate := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		if ready && (i < 0 || s.Conditions[i].Status != corev1.ConditionTrue) {
			ready, reason = false, "ReadinessGatesNotReady"
			message = fmt.Sprintf("the condition %s is not true", gate.ConditionType)
		}
	}
	set(s, corev1.PodReady, ready, reason, message)
}

// phase returns the phase by the rules of a kubelet.
func phase(pod *Pod, stopped bool) corev1.PodPhase {
	var pending, running, succeeded, failed int
	for _, c := range pod.Status.Pod.ContainerStatuses {
		end := c.State.Terminated
		if c.State.Waiting != nil {
			end = c.LastTerminationState.Terminated
		}
		switch {
		case c.State.Running != nil:
			running++
		case end == nil:
			pending++
		case end.ExitCode == 0:
			succeeded++
		default:
			failed++
		}
	}
	policy := pod.Spec.RestartPolicy
	switch {
	case stopped && succeeded < len(pod.Spec.Containers): // also of a pod without any status
		return corev1.PodFailed
	case stopped:
		return corev1.PodSucceeded
	case pending > 0:
		return corev1.PodPending
	case running > 0 || policy == corev1.RestartPolicyAlways || policy == "":
		return corev1.PodRunning
	case failed == 0:
		return corev1.PodSucceeded
	case policy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}

// set sets a condition. Its time changes with its status only.
func set(s *corev1.PodStatus, typ corev1.PodConditionType, is bool, reason, message string) {
	want := corev1.PodCondition{
		Type: typ, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: s.ObservedGeneration, LastTransitionTime: timeOf(time.Now()),
	}
	if is {
		want.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == typ })
	if i < 0 {
		s.Conditions = append(s.Conditions, want)
		return
	}
	if s.Conditions[i].Status == want.Status {
		want.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = want
}

// owned are the conditions that the node writes.
//
//nolint:gochecknoglobals // a constant
var owned = []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady}
