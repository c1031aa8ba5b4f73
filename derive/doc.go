// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package derive makes CustomResourceDefinitions of Go types.
//
// Use it in a program that installs the definitions of kinds for which nothing was generated, such as a test or a demo:
//
//	crd, err := derive.CRD[v1.Ship]()
//	if err != nil {
//		return err
//	}
//	err = kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, nil)
//
// A kind that the command kube-derive (derive/cmd/kube-derive) generated knows its definition: for such kinds alone,
// kube.CRD is the same function without what this package is made of.
//
// # What can be said
//
// [Reflect] sees types, struct tags and methods. The json tag names a field, and makes it required unless it has omitempty
// or omitzero. The tags jsonschema, jsonschema_description and jsonschema_extras are those of
// github.com/invopop/jsonschema:
//
//	type ShipSpec struct {
//		Name  string   `json:"name" jsonschema:"minLength=1,maxLength=80,description=Name is painted on the bow."`
//		Class string   `json:"class,omitempty" jsonschema:"enum=frigate,enum=sloop,default=sloop"`
//		Ports []string `json:"ports,omitempty" jsonschema:"maxItems=16" jsonschema_extras:"x-kubernetes-list-type=set"`
//		Crew  int32    `json:"crew" jsonschema:"minimum=1" jsonschema_extras:"x-kubernetes-validations=self >= oldSelf"`
//	}
//
// What is about a whole type, such as a rule over several fields, is said by the type's method JSONSchemaExtend; a type that
// encodes itself says what it is with JSONSchema or OpenAPISchemaType. What is about the kind, such as the columns that
// kubectl prints, is in [Options]. A keyword that is misspelt or makes no sense where it stands is an error, and so is a
// type that no schema can describe: all are reported at once.
//
// # What can't
//
// Comments are gone once a program is compiled, and with them the documentation of fields and all markers: nothing tells
// that a type had some, so those of kubebuilder have no effect here, not even an error. This holds for the types of
// Kubernetes too: the defaults and bounds of a PodSpec, for example, and how server-side apply merges its lists, are in its
// comments, so that a reflected definition that has one in it takes all values and treats these lists as atomic. Known
// here are the markers of metav1.Condition and metav1.LabelSelector, and which fields of the specs of Kubernetes one may
// leave out. Where this matters, generate the kind: kube-derive understands the same tags, and makes the same schema of
// what both can see.
//
// # Concurrency
//
// Functions may be called from many goroutines at once.
package derive
