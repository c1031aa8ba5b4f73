// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/wait"
)

// Options are the options of [CRDs]. The zero value of a field is its default.
type Options struct {
	// FieldManager owns the fields that are applied. Default: kube-install.
	FieldManager string

	// AllowDowngrade also applies a definition that lacks parts of the installed one, unless it lacks a version in its
	// status.storedVersions, which servers refuse. Default: false; CRDs returns a [*DowngradeError] for it.
	AllowDowngrade bool
}

const (
	defaultManager = "kube-install"
	// changes is the maximum number of times that a definition is compared again because another client has changed it.
	changes = 10
	// servedPoll is the interval at which a new kind is requested until it is served, and failurePoll that after a
	// failure for another reason.
	servedPoll  = 50 * time.Millisecond
	failurePoll = time.Second
)

// CRDs applies CustomResourceDefinitions and waits until the server serves their kinds. It compares all definitions
// with the installed ones before it applies the first. It takes ownership of fields from other managers, since a
// definition has one owner. Fields that only others have set stay, such as the injected CA of a conversion webhook,
// unless the new definition has no webhook.
//
// CRDs waits until the context ends, even for kinds that may never be served, for example because another definition
// has the same names. The error then includes the last error of the server. A failure of the server or of the
// connection during this wait is not an error. CRDs does not wait for a conversion webhook.
//
// Errors: [*DowngradeError]; [core.ErrInvalid] if the server rejects a definition; the context's cause.
func CRDs(ctx context.Context, c *client.Client, crds []*unstructured.Unstructured, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	i := installer{
		client: c,
		api:    client.Dynamic(c, core.CRDResource()),
		opts:   *o,
	}
	if i.opts.FieldManager == "" {
		i.opts.FieldManager = defaultManager
	}
	wanted := make([]*definition, len(crds))
	for n, crd := range crds {
		d, err := read(crd)
		if err != nil {
			return fmt.Errorf("install: definition %d of %d: %w", n+1, len(crds), err)
		}
		wanted[n] = d
	}
	for _, step := range []func(context.Context, *definition) error{i.compare, i.apply, i.await} {
		for _, d := range wanted {
			if err := step(ctx, d); err != nil {
				return fmt.Errorf("install %s: %w", d.Metadata.Name, err)
			}
		}
	}
	return nil
}

// installer is the state of one call of [CRDs].
type installer struct {
	client *client.Client
	api    *client.API[unstructured.Unstructured]
	opts   Options
}

// compare rejects a definition that lacks parts of the installed one, and records the installed version. If the
// installed one is being deleted, compare waits until it is deleted.
func (i *installer) compare(ctx context.Context, d *definition) error {
	d.installed = nil
	crd, err := i.api.Get(ctx, d.Metadata.Name, nil)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if crd.GetDeletionTimestamp() != nil { // the server deletes its objects, and rejects new ones
		if err := wait.Gone(ctx, i.api, d.Metadata.Name, crd.GetUID(), nil); err != nil {
			return err
		}
		return i.compare(ctx, d) // with the definition that others may have installed since
	}
	installed, err := read(crd)
	if err != nil {
		return fmt.Errorf("installed definition: %w", err)
	}
	d.installed = crd
	losses, stored := installed.lostIn(d), installed.storedLostIn(d)
	if len(stored) > 0 || len(losses) > 0 && !i.opts.AllowDowngrade {
		return &DowngradeError{Name: d.Metadata.Name, Losses: losses, stored: stored}
	}
	return nil
}

// apply applies a definition on top of the compared one. If another client has changed that one, apply compares again.
func (i *installer) apply(ctx context.Context, d *definition) error {
	var err error
	for range changes {
		err = i.applyOnce(ctx, d)
		if !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrAlreadyExists) {
			return err
		}
		if err := i.compare(ctx, d); err != nil {
			return err
		}
	}
	return fmt.Errorf("other clients changed the definition during each of %d attempts: %w", changes, err)
}

// applyOnce creates a definition that does not exist, since an apply would also change one that another client has
// created in the meantime. Then it removes a webhook that the apply would keep, migrates the ownership of the written
// fields, and applies.
func (i *installer) applyOnce(ctx context.Context, d *definition) error {
	crd := d.source.DeepCopy()
	if d.installed == nil {
		crd.SetResourceVersion("")
		created, err := i.api.Create(ctx, crd, &request.CreateOptions{FieldManager: i.opts.FieldManager})
		if err != nil {
			return err
		}
		d.installed = created
	}
	for _, step := range []func(context.Context, *definition) error{i.endConversion, i.migrate} {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	crd.SetResourceVersion(d.installed.GetResourceVersion())
	_, err := i.api.Apply(ctx, crd, &request.ApplyOptions{FieldManager: i.opts.FieldManager, Force: true})
	return err
}

// endConversion removes the webhook of the installed definition if the new one does not convert by a webhook. An apply
// would keep the bundle, whose owner is the webhook server, and the server would refuse a bundle without a webhook. The
// patch replaces the versions, too: without the webhook, the server would serve the removed ones unconverted.
func (i *installer) endConversion(ctx context.Context, d *definition) error {
	if d.converts() {
		return nil
	}
	installed, err := read(d.installed)
	if err != nil || !installed.converts() {
		return err
	}
	versions, _, err := unstructured.NestedFieldNoCopy(d.source.Object, "spec", "versions")
	if err != nil {
		return err
	}
	ops := []request.Op{
		// The server refuses a failed test as invalid, but another resource version as a conflict.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: d.installed.GetResourceVersion()},
		{Op: "replace", Path: "/spec/conversion", Value: map[string]any{"strategy": "None"}},
		{Op: "replace", Path: "/spec/versions", Value: versions},
	}
	return i.patch(ctx, d, ops)
}

// migrate turns the field manager's create and patch into an apply. Otherwise, fields that a later definition omits
// would stay.
func (i *installer) migrate(ctx context.Context, d *definition) error {
	if len(d.installed.GetManagedFields()) == 0 {
		return nil // another client has removed them on purpose
	}
	ops, err := managed.Migrate(d.installed, []string{i.opts.FieldManager}, i.opts.FieldManager, nil)
	if err != nil || len(ops) == 0 {
		return err
	}
	return i.patch(ctx, d, ops)
}

// patch changes the installed definition.
func (i *installer) patch(ctx context.Context, d *definition, ops []request.Op) (err error) {
	o := &request.PatchOptions{FieldManager: i.opts.FieldManager}
	d.installed, err = i.api.Patch(ctx, d.Metadata.Name, request.JSONPatch(ops...), o)
	return err
}

// await waits until the kinds of a definition can be used.
func (i *installer) await(ctx context.Context, d *definition) error {
	if _, err := wait.Await(ctx, i.api, d.Metadata.Name, established, nil); err != nil {
		return err
	}
	for _, v := range d.Spec.Versions {
		if !v.Served {
			continue
		}
		if err := i.awaitServed(ctx, d, v.Name); err != nil {
			return err
		}
	}
	return nil
}

// established is the condition that a definition is served. Unlike [wait.Ready], it also holds while the server refuses
// new names of the definition and serves the old ones.
func established(crd *unstructured.Unstructured) error {
	status := wait.StatusCondition[unstructured.Unstructured]
	err := status("Established", metav1.ConditionTrue)(crd)
	if refused := status("NamesAccepted", metav1.ConditionFalse)(crd) == nil; err != nil && refused {
		return status("NamesAccepted", metav1.ConditionTrue)(crd) // with the reason
	}
	return err
}

// awaitServed waits until a kind can be watched, which is shortly after it is established: the server first has to fill
// a cache of its objects, and until then responds that the kind does not exist, or that it is too busy. It is also too
// busy, or has an internal error, while a webhook does not convert the existing objects. Such a webhook may belong to
// the caller, and be served only after this call, so awaitServed does not wait for it. A failure that may pass is not
// returned, because the definition is installed already.
func (i *installer) awaitServed(ctx context.Context, d *definition, version string) error {
	res := d.resource(version)
	var refused error // the last error
	for {
		err := i.watch(ctx, res)
		if d.converts() && (errors.Is(err, core.ErrTooManyRequests) || errors.Is(err, core.ErrInternal)) {
			return nil
		}
		pause := servedPoll
		if ctx.Err() == nil {
			switch {
			case err == nil:
				return nil
			case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrTooManyRequests):
			case core.IsRetryable(err):
				pause = failurePoll
			default:
				return err
			}
			refused = err
		}
		select {
		case <-ctx.Done():
			if refused == nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w; the last error was: %w", context.Cause(ctx), refused)
		case <-time.After(pause):
		}
	}
}

// watch returns nil if the server accepts a watch of its cache, which all servers do as soon as the cache is filled. A
// streaming list would be rejected by servers without the feature gate WatchList.
func (i *installer) watch(ctx context.Context, res core.Resource) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the response
	_, err := client.Dynamic(i.client, res).Feed().Watch(ctx, &request.WatchOptions{ResourceVersion: "0"})
	return err
}
