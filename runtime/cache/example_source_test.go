// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/watcher"
)

// inventory is the hosts of another system, as config maps. Hosts are never removed.
type inventory struct {
	resource core.Resource

	mu      sync.Mutex          // guards the fields below
	log     []*corev1.ConfigMap // each state of each host; the resource version is its number, from 1
	changed chan struct{}       // closed by the next change
}

// Set adds or changes a host.
func (i *inventory) Set(name, address string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.log = append(i.log, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "hosts", Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(len(i.log) + 1),
		},
		Data: map[string]string{"address": address},
	})
	close(i.changed)
	i.changed = make(chan struct{})
}

// since returns the states after a version, and a channel that is closed when there are more.
func (i *inventory) since(version int) ([]*corev1.ConfigMap, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.log[version:], i.changed
}

// Resource implements [watcher.Source].
func (i *inventory) Resource() core.Resource { return i.resource }

// List implements [watcher.Source].
func (i *inventory) List(
	_ context.Context, _ *request.ListOptions, each func(wire.Packed) error,
) (metav1.ListMeta, error) {
	log, _ := i.since(0)
	newest := make(map[string]*corev1.ConfigMap)
	for _, host := range log {
		newest[host.Name] = host
	}
	for _, host := range newest {
		packed, err := wire.Pack(host, wire.JSON)
		if err == nil {
			err = each(packed)
		}
		if err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(len(log))}, nil
}

// Watch implements [watcher.Source].
func (i *inventory) Watch(ctx context.Context, o *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	if o.SendInitialEvents {
		return nil, core.ErrBadRequest // use List
	}
	version, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	return func(yield func(wire.Event, error) bool) {
		for {
			states, changed := i.since(version)
			for _, host := range states {
				packed, err := wire.Pack(host, wire.JSON)
				if !yield(wire.Event{Type: core.Modified, Object: packed}, err) {
					return
				}
			}
			version += len(states)
			select {
			case <-changed:
			case <-ctx.Done():
				yield(wire.Event{}, context.Cause(ctx))
				return
			}
		}
	}, nil
}

// A cache can hold objects that do not come from an API server, such as for a controller.
func ExampleOptions_source() {
	hosts := &inventory{changed: make(chan struct{})}
	hosts.Set("db", "10.0.0.7")
	shared := cache.New(nil, &cache.Options{Source: func(resource core.Resource, _ string) watcher.Source {
		hosts.resource = resource
		return hosts
	}})

	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	view := cache.Of[corev1.ConfigMap](shared, nil)
	running.Go(func() { _ = view.Run(ctx) })
	for change, err := range view.Subscribe(ctx) {
		if err != nil || change.Type == core.Bookmark {
			fmt.Println(change.Type, err)
			hosts.Set("db", "10.0.0.8")
			continue
		}
		var db corev1.ConfigMap
		err := change.New.Decode(&db)
		fmt.Println(change.Type, db.Name, db.Data["address"], err)
		if change.Type == core.Modified {
			break
		}
	}
	// Output:
	// ADDED db 10.0.0.7 <nil>
	// BOOKMARK <nil>
	// MODIFIED db 10.0.0.8 <nil>
}
