// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Kubeguest is a program that the tests of package host run as a guest. Nothing in it is specific to guests.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		slog.Error("no client", "err", err)
		os.Exit(1)
	}
	for _, arg := range os.Args[1:] {
		if arg == "return" {
			return
		}
		switch arg {
		case "objects":
			objects(ctx, c)
		case "requests":
			requests(ctx, c)
		case "options":
			options(ctx, c)
		case "owned":
			owned(ctx, c)
		case "garbage":
			go garbage(ctx)
		case "collector":
			slog.Info("the collector", "limit", debug.SetMemoryLimit(-1), "percent", debug.SetGCPercent(100))
		case "panic":
			var none *ConfigMap
			fmt.Println(none.Data)
		}
	}
	<-ctx.Done()
}

// objects reads a view.
func objects(ctx context.Context, c *kube.Client) {
	view := kube.ViewOf[ConfigMap](kube.NewCache(c, nil), &kube.Selection{Namespace: "n"})
	go func() { slog.Error("view", "err", view.Run(ctx)) }()
	if err := view.Ready(ctx); err != nil {
		slog.Error("not ready", "err", err)
		return
	}
	for cm, err := range view.Store().All(&kube.SelectOptions{LabelSelector: "color=red"}) {
		if err != nil {
			slog.Error("read", "err", err)
			return
		}
		slog.Info("red", "name", cm.Name, "value", cm.Data["value"])
	}
	go func() {
		for change, err := range view.Subscribe(ctx) {
			if err != nil {
				return
			}
			if !change.Initial {
				slog.Warn("change", "type", change.Type, "name", change.Ref.Name, "old", change.Old.Exists())
			}
		}
	}()
}

// requests sends requests that succeed, fail and end early.
func requests(ctx context.Context, c *kube.Client) {
	api := kube.Namespaced[ConfigMap](c, c.Namespace())
	_, err := api.Get(ctx, "missing", nil)
	slog.Info("get", "namespace", c.Namespace(), "missing", errors.Is(err, kube.ErrNotFound), "err", err)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = api.Get(short, "slow", nil)
	slog.Info("slow", "err", err)
	_, err = api.Get(ctx, "broken", nil)
	slog.Info("broken", "err", err)
}

// options makes clients with options that a guest can't have.
func options(ctx context.Context, c *kube.Client) {
	for _, o := range []*kube.ClientOptions{
		{Context: "prod"},
		{Config: &kube.Config{Server: "https://other"}},
		{Config: &kube.Config{Server: c.Server(), BearerToken: "hidden", CAFile: "/ca"}},
		{Config: c.Config(), FieldManager: "m"},
		{Share: c},
	} {
		_, err := kube.NewClient(ctx, o)
		slog.Info("option", "err", err)
	}
	view := kube.ViewOf[ConfigMap](kube.NewCache(c, &kube.CacheOptions{SnapshotDir: "/tmp"}), nil)
	slog.Info("snapshots", "err", view.Run(ctx))
}

// garbage allocates memory from time to time, and logs when somebody else has collected it.
func garbage(ctx context.Context) {
	debug.SetGCPercent(-1) // the runtime itself does not
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	for tick := time.NewTicker(300 * time.Millisecond); now.NumGC <= before.NumGC; runtime.ReadMemStats(&now) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sink = make([]byte, 100<<10)
	}
	slog.Info("the garbage is collected")
}

var sink []byte

// owned counts the runs of the owner of a ConfigMap, which creates it again.
func owned(ctx context.Context, c *kube.Client) {
	cache := kube.NewCache(c, nil)
	api := kube.ClusterWide[ConfigMap](c)
	parents := kube.ViewOf[ConfigMap](cache, &kube.Selection{LabelSelector: "role=parent"})
	children := kube.ViewOf[ConfigMap](cache, &kube.Selection{LabelSelector: "role=child"})
	ctl := kube.NewController(kube.ForView(parents), nil).Owns(kube.SourceView(children))
	go func() {
		err := ctl.Run(ctx, func(ctx context.Context, parent *ConfigMap) (kube.Action, error) {
			child := &ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: "child", Namespace: parent.Namespace, Labels: map[string]string{"role": "child"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "ConfigMap", Name: parent.Name, UID: parent.UID, Controller: new(true),
				}},
			}}
			if children.Store().Has(kube.ObjectRef{Namespace: parent.Namespace, Name: child.Name}) {
				slog.Info("the child exists")
				return kube.AwaitChange(), nil
			}
			slog.Info("the child is missing")
			_, err := api.Apply(ctx, child, &kube.ApplyOptions{FieldManager: "owned"})
			return kube.AwaitChange(), err
		})
		slog.Error("controller", "err", err)
	}()
}
