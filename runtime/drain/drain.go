// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Options are the options of [Node]. The zero value of a field is its default.
type Options struct {
	// IgnoreDaemonSets leaves the pods of daemon sets where they are; their controller does not heed that the node is
	// cordoned and would make them again. Default: such pods are a reason to refuse.
	IgnoreDaemonSets bool

	// DeleteEmptyDirData lets go of pods with emptyDir volumes, whose data is then lost. Default: such pods are a reason
	// to refuse.
	DeleteEmptyDirData bool

	// Force lets go of pods without a controller, or whose daemon set is gone: nobody makes them again. Default: such pods
	// are a reason to refuse.
	Force bool

	// DisableEviction deletes pods instead of evicting them, whatever the disruption budgets say.
	DisableEviction bool

	// GracePeriod is how long each pod may take to end, in whole seconds, also one that is ending already;
	// new(time.Duration(0)) means at once. Default: the pod's own.
	GracePeriod *time.Duration

	// PodSelector is a label selector of the pods that are moved. Default: all.
	PodSelector string

	// Progress is told of each pod whenever its state changes, one call at a time. Default: nobody is.
	Progress func(Pod)
}

// Report is what became of the pods of a node.
type Report struct {
	Node string
	Pods []Pod // by namespace and name
}

// drain is one run of [Node].
type drain struct {
	client  *client.Client
	node    string
	options Options
	calls   chan struct{} // holds as many as there may be requests under way

	mu   sync.Mutex // guards pods and orders calls of Progress
	pods []*Pod
}

// maxCalls is how many requests a drain has under way at most, besides its watch.
const maxCalls = 16

// Node cordons a node and moves its pods away, and returns when they are gone. The report tells what became of each pod,
// and is there also when there is an error, unless the pods could not be listed.
//
// Errors: [*Error] when there are pods that stay; [core.ErrNotFound] when there is no such node.
func Node(ctx context.Context, c *client.Client, name string, o *Options) (*Report, error) {
	d := &drain{client: c, node: name, calls: make(chan struct{}, maxCalls)}
	if o != nil {
		d.options = *o
	}
	if g := d.options.GracePeriod; g != nil && (*g < 0 || *g%time.Second != 0) {
		return nil, &request.InvalidError{Field: "drain.Options.GracePeriod", Detail: fmt.Sprintf("%v is not a number of whole seconds", *g)}
	}
	nodes := client.Of[metav1.PartialObjectMetadata](c, nodeResource())
	if _, err := nodes.Get(ctx, name, nil); err != nil {
		return nil, err
	}
	if err := d.plan(ctx); err != nil { // and change nothing if it is refused
		return d.report(), err
	}
	if _, err := node.New(c).Cordon(ctx, name, nil); err != nil {
		return d.report(), err
	}
	if err := d.plan(ctx); err != nil { // with the pods that came before the node was cordoned
		return d.report(), err
	}
	for _, p := range d.pods {
		d.tell(*p)
	}
	err := d.empty(ctx)
	return d.report(), err
}

// plan lists the pods of the node and decides what becomes of each.
func (d *drain) plan(ctx context.Context) error {
	d.pods = nil
	judge := judge{client: d.client, options: d.options, daemonSets: map[core.ObjectRef]bool{}}
	for obj, err := range client.ClusterWide[pod](d.client).All(ctx, d.selection()) {
		if err != nil {
			return err
		}
		p := &Pod{Ref: core.RefOf(obj), UID: obj.UID}
		if p.State, p.Reason, err = judge.decide(ctx, obj); err != nil {
			return err
		}
		d.pods = append(d.pods, p)
	}
	return d.failure(nil)
}

// selection selects the pods of the node that are to be moved.
func (d *drain) selection() *request.ListOptions {
	return &request.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.node).String(),
		LabelSelector: d.options.PodSelector,
	}
}

// empty moves the pods away, and waits until they are gone.
func (d *drain) empty(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var movers, watcher sync.WaitGroup
	leave := newLeaving(d.pods)
	for _, p := range d.pods {
		if gone := leave.of(p.UID); !p.State.final() {
			movers.Go(func() { d.move(ctx, p, gone) })
		}
	}
	watcher.Go(func() {
		if err := d.watch(ctx, leave); err != nil {
			stop(fmt.Errorf("watch the pods of node %s: %w", d.node, err))
		}
	})
	movers.Wait()
	cause := context.Cause(ctx)
	stop(nil)
	watcher.Wait()
	for _, p := range d.pods {
		if p.State == Evicted {
			p.Reason = leave.why(p.UID)
		}
	}
	return d.failure(cause)
}

// set notes and tells what became of a pod.
func (d *drain) set(p *Pod, state State, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.State == state && p.Reason == reason {
		return
	}
	p.State, p.Reason = state, reason
	d.tell(*p)
}

func (d *drain) tell(p Pod) {
	if d.options.Progress != nil {
		d.options.Progress(p)
	}
}

func (d *drain) report() *Report {
	r := &Report{Node: d.node}
	for _, p := range d.pods {
		r.Pods = append(r.Pods, *p)
	}
	return r
}
