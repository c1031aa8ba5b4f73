// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Greeter is a controller for the test with many modules on a real server: greeter OUTPUT NAMESPACE TEXT. For each
// ConfigMap of the namespace with the label greet=please, it writes the ConfigMap OUTPUT-NAME, with TEXT and the value.
package main

import (
	"context"
	"log/slog"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// ConfigMap has the fields of a ConfigMap that the program uses.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string]string `json:"data,omitempty"`
}

// DeepCopy returns a copy.
func (c *ConfigMap) DeepCopy() *ConfigMap {
	out := &ConfigMap{TypeMeta: c.TypeMeta, ObjectMeta: *c.ObjectMeta.DeepCopy(), Data: make(map[string]string)}
	for key, value := range c.Data {
		out.Data[key] = value
	}
	return out
}

// KubeResource returns the resource.
func (*ConfigMap) KubeResource() kube.Resource {
	return kube.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
}

func main() {
	ctx := context.Background()
	output, namespace, text := os.Args[1], os.Args[2], os.Args[3]
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		slog.Error("no client", "err", err)
		os.Exit(1)
	}
	selection := &kube.Selection{Namespace: namespace, LabelSelector: "greet=please"}
	view := kube.ViewOf[ConfigMap](kube.NewCache(c, nil), selection)
	api := kube.Namespaced[ConfigMap](c, c.Namespace())
	ctl := kube.NewController(kube.ForView(view), nil)
	err = ctl.Run(ctx, func(ctx context.Context, cm *ConfigMap) (kube.Action, error) {
		slog.Info("greets", "name", cm.Name, "value", cm.Data["value"])
		_, err := api.Apply(ctx, &ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: output + "-" + cm.Name, Namespace: c.Namespace()},
			Data:       map[string]string{"text": text + " " + cm.Data["value"]},
		}, &kube.ApplyOptions{FieldManager: output, Force: true})
		return kube.AwaitChange(), err
	})
	slog.Error("controller", "err", err)
	os.Exit(1)
}
