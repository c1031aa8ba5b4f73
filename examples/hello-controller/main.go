// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Hello-controller greets every ConfigMap that is labelled hello=please.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx); err != nil && ctx.Err() == nil {
		slog.Error("hello-controller", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := kube.NewClient(ctx, nil) // from the kubeconfig, or in-cluster
	if err != nil {
		return err
	}
	maps := kube.ClusterWide[corev1.ConfigMap](c)
	cache := kube.NewCache(c, nil)
	ctl := kube.NewController(kube.For[corev1.ConfigMap](cache), nil)
	return ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		if cm.Labels["hello"] != "please" {
			return kube.AwaitChange(), nil
		}
		_, err := maps.Apply(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID},
			Data:       map[string]string{"greeting": "hello, " + cm.Name},
		}, &kube.ApplyOptions{FieldManager: "hello-controller"})
		return kube.AwaitChange(), err
	})
}
