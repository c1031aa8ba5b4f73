// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package derive knows the CustomResourceDefinitions of kinds that are Go types.
//
// Use it in a program that installs the definitions it needs by itself, such as a test or a demo:
//
//	crd, err := derive.CRD[v1.Document]()
//	if err != nil {
//		return err
//	}
//	crds := kube.Dynamic(c, derive.CRDResource(), "")
//	_, err = crds.Apply(ctx, crd, &kube.ApplyOptions{FieldManager: "installer"})
//
// # Where kinds come from
//
// The command kube-derive (derive/cmd/kube-derive) turns a spec struct into its kind, deep copies, descriptor and
// definition:
//
//	//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
//	//kube:subresource status
//	//kube:printcolumn name=Title jsonPath=.spec.title
//	type DocumentSpec struct {
//		// Title shown to readers.
//		// +kubebuilder:validation:MaxLength=80
//		Title string `json:"title"`
//	}
//
// Its documentation lists all markers. Programs that want to do what it does import derive/generate. Neither that nor
// what it depends on is linked into a program that imports this package or generated code.
//
// # Concurrency
//
// Functions may be called from many goroutines at once.
package derive
