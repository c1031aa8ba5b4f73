// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Restarts labels the pods whose containers restart often with restarts=many.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// many is the number of restarts from which on a pod gets the label.
const many = 5

// Pod has the fields of a pod that the program uses. The protobuf tags are those of corev1.Pod: with them, the server
// sends protobuf and not JSON.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`

	Status PodStatus `json:"status" protobuf:"bytes,3,opt,name=status"`
}

// PodStatus is the status of a Pod.
type PodStatus struct {
	ContainerStatuses []ContainerStatus `json:"containerStatuses" protobuf:"bytes,8,rep,name=containerStatuses"`
}

// ContainerStatus is the status of a container.
type ContainerStatus struct {
	RestartCount int32 `json:"restartCount" protobuf:"varint,5,opt,name=restartCount"`
}

// KubeResource returns the resource of pods.
func (*Pod) KubeResource() kube.Resource {
	return kube.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx); err != nil && ctx.Err() == nil {
		slog.Error("restarts", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	pods := kube.ClusterWide[Pod](c)
	ctl := kube.NewController(kube.For[Pod](kube.NewCache(c, nil)), nil)
	return ctl.Run(ctx, func(ctx context.Context, pod *Pod) (kube.Action, error) {
		var restarts int32
		for _, container := range pod.Status.ContainerStatuses {
			restarts += container.RestartCount
		}
		if restarts < many || pod.Labels["restarts"] == "many" {
			return kube.AwaitChange(), nil
		}
		kube.Logger(ctx).Info("restarts often", "restarts", restarts)
		_, err := pods.Apply(ctx, &Pod{ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: map[string]string{"restarts": "many"},
		}}, &kube.ApplyOptions{FieldManager: "restarts"})
		return kube.AwaitChange(), err
	})
}
