// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/tree"
	"github.com/kube-go/sdk/core/wire"
)

// ExtractOptions are the options of [Extract].
type ExtractOptions struct {
	// Subresource is the subresource that the manager applied, such as "status". Default: the object itself.
	Subresource string

	// SendZeroValues is the option of request.ApplyOptions with which the result is applied. Default: false.
	SendZeroValues bool
}

// Extract returns the fields of an object that a manager owns by server-side apply, with the object's apiVersion, kind,
// namespace and name. Change the result and apply it again. If the manager has applied nothing, the result has only
// these. The object must be as the server returned it. Items of lists have all fields of their keys, so the manager
// also owns key fields with defaults of the server after the next apply.
//
// Extract returns an error if the object or K lacks a field that the manager owns, or if an apply of the result would
// not send one: the apply would give it up. A default apply of the result may be an error that names zero values: then
// apply the result with SendZeroValues. If you set these fields instead, an apply leaves out other structs that are
// zero.
func Extract[K any, P core.ObjectPtr[K]](obj *K, manager string, o *ExtractOptions) (*K, error) {
	if o == nil {
		o = &ExtractOptions{}
	}
	result := new(K)
	if err := extract(P(obj), P(result), manager, o); err != nil {
		return nil, fmt.Errorf("extract the fields of %q from %s: %w", manager, core.RefOf(P(obj)), err)
	}
	return result, nil
}

// extract sets result, a new object of obj's type.
func extract(obj, result core.Object, manager string, o *ExtractOptions) error {
	gvk, err := kindOf(obj)
	if err != nil {
		return err
	}
	mine, all, err := ownedBy(obj, gvk.GroupVersion().String(), manager, o.Subresource)
	if err != nil {
		return err
	}
	value, err := tree.Of(obj)
	if err != nil {
		return err
	}
	picked := map[string]any{}
	if !mine.Empty() {
		p := picker{}
		picked, _ = p.pick(value, mine, all, nil).(map[string]any)
		if len(p.absent) > 0 {
			return fmt.Errorf("it owns %s, which the object does not have%s", list(p.absent), remedy(obj))
		}
	}
	identify(picked, obj, gvk)
	if err := decode(picked, result); err != nil {
		return err
	}
	return checkSaid(picked, result, all, o)
}

// kindOf returns the kind of an object, which may be set in the object or known for its type.
func kindOf(obj core.Object) (schema.GroupVersionKind, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Version != "" && gvk.Kind != "" {
		return gvk, nil
	}
	res, err := core.ResourceOfObject(obj)
	if err != nil {
		return gvk, fmt.Errorf("its apiVersion and kind are not set: %w", err)
	}
	return res.GroupVersionKind(), nil
}

// ownedBy returns the fields that a manager owns by apply, and those that any manager owns. The version is that of obj.
func ownedBy(obj core.Object, version, manager, subresource string) (mine, all *fieldpath.Set, err error) {
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		return nil, nil, errNoEntries
	}
	mine, all = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range entries {
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, nil, err
		}
		all = all.Union(fields)
		if !isOf(entry, metav1.ManagedFieldsOperationApply, subresource, manager) {
			continue
		}
		if entry.APIVersion != version {
			return nil, nil, fmt.Errorf(
				"it applied %s, but the object is %s; read the object in that version",
				entry.APIVersion,
				version,
			)
		}
		mine = fields
	}
	return mine, all, nil
}

// identify sets the fields that each applied object needs.
func identify(picked map[string]any, obj core.Object, gvk schema.GroupVersionKind) {
	picked["apiVersion"], picked["kind"] = gvk.ToAPIVersionAndKind()
	metadata, _ := picked["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		picked["metadata"] = metadata
	}
	metadata["name"] = obj.GetName()
	if ns := obj.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
}

func decode(picked map[string]any, result core.Object) error {
	data, err := wire.MarshalJSON(picked)
	if err != nil {
		return err
	}
	return wire.NewPacked(wire.JSON, data).Decode(result)
}

// checkSaid compares the body of an apply of the result with the fields that it should have.
func checkSaid(want map[string]any, result core.Object, all *fieldpath.Set, o *ExtractOptions) error {
	got, err := applied(result, o.Subresource, o.SendZeroValues)
	if _, ok := errors.AsType[*wire.ZeroValueError](err); ok { // so a default apply gives up nothing silently
		got, err = applied(result, o.Subresource, true)
	}
	if err != nil {
		return err
	}
	if lost := beyond(want, got, isNothing); len(lost) > 0 {
		if whole, err := applied(result, o.Subresource, true); err == nil && len(beyond(want, whole, isNothing)) == 0 {
			return fmt.Errorf("it owns %s, which a default apply of %T leaves out, since the values are zero; "+
				"set SendZeroValues in the options of Extract and of the apply", list(lost), result)
		}
		return fmt.Errorf("it owns %s, which %T can't represent%s", list(lost), result, remedy(result))
	}
	added := beyond(got, want, func(value any, at fieldpath.Path) bool {
		// An empty object does not claim the fields that others set in it.
		return isNothing(value, at) && !beneath(all, at...).Empty()
	})
	if len(added) > 0 {
		return fmt.Errorf("it does not own %s, which %T always encodes%s", list(added), result, remedy(result))
	}
	return nil
}

// applied returns the value of the body of an apply.
func applied(obj core.Object, subresource string, zeroValues bool) (any, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	body, err := wire.MarshalApply(obj, core.Resource{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
		&wire.ApplyOptions{ZeroValues: zeroValues, Status: subresource == "status"})
	if err != nil {
		return nil, err
	}
	return tree.Of(body)
}

// beyond returns the paths that a value has and another has not, except for those to ignore.
func beyond(value, other any, ignore func(value any, at fieldpath.Path) bool) []string {
	var found []string
	var walk func(value, other any, at fieldpath.Path)
	walk = func(value, other any, at fieldpath.Path) {
		switch value := value.(type) {
		case map[string]any:
			other, _ := other.(map[string]any)
			for name, member := range value {
				here := append(slices.Clip(at), fieldpath.FieldNameElement(name))
				has, ok := other[name]
				inner, isObject := member.(map[string]any)
				switch {
				case ok || isObject && len(inner) > 0:
					walk(member, has, here)
				case !ignore(member, here):
					found = append(found, here.String())
				}
			}
		case []any:
			other, _ := other.([]any)
			for i, item := range value {
				here := append(slices.Clip(at), fieldpath.IndexElement(i))
				if i < len(other) {
					walk(item, other[i], here)
				} else {
					found = append(found, here.String())
				}
			}
		}
	}
	walk(value, other, nil)
	return found
}

func isNothing(value any, _ fieldpath.Path) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// list names up to three fields.
func list(fields []string) string {
	slices.Sort(fields)
	if len(fields) > 3 {
		return strings.Join(fields[:3], ", ") + fmt.Sprintf(" and %d more", len(fields)-3)
	}
	return strings.Join(fields, ", ")
}

// remedy returns what to do if a struct can't represent the fields.
func remedy(obj core.Object) string {
	if _, ok := obj.(interface{ UnstructuredContent() map[string]any }); ok {
		return ""
	}
	return "; read it as unstructured.Unstructured"
}
