// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Spoke is a version of a kind that is converted to the hub H and back. [Between] makes one.
type Spoke[H any] struct {
	version func() (*version, error)
}

// Between returns the spoke of type S: up converts to the hub, and down converts back. They convert everything except
// metadata, which the converter copies; if they set labels or annotations, these replace the old ones, except for the
// annotations of [ConverterOptions.KeepLost]. They must not change their arguments. Their results may share memory with
// them.
func Between[S, H any, PS core.ObjectPtr[S], PH core.ObjectPtr[H]](
	up func(*S) (*H, error),
	down func(*H) (*S, error),
) Spoke[H] {
	return Spoke[H]{version: func() (*version, error) {
		v, err := newVersion[S, PS]()
		switch {
		case err != nil:
			return nil, err
		case up == nil || down == nil:
			return nil, fmt.Errorf("version %s: Between needs a function for each way", v.resource.Version)
		}
		v.toHub = func(obj core.Object) (core.Object, error) {
			hub, err := up((*S)(obj.(PS)))
			if err != nil || hub == nil {
				return nil, err
			}
			return PH(hub), nil
		}
		v.fromHub = func(obj core.Object) (core.Object, error) {
			spoke, err := down((*H)(obj.(PH)))
			if err != nil || spoke == nil {
				return nil, err
			}
			return PS(spoke), nil
		}
		return v, nil
	}}
}

// ConverterOptions are the options of [NewConverter]. The zero value of a field is its default.
type ConverterOptions struct {
	// KeepLost keeps fields that only one version has when an object is converted, see the package comment. A function
	// must then set each field that has a default in its version, to the default if it can't represent the value: the
	// server would set it otherwise, which counts as a change, and the stored value would be lost. The option Definition
	// of package conversiontest finds such a field.
	KeepLost bool

	// MaxLostBytes bounds the fields that are kept of an object. Default: 256 KiB, which is the bound of a server for
	// all annotations.
	MaxLostBytes int
}

const defaultMaxLostBytes = 256 << 10

// version is one version of the kind.
type version struct {
	resource core.Resource
	empty    func() core.Object
	toHub    func(core.Object) (core.Object, error) // nil for the hub itself
	fromHub  func(core.Object) (core.Object, error)
}

func newVersion[K any, P core.ObjectPtr[K]]() (*version, error) {
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		return nil, err
	}
	if _, ok := any(P(new(K))).(metav1.ObjectMetaAccessor); !ok {
		return nil, fmt.Errorf("version %s: its type does not embed metav1.ObjectMeta", res.Version)
	}
	return &version{resource: res, empty: func() core.Object { return P(new(K)) }}, nil
}

// Converter converts objects of one kind between its versions. Each version has functions to and from one of them, the
// hub. It is safe for concurrent use if its functions are.
type Converter struct {
	opts     ConverterOptions
	hub      *version
	versions map[string]*version // by apiVersion
}

// NewConverter returns a converter whose hub is H. The versions must be of one kind. It is an error if two are the
// same.
func NewConverter[H any, P core.ObjectPtr[H]](spokes []Spoke[H], o *ConverterOptions) (*Converter, error) {
	if o == nil {
		o = &ConverterOptions{}
	}
	hub, err := newVersion[H, P]()
	if err != nil {
		return nil, fmt.Errorf("converter: hub: %w", err)
	}
	c := &Converter{opts: *o, hub: hub, versions: map[string]*version{hub.resource.APIVersion(): hub}}
	switch {
	case hub.resource.Group == "":
		return nil, fmt.Errorf("converter: %s has no group, so it is not a custom resource", hub.resource.Kind)
	case o.MaxLostBytes < 0:
		return nil, fmt.Errorf("converter: ConverterOptions.MaxLostBytes is %d; it must not be negative", o.MaxLostBytes)
	case o.MaxLostBytes > 0 && !o.KeepLost:
		return nil, errors.New("converter: ConverterOptions.MaxLostBytes is set, but KeepLost is not")
	case o.MaxLostBytes == 0:
		c.opts.MaxLostBytes = defaultMaxLostBytes
	}
	for i, spoke := range spokes {
		if spoke.version == nil {
			return nil, fmt.Errorf("converter: spoke %d is empty; make it with Between", i)
		}
		v, err := spoke.version()
		if err != nil {
			return nil, fmt.Errorf("converter: spoke %d: %w", i, err)
		}
		if err := c.add(v); err != nil {
			return nil, fmt.Errorf("converter: spoke %d: %w", i, err)
		}
	}
	return c, nil
}

func (c *Converter) add(v *version) error {
	hub, res := c.hub.resource, v.resource
	switch {
	case res.Group != hub.Group || res.Kind != hub.Kind:
		return fmt.Errorf("it is a %s of %s, and the hub is a %s of %s", res.Kind, res.Group, hub.Kind, hub.Group)
	case c.versions[res.APIVersion()] != nil:
		return fmt.Errorf("there is a version %s already", res.Version)
	}
	c.versions[res.APIVersion()] = v
	return nil
}

// Versions returns the names of the versions, such as v1beta1, ordered by [core.CompareVersions], greatest first.
func (c *Converter) Versions() []string {
	var names []string
	for _, v := range c.versions {
		names = append(names, v.resource.Version)
	}
	slices.SortFunc(names, func(a, b string) int { return core.CompareVersions(b, a) })
	return names
}

// Resource returns the resource of the hub.
func (c *Converter) Resource() core.Resource { return c.hub.resource }

// Empty returns an empty object of a version, such as v1beta1, with its TypeMeta.
func (c *Converter) Empty(version string) (core.Object, error) {
	v, err := c.version(c.apiVersion(version))
	if err != nil {
		return nil, err
	}
	obj := v.empty()
	obj.GetObjectKind().SetGroupVersionKind(v.resource.GroupVersionKind())
	return obj, nil
}

func (c *Converter) apiVersion(version string) string { return c.hub.resource.Group + "/" + version }

func (c *Converter) version(apiVersion string) (*version, error) {
	if v := c.versions[apiVersion]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf(
		"nothing converts %s of %s; there are the versions %s",
		c.hub.resource.Kind,
		apiVersion,
		strings.Join(c.Versions(), ", "),
	)
}

// Covers returns an error for the first version of a CustomResourceDefinition that the converter does not have. Call it
// when the program starts: clients can't read an object that the server can't convert.
func (c *Converter) Covers(crd *unstructured.Unstructured) error {
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	if err != nil {
		return fmt.Errorf("converter: %s: %w", crd.GetName(), err)
	}
	kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if err != nil {
		return fmt.Errorf("converter: %s: %w", crd.GetName(), err)
	}
	if res := c.hub.resource; group != res.Group || kind != res.Kind {
		return fmt.Errorf(
			"converter: %s defines a %s of %s, and the hub is a %s of %s",
			crd.GetName(),
			kind,
			group,
			res.Kind,
			res.Group,
		)
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return fmt.Errorf("converter: %s: %w", crd.GetName(), err)
	}
	for _, v := range versions {
		v, _ := v.(map[string]any)
		name, _ := v["name"].(string)
		if _, err := c.version(c.apiVersion(name)); err != nil {
			return fmt.Errorf("converter: %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

// Convert converts an object to another version, such as example.com/v2. It is a [Func].
func (c *Converter) Convert(obj wire.Packed, apiVersion string) (core.Object, error) {
	var head metav1.PartialObjectMetadata
	if err := obj.Decode(&head); err != nil {
		return nil, err
	}
	from, err := c.version(head.APIVersion)
	if err != nil {
		return nil, err
	}
	to, err := c.version(apiVersion)
	if err != nil {
		return nil, err
	}
	switch {
	case head.Kind != c.hub.resource.Kind:
		return nil, fmt.Errorf("it is a %s, not a %s", head.Kind, c.hub.resource.Kind)
	case from == to: // including fields that the type does not declare
		same := &unstructured.Unstructured{}
		return same, obj.Decode(same)
	}
	in := from.empty()
	if err := obj.Decode(in); err != nil {
		return nil, err
	}
	out, err := c.through(in, from, to)
	if err == nil && c.opts.KeepLost {
		out, err = c.keep(obj, out, from, to)
	}
	if err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(to.resource.GroupVersionKind())
	return out, nil
}

// through converts an object through the hub.
func (c *Converter) through(in core.Object, from, to *version) (core.Object, error) {
	out := in
	for _, step := range []func(core.Object) (core.Object, error){from.toHub, to.fromHub} {
		if step == nil {
			continue
		}
		next, err := step(out)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return nil, fmt.Errorf(
				"from %s to %s: the function has returned nothing",
				from.resource.Version,
				to.resource.Version,
			)
		}
		carry(out, next)
		out = next
	}
	return out, nil
}

// carry copies metadata from an object to the converted one, except for labels and annotations that the latter has
// already.
func carry(from, to core.Object) {
	source, target := metaOf(from), metaOf(to)
	labels, annotations := target.Labels, target.Annotations
	*target = *source.DeepCopy()
	if labels != nil {
		target.Labels = labels
	}
	if annotations != nil {
		target.Annotations = annotations
	}
}

// metaOf returns the metadata of an object. newVersion has checked that its type embeds it.
func metaOf(obj core.Object) *metav1.ObjectMeta {
	return obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}
