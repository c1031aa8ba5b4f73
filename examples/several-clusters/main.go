// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Several-clusters keeps copies of ConfigMaps up to date in several clusters, which may join and leave at any time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `several-clusters gives each ConfigMap with the label copy-of=NAME the data of the ConfigMap NAME.

  several-clusters DIR

It works in the cluster of your kubeconfig, and in those of the kubeconfigs in DIR. A cluster joins when its file is
written, leaves when the file is removed, and leaves and joins again when the file is changed.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case ctx.Err() == nil && err != nil:
		fmt.Fprintln(os.Stderr, "several-clusters:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string) error {
	dir, err := args.Parse(flag.NewFlagSet("several-clusters", flag.ContinueOnError), line)
	switch {
	case err != nil:
		return err
	case len(dir) != 1:
		return errors.New("specify one directory; use -h for help")
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	cache := kube.NewCache(c, nil) // the cluster with the empty name
	clusters := new(clusters)
	clusters.add(c, cache)
	ctl := kube.NewController(kube.For[corev1.ConfigMap](cache), nil).
		Watches(kube.Source[corev1.ConfigMap](cache).Map(clusters.copies))

	var following sync.WaitGroup
	defer following.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	following.Go(func() { clusters.follow(ctx, ctl, dir[0]) })
	return ctl.Run(ctx, clusters.reconcile)
}

// clusters finds the current clusters by their names.
type clusters struct{ byName sync.Map }

// cluster is one of the clusters, with a client, a view and an index of its own.
type cluster struct {
	maps   *kube.API[corev1.ConfigMap]
	view   *kube.View[corev1.ConfigMap]
	copies *kube.Index[corev1.ConfigMap, kube.ObjectRef]
}

func (cs *clusters) add(c *kube.Client, cache *kube.Cache) {
	view := kube.ViewOf[corev1.ConfigMap](cache, nil)
	cs.byName.Store(cache.Cluster(), &cluster{
		maps:   kube.ClusterWide[corev1.ConfigMap](c),
		view:   view,
		copies: kube.IndexBy(view, originals),
	})
}

// of returns the cluster of a reconcile or of a call of a mapper, or nil if the cluster has left.
func (cs *clusters) of(ctx context.Context) *cluster {
	run, _ := kube.RunOf(ctx)
	c, _ := cs.byName.Load(run.Key.Cluster)
	found, _ := c.(*cluster)
	return found
}

// originals returns the original of a copy.
func originals(cm *corev1.ConfigMap) []kube.ObjectRef {
	if name := cm.Labels["copy-of"]; name != "" {
		return []kube.ObjectRef{{Namespace: cm.Namespace, Name: name}}
	}
	return nil
}

// copies returns the copies of a changed original, which are in the same cluster.
func (cs *clusters) copies(ctx context.Context, original *corev1.ConfigMap) (refs []kube.ObjectRef, err error) {
	c := cs.of(ctx)
	if c == nil {
		return nil, nil
	}
	for cm, err := range c.copies.All(kube.RefOf(original)) {
		if err != nil {
			return nil, err
		}
		refs = append(refs, kube.RefOf(cm))
	}
	return refs, nil
}

// reconcile updates a copy in its cluster.
func (cs *clusters) reconcile(ctx context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
	c, from := cs.of(ctx), originals(cm)
	if c == nil || from == nil {
		return kube.AwaitChange(), nil
	}
	original, err := c.view.Store().Get(from[0])
	switch {
	case errors.Is(err, kube.ErrNotFound): // the mapper is called when it exists
		return kube.AwaitChange(), nil
	case err != nil:
		return kube.AwaitChange(), err
	case maps.Equal(cm.Data, original.Data):
		return kube.AwaitChange(), nil
	}
	_, err = c.maps.Apply(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: cm.Name, Namespace: cm.Namespace, UID: cm.UID},
		Data:       original.Data,
	}, &kube.ApplyOptions{FieldManager: "several-clusters"})
	if err == nil {
		kube.Logger(ctx).Info("copied", "original", original.Name)
	}
	return kube.AwaitChange(), err
}
