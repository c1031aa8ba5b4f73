// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"time"

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

	// AllowDowngrade also applies a definition that has less than the installed one.
	AllowDowngrade bool
}

// definitions is what CustomResourceDefinitions are called on the wire, see
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/.
func definitions() core.Resource {
	return core.Resource{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Plural: "customresourcedefinitions",
	}
}

const (
	defaultManager = "kube-install"
	// changes is how often a definition is looked at again because somebody has changed it meanwhile.
	changes = 10
	// servedPoll is how often a kind that was just installed is asked for.
	servedPoll = 50 * time.Millisecond
)

// CRDs applies CustomResourceDefinitions and waits until the server serves their kinds. All definitions are compared with
// what is installed before the first is applied. It takes over fields of other managers, since a definition has one owner;
// what only others have set stays, such as the CA that somebody injects for a conversion webhook.
//
// It waits for as long as the context lets it, also for what may never come, as when another definition has the names of
// this one. The error then says what was seen last. Where a webhook converts the objects, it is not waited for.
//
// Errors: [*DowngradeError]; [core.ErrInvalid] when the server refuses a definition; the context's cause.
func CRDs(ctx context.Context, c *client.Client, crds []*unstructured.Unstructured, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	i := installer{
		client: c,
		api:    client.Dynamic(c, definitions(), ""),
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

// installer is one call of [CRDs].
type installer struct {
	client *client.Client
	api    *client.API[unstructured.Unstructured]
	opts   Options
}

// compare refuses a definition that has less than the installed one, of which it notes the version. It waits for the
// end of one that is being deleted.
func (i *installer) compare(ctx context.Context, d *definition) error {
	d.installed = nil
	crd, err := i.api.Get(ctx, d.Metadata.Name, nil)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if crd.GetDeletionTimestamp() != nil { // its objects are being removed, and new ones are refused
		if err := wait.Gone(ctx, i.api, d.Metadata.Name, crd.GetUID(), nil); err != nil {
			return err
		}
		return i.compare(ctx, d) // with what others may have installed since
	}
	installed, err := read(crd)
	if err != nil {
		return fmt.Errorf("what is installed: %w", err)
	}
	d.installed = crd
	if losses := installed.lostIn(d); len(losses) > 0 && !i.opts.AllowDowngrade {
		return &DowngradeError{Name: d.Metadata.Name, Losses: losses}
	}
	return nil
}

// apply applies a definition on top of what was compared. When somebody was faster, it is compared again.
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
	return fmt.Errorf("somebody changes it again and again: %d attempts found it changed: %w", changes, err)
}

// applyOnce creates a definition that is not there, since an apply would change one that somebody has created meanwhile,
// whatever it has. Then it makes what was created the same as what was applied, and applies.
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
	if err := i.migrate(ctx, d); err != nil {
		return err
	}
	crd.SetResourceVersion(d.installed.GetResourceVersion())
	_, err := i.api.Apply(ctx, crd, &request.ApplyOptions{FieldManager: i.opts.FieldManager, Force: true})
	return err
}

// migrate makes an apply of what the field manager has created. Otherwise, what a later definition leaves out would stay.
func (i *installer) migrate(ctx context.Context, d *definition) error {
	if len(d.installed.GetManagedFields()) == 0 {
		return nil // somebody has removed them, on purpose
	}
	ops, err := managed.Migrate(d.installed, []string{i.opts.FieldManager}, i.opts.FieldManager, nil)
	if err != nil || len(ops) == 0 {
		return err
	}
	d.installed, err = i.api.Patch(ctx, d.Metadata.Name, request.JSONPatch(ops...), &request.PatchOptions{FieldManager: i.opts.FieldManager})
	return err
}

// await waits until the kinds of a definition can be used.
func (i *installer) await(ctx context.Context, d *definition) error {
	if _, err := wait.Await(ctx, i.api, d.Metadata.Name, wait.Established[unstructured.Unstructured](), nil); err != nil {
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

// awaitServed waits until a kind can be watched, which is a moment after it is established: the server first has to fill
// a cache of its objects, and until then says that it has no such kind, or that it is too busy. It is also too busy for as
// long as a webhook does not convert the objects that there are. Such a webhook may be the caller's own, and be served
// only after this: it is not waited for.
func (i *installer) awaitServed(ctx context.Context, d *definition, version string) error {
	res := d.resource(version)
	tick := time.NewTicker(servedPoll)
	defer tick.Stop()
	var refused error // the last time
	for {
		err := i.watchOnce(ctx, res)
		if d.converts() && errors.Is(err, core.ErrTooManyRequests) {
			return nil
		}
		if ctx.Err() == nil {
			if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrTooManyRequests) {
				return err
			}
			refused = err
		}
		select {
		case <-ctx.Done():
			if refused == nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w; the last answer was: %w", context.Cause(ctx), refused)
		case <-tick.C:
		}
	}
}

// watchOnce returns the error of the first event of a watch.
func (i *installer) watchOnce(ctx context.Context, res core.Resource) error {
	for _, err := range client.Dynamic(i.client, res, "").Watch(ctx, &request.WatchOptions{SendInitialEvents: true}) {
		return err
	}
	return nil
}
