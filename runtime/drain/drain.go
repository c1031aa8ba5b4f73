// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Options are the options of [Node]. The zero value of a field is its default.
type Options struct {
	// IgnoreDaemonSets skips the pods of daemon sets, whose controller ignores that the node is cordoned and would
	// recreate them. Default: Node refuses to drain such pods.
	IgnoreDaemonSets bool

	// DeleteEmptyDirData also evicts pods with emptyDir volumes, whose data is lost. Default: Node refuses to drain
	// such pods.
	DeleteEmptyDirData bool

	// Force also evicts pods without a controller and pods of a deleted daemon set, which nothing recreates. Default:
	// Node refuses to drain such pods.
	Force bool

	// DisableEviction deletes pods instead of evicting them, which ignores disruption budgets. Default: false.
	DisableEviction bool

	// GracePeriod is the time that each pod has to terminate, in whole seconds, even if it is terminating already;
	// new(time.Duration(0)) kills it immediately. Default: that of the pod.
	GracePeriod *time.Duration

	// PodSelector is a label selector of the pods to move. Default: all pods.
	PodSelector string

	// Skip reports whether a pod stays on the node. It is called for each pod but mirror pods, before the node is cordoned
	// and again afterwards. Default: no pod stays.
	Skip func(*corev1.Pod) bool

	// DryRun makes Node change nothing, and return the states in which the drain would begin: it would evict the pods that
	// are Pending. It does not check disruption budgets and the permissions to cordon and to evict, and does not call
	// Progress. Default: false.
	DryRun bool

	// Progress is called for each pod when its state changes, one call at a time. Default: none.
	Progress func(Pod)
}

// Report has the final states of the pods of a node.
type Report struct {
	Node string
	Pods []Pod // by namespace and name
}

// drain is one run of [Node].
type drain struct {
	client  *client.Client
	node    string
	options Options
	calls   chan struct{} // has a slot for each concurrent request

	mu   sync.Mutex // guards pods and orders calls of Progress
	pods []*Pod
}

// maxCalls is the maximum number of concurrent requests of a drain, besides its watch.
const maxCalls = 16

// Node cordons a node, evicts its pods, and returns when they are deleted. The report has the state of each pod. It is
// not nil if there is an error, unless the pods could not be listed.
//
// Errors: [*Error] if pods remain; [core.ErrNotFound] if the node does not exist.
func Node(ctx context.Context, c *client.Client, name string, o *Options) (*Report, error) {
	d := &drain{client: c, node: name, calls: make(chan struct{}, maxCalls)}
	if o != nil {
		d.options = *o
	}
	if g := d.options.GracePeriod; g != nil && (*g < 0 || *g%time.Second != 0) {
		return nil, &request.InvalidError{
			Field:  "drain.Options.GracePeriod",
			Detail: fmt.Sprintf("%v is not a number of whole seconds", *g),
		}
	}
	nodes := client.Of[metav1.PartialObjectMetadata](c, nodeResource())
	if _, err := nodes.Get(ctx, name, nil); err != nil {
		return nil, err
	}
	if err := d.plan(ctx); err != nil { // and change nothing if it refuses
		return d.report(), err
	}
	if err := d.tryWatch(ctx); err != nil || d.options.DryRun {
		return d.report(), err
	}
	if _, err := node.New(c).Cordon(ctx, name, nil); err != nil {
		return d.report(), err
	}
	if err := d.plan(ctx); err != nil { // with the pods that were created before the node was cordoned
		return d.report(), err
	}
	for _, p := range d.pods {
		d.tell(*p)
	}
	err := d.empty(ctx)
	return d.report(), err
}

// plan lists the pods of the node and sets the first state of each.
func (d *drain) plan(ctx context.Context) error {
	d.pods = nil
	judge := judge{client: d.client, options: d.options, daemonSets: map[core.ObjectRef]bool{}}
	for obj, err := range client.ClusterWide[corev1.Pod](d.client).All(ctx, d.selection()) {
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

// selection selects the pods to move.
func (d *drain) selection() *request.ListOptions {
	return &request.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.node).String(),
		LabelSelector: d.options.PodSelector,
	}
}

// empty evicts the pods, and waits until they are deleted.
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
		if err := d.watch(ctx, leave, func() {}); err != nil {
			stop(err)
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
	return d.failure(leave.cause(cause))
}

// set stores and reports the state of a pod.
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
