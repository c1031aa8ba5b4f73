// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/validation"
	"github.com/kube-go/sdk/kubetest/internal/explore"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// ExploreChanges tests what a program does when users change custom objects. After the story of a scenario, it changes
// one field of an object to another valid value, removes it, or adds it, and then reverts the change. It does this once
// for each field of each custom object that the program has not created, with the values that
// [validation.Validator.Changes] finds. A change that a webhook denies is logged and not tested.
//
// A run fails if objects change without end, if the program fails, or if the last state differs from that before the
// change. Each run is a subtest, as those of [Explore].
func ExploreChanges(t *testing.T, scenario func(t *testing.T) *Scenario) {
	t.Helper()
	var all []change
	if explored(t, scenario, nil, func(e *exploration) { all = e.changes() }) == nil {
		t.FailNow()
	}
	if len(all) == 0 {
		t.Fatal("kubetest: ExploreChanges: no custom object has a field to change: create one in the story or in " +
			"Options.Objects; objects that the program creates are not changed")
	}
	t.Run("changes", func(t *testing.T) {
		for _, c := range all {
			t.Run(c.name(), func(t *testing.T) {
				t.Parallel()
				explored(t, scenario, nil, func(e *exploration) { e.changeAndRevert(c) })
			})
		}
	})
}

// change is a change of an object.
type change struct {
	validation.Change
	object string // its name for people
	path   string // of its requests
}

// name returns the name of the test of the change.
func (c *change) name() string {
	verb := "change"
	switch {
	case c.Old == nil:
		verb = "add"
	case c.New == nil:
		verb = "remove"
	}
	return explore.TestName(fmt.Sprintf("%s %s of %s", verb, c.Path, c.object))
}

// changes returns the changes of the custom objects that the program has not created.
func (e *exploration) changes() []change {
	var all []change
	definitions, objects := e.custom()
	for _, key := range slices.SortedFunc(maps.Keys(objects), store.Compare) {
		obj := objects[key]
		crd := definitions[key.GroupResource.String()]
		if crd == nil || e.server.journal.Author(key) == explore.Program {
			continue
		}
		v, err := validation.New(crd, obj.GroupVersionKind().Version, nil)
		if err != nil {
			e.t.Fatalf("kubetest: ExploreChanges: %v", err)
		}
		path := "/apis/" + obj.GetAPIVersion() + "/"
		if key.Namespace != "" {
			path += "namespaces/" + key.Namespace + "/"
		}
		for c := range v.Changes(obj) {
			all = append(all, change{c, e.server.journal.Name(key), path + key.Resource + "/" + key.Name})
		}
	}
	return all
}

// custom returns the definitions by their resources, and all objects.
func (e *exploration) custom() (map[string]*unstructured.Unstructured, map[store.Key]*unstructured.Unstructured) {
	definitions := make(map[string]*unstructured.Unstructured)
	objects := make(map[store.Key]*unstructured.Unstructured)
	_ = e.server.api.Store.Update(true, func(tx *store.Tx) error {
		for key, obj := range tx.All() {
			objects[key] = obj
			if obj.GroupVersionKind().GroupKind() == core.CRDResource().GroupVersionKind().GroupKind() {
				definitions[obj.GetName()] = obj
			}
		}
		return nil
	})
	return definitions, objects
}

// changeAndRevert changes an object, and then sets its former values.
func (e *exploration) changeAndRevert(c change) {
	e.t.Helper()
	before := e.world()
	old, ok := e.serve(http.MethodGet, c.path, nil)
	if !ok {
		e.t.Fatalf("kubetest: ExploreChanges: %s does not exist in each run", c.object)
	}
	e.server.journal.Note(fmt.Sprintf("change:  %s of %s from %s to %s", c.Path, c.object, text(c.Old), text(c.New)))
	if !e.update(c, c.Object) {
		return
	}
	e.server.journal.Note("change:  back")
	if !e.update(c, old) {
		return
	}
	after := e.world()
	diff := after.Diff(before)
	maps.DeleteFunc(diff, func(f explore.Field, _ bool) bool { return f.Counts() })
	if len(diff) > 0 {
		e.t.Errorf("the last state, after %s of %s was changed from %s to %s and back:\n%s",
			c.Path, c.object, text(c.Old), text(c.New), strings.Join(after.Explain(diff, before, "before"), "\n"))
	}
}

// text returns a value for messages.
func text(v any) string {
	if v == nil {
		return "nothing"
	}
	data, _ := json.Marshal(v) // it was decoded from JSON
	return string(data)
}

// update gives an object the fields of another one, except for metadata and status, and waits for the program. It
// returns false if a webhook denies that.
func (e *exploration) update(c change, to *unstructured.Unstructured) bool {
	e.t.Helper()
	obj, ok := e.serve(http.MethodGet, c.path, nil)
	if !ok {
		e.t.Fatalf("kubetest: ExploreChanges: the program has deleted %s", c.object)
	}
	keep := map[string]any{"metadata": obj.Object["metadata"], "status": obj.Object["status"]}
	obj.Object = maps.Clone(to.Object)
	maps.Copy(obj.Object, keep)
	if keep["status"] == nil {
		delete(obj.Object, "status")
	}
	body, err := obj.MarshalJSON()
	if err != nil {
		e.t.Fatalf("kubetest: ExploreChanges: %v", err)
	}
	got, ok := e.serve(http.MethodPut, c.path, body)
	message, _, _ := unstructured.NestedString(got.Object, "message")
	switch {
	case ok:
		e.server.Settle()
	case strings.HasPrefix(message, "admission webhook "):
		e.t.Logf("%s of %s is not changed: %s", c.Path, c.object, message)
	default:
		e.t.Fatalf("kubetest: ExploreChanges: the server refuses the change of %s of %s: %s", c.Path, c.object, message)
	}
	return ok
}
