// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// exampleCluster stands for a cluster with a config map.
func exampleCluster() *fakeapi.Server {
	configMaps, _ := core.ResourceOf[corev1.ConfigMap]()
	secrets, _ := core.ResourceOf[corev1.Secret]()
	s := fakeapi.New(configMaps, secrets)
	s.Put(configMaps, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"},
		Data:       map[string]string{"user": "admin"},
	})
	return s
}

func ExampleNew() {
	c := exampleCluster().Client() // kube.NewClient(ctx, nil)
	secrets := client.ClusterWide[corev1.Secret](c)

	// A secret for each config map, which is created again when it is deleted.
	shared := cache.New(c, nil)
	owned := controller.Source[corev1.Secret](shared)
	ctl := controller.New(controller.For[corev1.ConfigMap](shared), nil).Owns(owned)

	ctx, stop := context.WithCancelCause(context.Background())
	err := ctl.Run(ctx, func(ctx context.Context, cm *corev1.ConfigMap) (controller.Action, error) {
		owner, err := core.ControllerRef(cm)
		if err != nil {
			return controller.Action{}, err
		}
		secret, err := secrets.Apply(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name, OwnerReferences: []metav1.OwnerReference{owner}},
			StringData: map[string]string{"user": cm.Data["user"], "password": "…"},
		}, &request.ApplyOptions{FieldManager: "passwords"})
		if err != nil {
			return controller.Action{}, err
		}
		fmt.Println("applied", core.RefOf(secret), "owned by", secret.OwnerReferences[0].Kind, secret.OwnerReferences[0].Name)
		stop(errors.New("done"))
		return controller.RequeueAfter(24 * time.Hour), nil
	})
	fmt.Println(err)
	// Output:
	// applied prod/web owned by ConfigMap web
	// done
}

func ExampleSecondary_Map() {
	cluster := exampleCluster()
	c := cluster.Client() // kube.NewClient(ctx, nil)
	shared := cache.New(c, nil)

	// A secret concerns the config map that its label names.
	concerned := func(_ context.Context, s *corev1.Secret) ([]core.ObjectRef, error) {
		if name, ok := s.Labels["for"]; ok {
			return []core.ObjectRef{{Namespace: s.Namespace, Name: name}}, nil
		}
		return nil, nil
	}
	ctl := controller.New(controller.For[corev1.ConfigMap](shared), nil).
		Watches(controller.Source[corev1.Secret](shared).Map(concerned))

	ctx, stop := context.WithCancel(context.Background())
	runs := 0
	_ = ctl.Run(ctx, func(_ context.Context, cm *corev1.ConfigMap) (controller.Action, error) {
		runs++
		fmt.Println("run", runs, "of", cm.Name)
		if runs == 2 {
			stop()
			return controller.AwaitChange(), nil
		}
		secrets, err := core.ResourceOf[corev1.Secret]()
		if err != nil {
			return controller.Action{}, err
		}
		cluster.Put(secrets, &corev1.Secret{ // another client creates a secret
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "password", Labels: map[string]string{"for": "web"}},
		})
		return controller.AwaitChange(), nil
	})
	// Output:
	// run 1 of web
	// run 2 of web
}

func ExampleController_Health() {
	shared := cache.New(exampleCluster().Client(), nil)
	ctl := controller.New(controller.For[corev1.ConfigMap](shared), nil).
		Owns(controller.Source[corev1.Secret](shared))

	ctx, stop := context.WithCancel(context.Background())
	_ = ctl.Run(ctx, func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		for _, source := range ctl.Health() {
			fmt.Println(source.Resource, source.Ready, source.Err)
		}
		stop()
		return controller.AwaitChange(), nil
	})
	// Output:
	// configmaps true <nil>
	// secrets true <nil>
}

func ExampleController_Metrics() {
	ctl := controller.New(controller.For[corev1.ConfigMap](cache.New(exampleCluster().Client(), nil)), nil)

	ctx, stop := context.WithCancel(context.Background())
	_ = ctl.Run(ctx, func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
		stop()
		return controller.AwaitChange(), nil
	})
	m := ctl.Metrics()
	fmt.Println(m.Name, m.Succeeded, m.Failed, m.Took.Count)
	// Output: configmap 1 0 1
}
