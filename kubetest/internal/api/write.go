// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/fields"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// write creates, changes or deletes an object in a transaction.
type write struct {
	*Server
	call        *call // nil without a request
	tx          *store.Tx
	kind        *kind
	ref         core.ObjectRef
	subresource string
	manager     string     // of the fields that it sets
	validation  string     // the field validation
	admission   *admission // nil if no webhooks review the write
	seed        bool       // the object keeps its status
	warn        func(string)
}

func (w *write) key() store.Key { return store.Key{GroupResource: w.kind.stored(), ObjectRef: w.ref} }

// stored returns the object as it is stored.
func (w *write) stored() (*unstructured.Unstructured, error) {
	obj := w.tx.Get(w.key())
	if obj == nil {
		return nil, apierrors.NewNotFound(w.kind.resource(), w.ref.Name)
	}
	return obj, nil
}

// live returns the stored object in the version of the request. A result of a request is the stored object instead,
// since a second conversion would set the defaults of that version.
func (w *write) live() (*unstructured.Unstructured, error) {
	obj, err := w.stored()
	if err != nil {
		return nil, err
	}
	return w.kind.convert(obj)
}

// create stores a new object. With owned, it has its managed fields already.
func (w *write) create(obj *unstructured.Unstructured, owned bool) (*unstructured.Unstructured, error) {
	if err := w.checkNamespace(obj); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, failure("resourceVersion should not be set on objects to be created")
	}
	w.mergeOwners(obj, w.patches())
	obj, managed, err := w.mutateNew(obj, owned)
	if err != nil {
		return nil, err
	}
	w.mergeOwners(obj, true)
	if err := w.checkEscalation(nil, obj); err != nil {
		return nil, err
	}
	w.nameOf(obj)
	w.system(obj)
	if obj, err = w.check(obj, nil); err != nil {
		return nil, err
	}
	if obj, err = w.approve(nil, obj); err != nil {
		return nil, err
	}
	w.ref.Name = obj.GetName()
	if w.tx.Get(w.key()) != nil {
		return nil, w.alreadyExists(obj)
	}
	obj.SetManagedFields(managed)
	if obj, err = w.kind.toStore(obj); err != nil {
		return nil, err
	}
	obj = w.tx.Put(w.key(), obj)
	if len(obj.GetOwnerReferences()) > 0 {
		w.settle()
	}
	return obj, nil
}

// mutateNew returns a new object after the mutating webhooks have changed it, and its managed fields. Nobody manages
// the fields that webhooks and the server set.
func (w *write) mutateNew(
	obj *unstructured.Unstructured, owned bool,
) (out *unstructured.Unstructured, managed []metav1.ManagedFieldsEntry, err error) {
	before := wiped(obj)
	if !owned {
		if before, err = w.own(nil, before); err != nil {
			return nil, nil, err
		}
	}
	managed = before.GetManagedFields()
	out, changed, err := w.mutate(nil, before)
	if err != nil || !changed {
		return obj.DeepCopy(), managed, err
	}
	return out, managed, w.matchNamespace(out)
}

// alreadyExists returns the error for a new object with the name of a stored one.
func (w *write) alreadyExists(obj *unstructured.Unstructured) error {
	err := apierrors.NewAlreadyExists(w.kind.resource(), w.ref.Name)
	if obj.GetGenerateName() != "" {
		err = apierrors.NewGenerateNameConflict(w.kind.resource(), w.ref.Name, 1)
	}
	if w.tx.Get(w.key()).GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// checkNamespace returns an error if no objects can be created in the namespace of the request.
func (w *write) checkNamespace(obj *unstructured.Unstructured) error {
	if err := w.matchNamespace(obj); err != nil || !w.kind.Namespaced {
		return err
	}
	ns := w.tx.Get(store.Key{GroupResource: namespaces(), ObjectRef: core.ObjectRef{Name: w.ref.Namespace}})
	if ns == nil {
		return apierrors.NewNotFound(namespaces(), w.ref.Namespace)
	}
	if ns.GetDeletionTimestamp() == nil {
		return nil
	}
	name := obj.GetName()
	if name == "" {
		name = obj.GetGenerateName()
	}
	err := apierrors.NewForbidden(w.kind.resource(), name, fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", w.ref.Namespace))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: "NamespaceTerminating", Field: "metadata.namespace",
		Message: fmt.Sprintf("namespace %s is being terminated", w.ref.Namespace),
	}}
	return err
}

// matchNamespace sets the namespace of the object to that of the request, unless it has another one.
func (w *write) matchNamespace(obj *unstructured.Unstructured) error {
	switch ns := obj.GetNamespace(); {
	case ns == w.ref.Namespace:
	case ns == "" || w.ref.Namespace == "":
		obj.SetNamespace(w.ref.Namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// nameOf sets the name of the reference to that of a new object, which it generates if necessary.
func (w *write) nameOf(obj *unstructured.Unstructured) {
	const maxPrefix = 58 // servers shorten longer ones, so that the name has at most 63 characters
	prefix := obj.GetGenerateName()
	for obj.GetName() == "" && prefix != "" {
		w.ref.Name = prefix[:min(len(prefix), maxPrefix)] + rand.String(5)
		if w.tx.Get(w.key()) == nil {
			obj.SetName(w.ref.Name)
		}
	}
	w.ref.Name = obj.GetName()
}

// system sets the fields of a new object that only the server sets.
func (w *write) system(obj *unstructured.Unstructured) {
	obj.SetCreationTimestamp(metav1.Now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	if !w.seed || obj.GetUID() == "" {
		obj.SetUID(uuid.NewUUID())
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "generation")
	if w.kind.custom != nil || builtin.HasGeneration(w.kind.GroupVersionKind()) {
		obj.SetGeneration(1)
	}
}

// terminating returns whether the definition of the kind is deleted, and waits for its objects.
func (w *write) terminating() bool {
	if w.kind.custom == nil {
		return false
	}
	key := store.Key{GroupResource: definitions(), ObjectRef: core.ObjectRef{Name: w.kind.resource().String()}}
	crd := w.tx.Get(key)
	return crd != nil && crd.GetDeletionTimestamp() != nil
}

// patches returns whether the write is a patch, whose owner references a server merges only after its webhooks.
func (w *write) patches() bool { return w.call != nil && w.call.Method == http.MethodPatch }

// mergeOwners removes equal owner references, with a warning. mutated is true for those after mutating webhooks.
func (w *write) mergeOwners(obj *unstructured.Unstructured, mutated bool) {
	var unique []metav1.OwnerReference
	var duplicates []string
	for _, r := range obj.GetOwnerReferences() {
		equal := func(other metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(r, other) }
		if slices.ContainsFunc(unique, equal) {
			duplicates = append(duplicates, string(r.UID))
			continue
		}
		unique = append(unique, r)
	}
	if len(duplicates) == 0 {
		return
	}
	obj.SetOwnerReferences(unique)
	when := ""
	if mutated {
		when = " after mutating admission happens"
	}
	w.warn(".metadata.ownerReferences contains duplicate entries" + when + "; API server dedups owner references in 1.20+" +
		", and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
		strings.Join(duplicates, ", "))
}

// update replaces the stored object. With owned, the new one has its managed fields already.
func (w *write) update(live, obj *unstructured.Unstructured, owned bool) (*unstructured.Unstructured, error) {
	if err := w.checkIdentity(live, obj); err != nil {
		return nil, err
	}
	w.mergeOwners(obj, w.patches())
	if !owned {
		var err error
		if obj, err = w.own(live, obj); err != nil {
			return nil, err
		}
	}
	obj, changed, err := w.mutate(live, obj)
	if err != nil {
		return nil, err
	}
	if changed {
		if err := w.checkIdentity(live, obj); err != nil {
			return nil, err
		}
		w.mergeOwners(obj, true)
	}
	if err := w.checkEscalation(live, obj); err != nil {
		return nil, err
	}
	w.keep(live, obj)
	if obj, err = w.check(obj, live); err != nil {
		return nil, err
	}
	if obj, err = w.approve(live, obj); err != nil {
		return nil, err
	}
	fields.KeepTimes(live, obj)
	if obj, err = w.kind.toStore(obj); err != nil {
		return nil, err
	}
	stored := w.tx.Get(w.key())
	if w.kind.custom != nil {
		live = stored // so that an update that changes nothing stores new defaults
	}
	if equality.Semantic.DeepEqual(live.Object, obj.Object) {
		return stored, nil
	}
	obj = w.replace(w.key(), obj)
	if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) > 0 {
		w.settle()
	}
	return obj, nil
}

// replace stores the next state of an object, or deletes the object if nothing holds back its deletion any more.
func (w *write) replace(key store.Key, obj *unstructured.Unstructured) *unstructured.Unstructured {
	if !w.ends(key, obj) {
		return w.tx.Put(key, obj)
	}
	w.tx.Delete(key)
	return obj
}

// ends returns whether nothing holds back the deletion of an object any more.
func (w *write) ends(key store.Key, obj *unstructured.Unstructured) bool {
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 || len(w.contentOf(key, obj)) > 0 {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return (grace == nil || *grace == 0) && !held(key, obj)
}

// held returns whether a namespace has its own finalizer.
func held(key store.Key, obj *unstructured.Unstructured) bool {
	if key.GroupResource != namespaces() {
		return false
	}
	left, _, _ := unstructured.NestedStringSlice(obj.Object, "spec", "finalizers")
	return len(left) > 0
}

// checkIdentity returns an error if obj is not the next version of live.
func (w *write) checkIdentity(live, obj *unstructured.Unstructured) error {
	if err := errors.Join(w.checkName(obj), w.matchNamespace(obj)); err != nil {
		return err
	}
	if version := obj.GetResourceVersion(); version != "" {
		n, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			return failure(err.Error())
		}
		if n == 0 { // any version
			obj.SetResourceVersion("")
		}
	}
	switch version := obj.GetResourceVersion(); {
	case version == live.GetResourceVersion():
	case version != "":
		return apierrors.NewConflict(w.kind.resource(), w.ref.Name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	case w.kind.custom != nil: // its definition refuses the update
	case needsVersion(w.kind.resource()):
		return apierrors.NewInvalid(schema.GroupKind{Group: w.kind.Group, Kind: w.kind.Plural}, w.ref.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	default:
		obj.SetResourceVersion(live.GetResourceVersion())
	}
	return nil
}

// checkUID returns an error if the object of a request is not the live one, which may be nil.
func (w *write) checkUID(live, obj *unstructured.Unstructured) error {
	uid, got := obj.GetUID(), types.UID("")
	if live != nil {
		got = live.GetUID()
	}
	if uid == "" || uid == got {
		return nil
	}
	dir := w.kind.Plural
	if w.kind.custom != nil {
		dir = w.kind.Group + "/" + dir
	}
	return apierrors.NewConflict(w.kind.resource(), w.ref.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: /registry/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %s, UID in object meta: %s",
		dir, strings.TrimPrefix(w.ref.String(), "/"), uid, got))
}

// keep copies what an update can't change.
func (w *write) keep(live, obj *unstructured.Unstructured) {
	if obj.GetUID() == "" {
		obj.SetUID(live.GetUID())
	}
	obj.SetCreationTimestamp(live.GetCreationTimestamp())
	obj.SetSelfLink("")
	if live.GetDeletionTimestamp() != nil {
		obj.SetDeletionTimestamp(live.GetDeletionTimestamp())
		obj.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	}
	obj.SetGeneration(live.GetGeneration())
}

// needsVersion returns whether updates of a built-in kind need a resource version, from the strategies in
// https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/registry.
func needsVersion(gr schema.GroupResource) bool {
	switch gr.Group {
	case "admissionregistration.k8s.io", "coordination.k8s.io", "node.k8s.io", "apiextensions.k8s.io",
		"storagemigration.k8s.io":
		return true
	case "certificates.k8s.io":
		return gr.Resource != "certificatesigningrequests"
	case "policy":
		return gr.Resource == "poddisruptionbudgets"
	case "resource.k8s.io":
		return gr.Resource == "devicetaintrules"
	case "storage.k8s.io":
		return gr.Resource != "storageclasses" && gr.Resource != "volumeattributesclasses"
	default:
		return false
	}
}

// createsOnUpdate returns whether an update of an object that does not exist creates it, from the same strategies.
func createsOnUpdate(gr schema.GroupResource) bool {
	switch gr.Group {
	case "":
		return slices.Contains([]string{"services", "endpoints", "events", "limitranges"}, gr.Resource)
	case "rbac.authorization.k8s.io", "coordination.k8s.io", "node.k8s.io":
		return true
	default:
		return false
	}
}

// own updates the managed fields of an object that replaces live.
func (w *write) own(live, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	m, err := w.kind.fields()
	if err != nil {
		return nil, err
	}
	return m.Update(live, obj, w.subresource, w.manager), nil
}
