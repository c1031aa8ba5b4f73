// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/definition"
	"github.com/kube-go/sdk/kubetest/internal/fields"
	"github.com/kube-go/sdk/kubetest/internal/store"
	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// post creates an object, or serves a subresource that is created.
func (c *call) post() error {
	if c.subresource != "" {
		return c.postSubresource()
	}
	if c.ref.Name != "" || c.kind.Namespaced && c.ref.Namespace == "" {
		return notAllowed()
	}
	var o metav1.CreateOptions
	if err := options(c, &o, "CreateOptions", validation.ValidateCreateOptions); err != nil {
		return err
	}
	obj, err := c.decode(o.FieldValidation)
	if err != nil {
		return err
	}
	if isReview(c.kind) {
		return c.review(obj)
	}
	obj, err = c.change(o.DryRun, o.FieldManager, o.FieldValidation, func(w *write) (*unstructured.Unstructured, error) {
		if w.terminating() {
			return nil, apierrors.NewForbidden(w.kind.resource(), "", errors.New(
				"create not allowed while custom resource definition is terminating"))
		}
		return w.create(obj, false)
	})
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, obj)
}

// put replaces an object.
func (c *call) put() error {
	if c.ref.Name == "" {
		return notAllowed()
	}
	var o metav1.UpdateOptions
	if err := options(c, &o, "UpdateOptions", validation.ValidateUpdateOptions); err != nil {
		return err
	}
	if c.subresource == "scale" {
		return c.putScale(o)
	}
	if err := c.checkSubresource(); err != nil {
		return err
	}
	obj, err := c.decode(o.FieldValidation)
	if err != nil {
		return err
	}
	code, refusal := http.StatusOK, c.refusal("create")
	obj, err = c.change(o.DryRun, o.FieldManager, o.FieldValidation, func(w *write) (*unstructured.Unstructured, error) {
		if err := errors.Join(w.checkName(obj), w.matchNamespace(obj)); err != nil {
			return nil, err
		}
		live, err := w.live()
		creates := apierrors.IsNotFound(err) && c.subresource == "" && createsOnUpdate(c.kind.stored())
		if err != nil && !creates {
			return nil, err
		}
		if err := w.checkUID(live, obj); err != nil {
			return nil, err
		}
		if creates && refusal != nil {
			return nil, denied(c.Context(), refusal)
		}
		if creates {
			code = http.StatusCreated
			obj.SetResourceVersion("")
			return w.create(obj, false)
		}
		return w.update(live, obj, false)
	})
	if err != nil {
		return err
	}
	return c.respond(code, obj)
}

// checkSubresource returns an error for a subresource that can't be written like its object.
func (c *call) checkSubresource() error {
	switch c.subresource {
	case "", "status", "finalize", "approval", "ephemeralcontainers", "resize":
		return nil
	default:
		return unsupported(c.Method + " of the subresource " + c.subresource)
	}
}

// patch changes or applies an object.
func (c *call) patch() error {
	if c.ref.Name == "" {
		return notAllowed()
	}
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	if err := c.checkPatchType(mediaType); err != nil {
		return err
	}
	var o metav1.PatchOptions
	if err := options(c, &o, "PatchOptions", func(o *metav1.PatchOptions) field.ErrorList {
		return validation.ValidatePatchOptions(o, types.PatchType(mediaType))
	}); err != nil {
		return err
	}
	if err := fields.CheckPatch(mediaType, data); err != nil {
		return err
	}
	if c.subresource == "scale" {
		return c.patchScale(data, mediaType, o)
	}
	if err := c.checkSubresource(); err != nil {
		return err
	}
	created, refusal := false, c.refusal("create")
	obj, err := c.change(o.DryRun, o.FieldManager, o.FieldValidation, func(w *write) (*unstructured.Unstructured, error) {
		p := patch{call: c, write: w, data: data, mediaType: mediaType, force: o.Force != nil && *o.Force}
		if w.tx.Get(w.key()) == nil && p.applies() && c.subresource == "" {
			if refusal != nil {
				return nil, denied(c.Context(), refusal)
			}
			created = true
			return p.create()
		}
		return p.change()
	})
	switch {
	case err != nil:
		return err
	case created:
		return c.respond(http.StatusCreated, obj)
	default:
		return c.respond(http.StatusOK, obj)
	}
}

// change runs a change of the object of the request in a transaction.
func (c *call) change(
	dryRun []string, manager, fieldValidation string, f func(*write) (*unstructured.Unstructured, error),
) (obj *unstructured.Unstructured, err error) {
	reviews := c.admissionOf(dryRun, manager, fieldValidation)
	if manager == "" { // https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
		manager, _, _ = strings.Cut(c.UserAgent(), "/")
	}
	if fieldValidation == "" {
		fieldValidation = metav1.FieldValidationWarn
	}
	var warnings []string
	err = afterReviews(c.Context(), func() error {
		warnings = nil
		return c.transact(c.Context(), len(dryRun) > 0, func(tx *store.Tx) (err error) {
			w := &write{
				Server: c.Server, call: c, tx: tx, kind: c.kind, ref: c.ref, subresource: c.subresource, manager: manager,
				validation: fieldValidation, admission: reviews,
				warn: func(text string) { warnings = append(warnings, text) },
			}
			if err = w.refuseSubresource(); err == nil {
				obj, err = f(w)
			}
			return err
		})
	})
	for _, text := range warnings {
		c.warn(text)
	}
	return obj, err
}

// transact runs a transaction, and serves the kinds of the definitions that it leaves.
func (s *Server) transact(ctx context.Context, dryRun bool, f func(*store.Tx) error) error {
	return s.Store.Update(dryRun, func(tx *store.Tx) error {
		if err := f(tx); err != nil || dryRun {
			return err
		}
		if slices.ContainsFunc(tx.Changes(), func(c store.Change) bool { return c.GroupResource == definitions() }) {
			if err := s.serveDefinitions(tx); err != nil {
				return err
			}
		}
		observe(ctx, tx.Changes())
		return nil
	})
}

// serveDefinitions serves the kinds of all definitions. Names that a definition does not have any more may now belong
// to another one.
func (s *Server) serveDefinitions(tx *store.Tx) error {
	for changed := true; changed; {
		changed = false
		all := tx.List(definitions())
		for _, crd := range all {
			accepted, err := definition.Accept(crd, all)
			if err != nil {
				return err
			}
			if !equality.Semantic.DeepEqual(crd.Object, accepted.Object) {
				tx.Put(store.Key{GroupResource: definitions(), ObjectRef: core.RefOf(crd)}, accepted)
				changed = true
				break
			}
		}
	}
	return s.kinds.set(tx.List(definitions()))
}

// delete deletes an object or, without a name, a collection.
func (c *call) delete() error {
	if c.subresource != "" || c.ref.Name == "" && c.ref.Namespace == "" && !c.deletesAll() {
		return notAllowed()
	}
	o, err := c.deleteOptions()
	if err != nil {
		return err
	}
	if c.kind.stored() == namespaces() && slices.Contains([]string{"default", "kube-public", "kube-system"}, c.ref.Name) {
		return apierrors.NewForbidden(namespaces(), c.ref.Name, errors.New("this namespace may not be deleted"))
	}
	if c.kind.stored() == jobs() && o.PropagationPolicy == nil &&
		o.OrphanDependents == nil { //nolint:staticcheck // deprecated, but servers support it
		c.warn("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them " +
			"or set propagationPolicy=Orphan to suppress this warning")
	}
	if c.ref.Name == "" {
		return c.deleteCollection(o)
	}
	var removed bool
	obj, err := c.change(o.DryRun, "", "", func(w *write) (obj *unstructured.Unstructured, err error) {
		obj, removed, err = w.delete(o)
		return obj, err
	})
	if err != nil {
		return err
	}
	if !removed || returnsDeleted(c.kind) {
		return c.respond(http.StatusOK, obj)
	}
	status := success(0)
	status.Details = &metav1.StatusDetails{Name: c.ref.Name, Group: c.kind.Group, Kind: c.kind.Plural, UID: obj.GetUID()}
	respond(c.w, http.StatusOK, status)
	return nil
}

// deletesAll returns whether all objects of the kind can be deleted at once.
func (c *call) deletesAll() bool {
	return !c.kind.Namespaced && slices.Contains(c.kind.Verbs, "deletecollection")
}

// deleteOptions returns the options in the body of the request or, without a body, in its parameters.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	data, mediaType, err := c.body()
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return o, options(c, o, "DeleteOptions", validation.ValidateDeleteOptions)
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return nil, typed.UnknownFormat()
	}
	kind := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	decoder := scheme.Codecs.DecoderToVersion(info.Serializer, schema.GroupVersion{Version: "v1"})
	if obj, _, err := decoder.Decode(data, &kind, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	} else if obj != o {
		return nil, failure("decoded object cannot be converted to DeleteOptions")
	}
	return o, valid(o, "DeleteOptions", validation.ValidateDeleteOptions)
}

func (c *call) deleteCollection(o *metav1.DeleteOptions) error {
	listed, err := c.listOptions()
	if err != nil {
		return err
	}
	s, err := c.newSelection(listed)
	if err != nil {
		return err
	}
	items, meta, err := c.list(listed, s)
	if err != nil {
		return err
	}
	f, err := c.form()
	if err != nil {
		return err
	}
	for _, obj := range items {
		one := *c
		one.collection = true
		one.ref = core.ObjectRef{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		_, err := one.change(o.DryRun, "", "", func(w *write) (*unstructured.Unstructured, error) {
			obj, _, err := w.delete(o)
			return obj, err
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return c.respondList(f, items, meta)
}

// returnsDeleted returns whether the response to the deletion of an object is the object. For other kinds, it is a
// Status.
func returnsDeleted(k *kind) bool {
	switch k.Group {
	case "":
		switch k.Plural {
		case "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "namespaces",
			"resourcequotas", "podtemplates":
			return true
		}
	case "resource.k8s.io":
		return k.Kind != "DeviceTaintRule"
	case "storage.k8s.io":
		return k.Plural != "csistoragecapacities"
	}
	return false
}
