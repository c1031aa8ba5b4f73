// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

func Example() {
	ctx := context.Background()
	configMaps, _ := core.ResourceOf[corev1.ConfigMap]()
	c := fakeapi.New(configMaps).Client() // a server that runs in the process
	applier := inventory.New(c, "example.com/site", nil)

	// The owner stores the inventory, usually in its status.
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "site", UID: "u1"}}
	var stored []machine.Item
	record := func(_ context.Context, items []machine.Item) error {
		stored = items
		return nil
	}
	page := func(name string) inventory.Declaration {
		return inventory.Declaration{Object: &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Data:       map[string]string{"title": "The page " + name},
		}}
	}
	// Each pass declares all objects.
	for _, pages := range [][]inventory.Declaration{{page("home"), page("news")}, {page("home"), page("about")}, {}} {
		pass := applier.Begin(owner, stored, record)
		waiting, err := pass.Apply(ctx, pages...)
		if err == nil && waiting == "" {
			waiting, err = pass.Prune(ctx, nil)
		}
		stored = pass.Items()
		if err != nil || waiting != "" {
			fmt.Println(waiting, err)
			return
		}
		for _, item := range stored {
			fmt.Println(item.Kind, item.Namespace, item.Name)
		}
		fmt.Println("---")
	}
	// Output:
	// ConfigMap prod home
	// ConfigMap prod news
	// ---
	// ConfigMap prod home
	// ConfigMap prod about
	// ---
	// ---
}
