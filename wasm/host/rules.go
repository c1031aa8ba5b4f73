// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// Rules returns the permissions that a module has used in recordings of [Module.Record]. If the recordings have
// everything that the module does, it needs no others. They include those for what the host does for a reconciler. A
// recording may end at any byte, such as after a crash of the host.
//
// Only the first recording of a reconciler has its description. Without it, and for kinds that the module does not
// watch, the plural name of a kind is derived from the kind. Without it, a controller owns only the kinds of the owned
// objects that its runs have received. If it applies objects of another kind that it owns, the permission for their
// references to the owner is missing.
func Rules(recordings ...io.Reader) ([]abi.Rule, error) {
	p := newPermissions()
	var runs []step
	for _, r := range recordings {
		s, err := readScript(r)
		if err != nil {
			return nil, err
		}
		for key, all := range s.asked {
			p.addOperation(key, all)
		}
		for i := range s.steps {
			switch st := &s.steps[i]; st.Name {
			case abi.Describe:
				p.addDescription(st)
			case abi.Reconcile:
				p.addOwned(st)
				runs = append(runs, *st)
			}
		}
	}
	for i := range runs { // when all descriptions and owned kinds are known
		p.addReconcile(&runs[i])
	}
	return p.rules(), nil
}

// permissions are verbs by resource.
type permissions struct {
	used    map[schema.GroupResource]map[string]bool
	plurals map[schema.GroupVersionKind]string // of the kinds that a reconciler watches
	owned   map[ownedKind]bool
}

// ownedKind is a kind that a controller of a reconciler owns.
type ownedKind struct {
	controller string
	kind       schema.GroupKind
}

func newPermissions() *permissions {
	return &permissions{
		used: make(map[schema.GroupResource]map[string]bool), plurals: make(map[schema.GroupVersionKind]string),
		owned: make(map[ownedKind]bool),
	}
}

func (p *permissions) add(group, resource string, verbs ...string) {
	key := schema.GroupResource{Group: group, Resource: resource}
	if p.used[key] == nil {
		p.used[key] = make(map[string]bool)
	}
	for _, verb := range verbs {
		p.used[key][verb] = true
	}
}

// addOperation adds the permissions for operations with the same key.
func (p *permissions) addOperation(key string, all []*question) {
	kind, text, _ := strings.Cut(key, " ")
	switch kind[1:] {
	case "1": // abi.OpRequest
		method, target, _ := strings.Cut(text, " ")
		group, resource, verb := usedBy(method, target)
		if verb == "" {
			return
		}
		p.add(group, resource, verb)
		if verb == "patch" && slices.ContainsFunc(all, (*question).created) { // by an apply
			p.add(group, resource, "create")
		}
		for _, q := range all {
			if q.write {
				p.addOwners([]byte(q.body))
			}
		}
	case "3": // abi.OpWatch
		var w abi.Watch
		if wire.UnmarshalJSON([]byte(text), &w) == nil { // otherwise, the host has refused it
			p.add(w.Group, w.Resource, "list", "watch")
		}
	}
}

// created reports whether the response says that an object was created.
func (q *question) created() bool {
	var head []byte
	switch {
	case len(q.items) > 0:
		head = q.items[0].data
	case len(q.answer) > 8:
		head, _, _ = abi.CutFrame(q.answer[8:])
	}
	var r abi.Response
	return wire.UnmarshalJSON(head, &r) == nil && r.Status == http.StatusCreated
}

// addDescription adds the permissions for the watches of a reconciler.
func (p *permissions) addDescription(st *step) {
	var d abi.Description
	if wire.UnmarshalJSON(st.result, &d) != nil || d.Profile != abi.ProfileReconciler {
		return
	}
	for _, c := range d.Controllers {
		for _, w := range watchesOf(&c) {
			p.plurals[resourceOf(&w).GroupVersionKind()] = w.Resource
			p.add(w.Group, w.Resource, "list", "watch")
		}
		for _, w := range c.Owns {
			p.owned[ownedKind{c.Name, resourceOf(&w).GroupVersionKind().GroupKind()}] = true
		}
	}
}

// addOwned records the kinds of the owned objects that a run has received.
func (p *permissions) addOwned(st *step) {
	var in abi.ReconcileRequest
	if wire.UnmarshalJSON(st.Message, &in) != nil {
		return
	}
	for _, obj := range in.Owned {
		p.owned[ownedKind{in.Controller, kindOf(obj).GroupKind()}] = true
	}
}

// addOwners adds the permission for the owners of an object that can't be deleted before it, which servers with the
// admission plugin OwnerReferencesPermissionEnforcement require. It reports whether the object has owners.
func (p *permissions) addOwners(obj jsontext.Value) bool {
	var has struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if wire.UnmarshalJSON(obj, &has) != nil {
		return false
	}
	for _, ref := range has.Metadata.OwnerReferences {
		if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			p.addKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), "/finalizers", "update")
		}
	}
	return has.Metadata.OwnerReferences != nil
}

// addReconcile adds the permissions for what the host does before and after a run.
func (p *permissions) addReconcile(st *step) {
	var in abi.ReconcileRequest
	var out abi.ReconcileResponse
	if wire.UnmarshalJSON(st.Message, &in) != nil {
		return
	}
	for _, obj := range append(in.Owned, in.Object) {
		p.addKind(kindOf(obj), "", "list", "watch")
	}
	if wire.UnmarshalJSON(st.result, &out) != nil {
		return
	}
	for _, obj := range out.Apply {
		p.addKind(kindOf(obj), "", "create", "patch")
		if !p.addOwners(obj) && p.owned[ownedKind{in.Controller, kindOf(obj).GroupKind()}] { // the host adds the reconciled object
			p.addKind(kindOf(in.Object), "/finalizers", "update")
		}
	}
	for _, ref := range out.Delete {
		p.addKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), "", "delete")
	}
	if !isMissing(out.Status) {
		p.addKind(kindOf(in.Object), "/status", "patch")
	}
	if len(out.Events) > 0 {
		p.add("events.k8s.io", "events", "create", "patch")
	}
}

// kindOf returns the kind of an object, or the zero value.
func kindOf(obj jsontext.Value) schema.GroupVersionKind {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if wire.UnmarshalJSON(obj, &head) != nil {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
}

func (p *permissions) addKind(kind schema.GroupVersionKind, subresource string, verbs ...string) {
	plural, known := p.plurals[kind]
	switch {
	case kind.Kind == "":
		return // the server has refused it
	case !known:
		guess, _ := meta.UnsafeGuessKindToResource(kind)
		plural = guess.Resource
	}
	p.add(kind.Group, plural+subresource, verbs...)
}

func (p *permissions) rules() []abi.Rule {
	rules := make([]abi.Rule, 0, len(p.used))
	for key, verbs := range p.used {
		rules = append(rules, abi.Rule{
			APIGroups: []string{key.Group}, Resources: []string{key.Resource}, Verbs: slices.Sorted(maps.Keys(verbs)),
		})
	}
	slices.SortFunc(rules, func(a, b abi.Rule) int {
		return cmp.Or(strings.Compare(a.APIGroups[0], b.APIGroups[0]), strings.Compare(a.Resources[0], b.Resources[0]))
	})
	return rules
}

// usedBy returns the permission that a request needs. The verb is empty if it is not a request for objects.
func usedBy(method, target string) (group, resource, verb string) {
	u, err := url.Parse(target)
	if err != nil {
		return "", "", ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", "", ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	named := len(parts) > 1
	switch method {
	case http.MethodGet, http.MethodHead:
		switch watch := u.Query().Get("watch"); {
		case watch == "true" || watch == "1":
			verb = "watch"
		case named:
			verb = "get"
		default:
			verb = "list"
		}
	case http.MethodPost:
		verb = "create"
	case http.MethodPut:
		verb = "update"
	case http.MethodPatch:
		verb = "patch"
	case http.MethodDelete:
		if verb = "delete"; !named {
			verb = "deletecollection"
		}
	}
	return group, resource, verb
}
