// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
	"github.com/kube-go/sdk/kubetest/internal/webhook"
)

// admission has the reviews of a request by webhooks. A webhook may send requests to the server, so it is called
// between transactions. A transaction that needs a review ends with an [*unreviewed] error, and begins again after the
// review.
type admission struct {
	user     authenticationv1.UserInfo
	dryRun   bool
	options  map[admissionv1.Operation]runtime.Object
	warn     func(string)
	mutated  *reviewed
	approved *reviewed
}

// reviewed is the result of a review.
type reviewed struct {
	live string                     // the identity of the live object, since another one needs another review
	obj  *unstructured.Unstructured // nil for a deletion
}

// unreviewed is the error of a write that needs a review.
type unreviewed struct {
	review func(context.Context) error
}

func (*unreviewed) Error() string { return "the request needs a review by webhooks" }

// admissionOf returns the reviews of a call that has not been reviewed.
func (c *call) admissionOf(dryRun []string, manager, fieldValidation string) *admission {
	if c.Webhooks == nil {
		return nil
	}
	return &admission{
		user: userInfo(&c.user), dryRun: len(dryRun) > 0, warn: c.warn,
		options: map[admissionv1.Operation]runtime.Object{
			admissionv1.Create: &metav1.CreateOptions{
				TypeMeta: optionsType("CreateOptions"), DryRun: dryRun, FieldManager: manager, FieldValidation: fieldValidation,
			},
			admissionv1.Update: &metav1.UpdateOptions{
				TypeMeta: optionsType("UpdateOptions"), DryRun: dryRun, FieldManager: manager, FieldValidation: fieldValidation,
			},
		},
	}
}

// optionsType returns the type of the options of a review.
func optionsType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: kind}
}

// mutate returns the object of a create or an update after the mutating webhooks have changed it, and whether they
// have. live is nil for a create.
func (w *write) mutate(live, obj *unstructured.Unstructured) (out *unstructured.Unstructured, changed bool, err error) {
	if w.admission == nil {
		return obj, false, nil
	}
	out, err = w.review(true, live, obj)
	return out, out != obj, err
}

// approve returns an error if a validating webhook denies a create or an update. It returns the reviewed object, whose
// generated name and UID are those of the first transaction.
func (w *write) approve(live, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if w.admission == nil {
		return obj, nil
	}
	return w.review(false, live, obj)
}

// approveDelete returns an error if a webhook denies the deletion of an object.
func (w *write) approveDelete(live *unstructured.Unstructured, o *metav1.DeleteOptions) error {
	if w.admission == nil {
		return nil
	}
	o = o.DeepCopy()
	o.TypeMeta = optionsType("DeleteOptions")
	w.admission.options[admissionv1.Delete] = o
	live, err := w.kind.convert(live)
	if err != nil {
		return err
	}
	for _, mutating := range []bool{true, false} {
		if _, err := w.review(mutating, live, nil); err != nil {
			return err
		}
	}
	return nil
}

// configurations returns the resource of the configurations of webhooks.
func configurations(mutating bool) schema.GroupResource {
	gr := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}
	if mutating {
		gr.Resource = "mutatingwebhookconfigurations"
	}
	return gr
}

// hooks returns the webhooks whose rules match a request.
func (w *write) hooks(mutating bool, r *webhook.Request) ([]*webhook.Hook, error) {
	if w.kind.Group == configurations(mutating).Group {
		return nil, nil // so that a broken configuration can be changed
	}
	hooks, err := webhook.Hooks(w.tx.List(configurations(mutating)))
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return webhook.For(hooks, r), nil
}

// review returns the object after a review. If the webhooks have not reviewed it, the error is [*unreviewed].
func (w *write) review(mutating bool, live, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r := w.reviewRequest(live, obj)
	hooks, err := w.hooks(mutating, r)
	if err != nil || len(hooks) == 0 {
		return obj, err
	}
	done, id := &w.admission.approved, ""
	if mutating {
		done = &w.admission.mutated
	}
	if live != nil {
		id = string(live.GetUID()) + "/" + live.GetResourceVersion()
	}
	if *done != nil && (*done).live == id {
		return (*done).obj.DeepCopy(), nil
	}
	ask, a := webhook.Validate, w.admission
	if mutating {
		ask, a.approved = webhook.Mutate, nil
	}
	return nil, &unreviewed{func(ctx context.Context) error {
		if err := ask(ctx, w.Webhooks, hooks, r, a.warn); err != nil {
			return err
		}
		*done = &reviewed{id, r.Object}
		return nil
	}}
}

// reviewRequest returns what webhooks learn about a request. obj is nil for a deletion, live for a create.
func (w *write) reviewRequest(live, obj *unstructured.Unstructured) *webhook.Request {
	r := &webhook.Request{
		Operation: admissionv1.Update, Subresource: w.subresource, Namespace: w.ref.Namespace, Name: w.ref.Name,
		User: w.admission.user, DryRun: w.admission.dryRun, Object: obj.DeepCopy(), Old: live.DeepCopy(),
	}
	switch {
	case live == nil:
		r.Operation = admissionv1.Create
	case obj == nil:
		r.Operation = admissionv1.Delete
	}
	if r.Name == "" && obj != nil {
		r.Name = obj.GetName()
	}
	if w.kind.stored() == namespaces() {
		r.Namespace = r.Name
	} else if r.Namespace != "" {
		key := store.Key{GroupResource: namespaces(), ObjectRef: core.ObjectRef{Name: r.Namespace}}
		if ns := w.tx.Get(key); ns != nil {
			r.NamespaceLabels = ns.GetLabels()
		}
	}
	if w.call.collection {
		r.Name = "" // as on a server
	}
	r.Options.Object = w.admission.options[r.Operation]
	for _, k := range append([]*kind{w.kind}, w.kinds.otherVersions(w.kind)...) {
		r.Versions = append(r.Versions, webhook.Version{
			Kind: k.GroupVersionKind(), Resource: k.GroupVersionResource(), Convert: k.convert,
			Complete: func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				obj, _, err := k.complete(obj)
				return obj, err
			},
		})
	}
	return r
}

// wiped returns a copy of a new object without the metadata that only the server sets, as mutating webhooks receive it.
func wiped(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetUID(types.UID(""))
	unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	return obj
}

// refuseSubresource returns an error if webhooks want to review a write of a subresource that is another kind.
func (w *write) refuseSubresource() error {
	if w.admission == nil || !slices.Contains([]string{"scale", "eviction", "binding"}, w.subresource) {
		return nil
	}
	r := w.reviewRequest(nil, nil)
	if w.subresource == "scale" {
		r.Operation = admissionv1.Update
	}
	for _, mutating := range []bool{true, false} {
		hooks, err := w.hooks(mutating, r)
		if err != nil {
			return err
		}
		if len(hooks) > 0 {
			return apierrors.NewInternalError(fmt.Errorf("kubetest does not call the webhook %q for %s/%s: use a real cluster",
				hooks[0].Name, w.kind.Plural, w.subresource))
		}
	}
	return nil
}

// maxReviews is how often a request is reviewed while its object changes. A real server ends such a request after 34
// seconds.
const maxReviews = 1000

// afterReviews runs a transaction, again after each review that it needs.
func afterReviews(ctx context.Context, transaction func() error) error {
	for range maxReviews {
		err := transaction()
		needed, ok := errors.AsType[*unreviewed](err)
		if !ok {
			return err
		}
		if err := needed.review(ctx); err != nil {
			return err
		}
	}
	return apierrors.NewInternalError(fmt.Errorf("the object has changed during each of %d reviews by webhooks: a "+
		"webhook must not change the object that it reviews", maxReviews))
}
