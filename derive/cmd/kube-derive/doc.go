// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-derive turns Go types into Kubernetes kinds, and into all that belongs to one: CRDs, deep copies, apply
// structs, roles, documentation, JSON Schemas and samples.
//
//	go get -tool github.com/kube-go/sdk/derive/cmd/kube-derive
//	go tool kube-derive [flags] [packages]
//	go tool kube-derive COMMAND [flags] [packages]
//
// or, in a source file, so that go generate does it:
//
//	//go:generate go tool kube-derive
//
// You write the spec, and what is special about the kind:
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
//	type DocumentStatus struct { … }
//
// and get, in zz_generated.kube.go beside it: the type Document; NewDocument; deep copies of Document and of all structs
// it is made of; KubeResource, which tells the SDK what the kind is called; and KubeCRD, which returns the
// CustomResourceDefinition for programs that install it themselves. The same definition is written as YAML, for people
// and for kubectl, to docs.example.com_documents.yaml in the directory that -out names (crds by default, relative to
// where the command runs). When the file begins with a copyright comment, so does the generated one.
//
// Without a command it does what the markers in the packages ask for: roles when there is a +kubebuilder:rbac, webhook
// configurations when there is a +kubebuilder:webhook, apply structs for packages with +kubebuilder:ac:generate=true, and
// whatever a //kube:output names.
//
// # Commands
//
// Each makes one thing, of any Go module, whether or not it uses this SDK; kube-derive help COMMAND says more. What is no
// command must look like a package (., ./..., ./crd or an import path), so that a command that is misspelt is not taken
// for one. Flags may also stand behind the packages.
//
// With -verify nothing is written: the command exits with 1 and names the files that are out of date. Among them are CRDs,
// roles and webhook configurations whose sources are gone; a run without -verify removes these. The first line of such a
// file says which packages it is made of: it is left alone unless each of them was read, or is not there any more.
//
// With -lenient, mistakes in the sources are warnings, see Mistakes below. By default, a run that finds one writes nothing.
//
// Runs that take more than a second say on stderr how far they are, and what they were about; -q leaves all out but
// mistakes and warnings. The exit code is 1 for mistakes and stale files, and 2 for a call that makes no sense.
//
// # kube-derive crd
//
// Writes the CRDs and nothing else:
//
//	kube-derive crd ./api/... --out config/crd
//	kube-derive crd sigs.k8s.io/gateway-api/apis/v1 --out config/crd
//
// Here, as in the other commands, every struct that embeds metav1.TypeMeta and metav1.ObjectMeta in a package with
// +groupName= is a kind, also without +kubebuilder:object:root=true. Versions of a kind in several packages make one
// definition, so name all of them in one run. In packages of other modules, which one can't correct, a marker that makes
// no sense is a warning.
//
// In projects whose CRDs are made by controller-gen, use -lenient to get the CRDs in spite of markers that controller-gen
// ignores. A CRD in a group of the Kubernetes project that lacks the annotation api-approved.kubernetes.io, which such
// projects add to the YAML, is a warning in any case.
//
// Descriptions can take most of a CRD: -max-description shortens each that is longer, and -max-size those of a CRD that is
// larger, the innermost first, such as to the 262000 bytes that kubectl apply without --server-side can handle. Runs name the
// CRDs that are larger than that.
//
// # kube-derive deepcopy
//
// Writes zz_generated.deepcopy.go for packages whose types are written out in full, as controller-gen does it. Packages
// with zz_generated.kube.go have their deep copies there.
//
// # kube-derive apply
//
// Writes zz_generated.apply.go, with a struct for each kind, and for each struct that it leads to, in which every field
// may be absent. A server-side apply of one claims what is set in it and nothing else; zeros and empty lists are sent:
//
//	docs := kube.Namespaced[v1.DocumentApply](c, "prod")
//	_, err := docs.Apply(ctx, &v1.DocumentApply{
//		ObjectMeta: metav1.ObjectMeta{Name: "web"},
//		Spec:       &v1.DocumentSpecApply{Title: new("")},
//	}, &kube.ApplyOptions{FieldManager: "editor"})
//
// They are plain structs, to be set with new(value). Types of other packages have theirs beside the kind, named after
// their package: CoreV1PodSpecApply. A kind or package that is marked +kubebuilder:ac:generate=false has none.
//
// # kube-derive rbac
//
// Writes role.yaml with the roles that +kubebuilder:rbac markers ask for, wherever in the packages they stand.
//
// # kube-derive webhook
//
// Writes manifests.yaml with the configurations of the webhooks that +kubebuilder:webhook markers describe.
//
// # kube-derive docs
//
// Writes a page for each version of a group, as <group>_<version>.md, or as .html with -format html:
//
//	kube-derive docs ./api/... --out docs/api
//
// A page has the kinds in the order of the sources, then their types, each behind the first that uses it. It says of each
// field its type, whether it is required, its default, what a server asks of it and which rules hold. Types of Kubernetes
// lead to the reference of the release that go.mod has, those of other modules to pkg.go.dev. Comments may have lists and
// code in them, indented or fenced.
//
// A page includes the diagrams that //kube:diagram names, such as the states of a machine of runtime/fsm:
//
//	//kube:diagram file=../../controller/machine.mmd
//
// The file is relative to the folder of the source with the marker. kube-derive does not run the machine; a test of the
// program writes the result of Machine.Graph().Mermaid() to the file, and fails when they differ. Pages in Markdown
// have the diagram as a fenced block, which many sites draw. Pages in HTML have its text in <pre class="mermaid">,
// which is drawn if the site loads Mermaid.
//
// # kube-derive schema
//
// Writes a JSON Schema for each version of a kind, as <group>/<kind>_<version>.json, which is where kubeconform looks:
//
//	kube-derive schema ./api/... --out schemas
//	kubeconform -schema-location default \
//		-schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' manifests
//
// Editors with yaml-language-server read it when the first line of a manifest names it:
//
//	# yaml-language-server: $schema=../schemas/docs.example.com/document_v1.json
//
// A schema refuses what a server would drop, and does not ask for what a default fills in. Rules in CEL, and what else
// JSON Schema has no words for, it leaves to the server.
//
// # kube-derive sample
//
// Writes two objects for each served version of a kind: <group>_<version>_<kind>.yaml is the smallest that a server
// accepts, and <group>_<version>_<kind>_full.yaml has all fields with their descriptions as comments. Values are examples,
// defaults and what the schema allows, and are checked against all of it, rules in CEL included. Where a Go type reads less
// than its schema allows, as with durations and addresses, they are what it reads; for a text of a type of your own, say so
// with +kubebuilder:example=.
//
// # kube-derive diff
//
// Names what new CRDs break that the old ones have allowed, one change a line with whom it concerns, and exits with 1 when
// there is something. Each side is a file, a directory, git:REVISION:PATH or - for stdin. What is meant is allowed by a
// pattern of its name, on the command line or in a file:
//
//	kube-derive diff --allow '*/v1alpha1*' --allow-file accepted.txt git:main:config/crd config/crd
//
// # kube-derive init
//
// Starts a controller project: a module with a kind, its controller, tests, a Makefile, a Dockerfile and manifests. The
// directory may have other files; it gets the whole project, or nothing.
//
//	go run github.com/kube-go/sdk/derive/cmd/kube-derive@latest init --module example.com/shop --kind Order shop
//
// # Markers about a kind
//
// They stand above the spec struct, without a space after the slashes. Arguments are separated by spaces; values with
// spaces are quoted; lists are separated by commas.
//
//	//kube:resource          group= version= kind= [plural=] [singular=] [shortName=,] [categories=,]
//	                         [scope=Namespaced|Cluster] [storage=true|false] [served=true|false] [deprecated[="warning"]]
//	//kube:description       the comment of the kind, up to the end of the line; more lines may follow
//	//kube:subresource       status[=TypeName]       the type is called like the kind, with Status behind, unless named
//	//kube:subresource       scale specReplicas=.spec.x statusReplicas=.status.x [labelSelector=.status.x]
//	//kube:printcolumn       name= jsonPath= [type=] [description=] [format=] [priority=]
//	//kube:selectablefield   jsonPath=
//	//kube:validation        rule= [message=] [messageExpression=] [reason=] [fieldPath=] [optionalOldSelf=]
//	//kube:metadata          annotation=key=value label=key=value
//	//kube:conversion        strategy=None|Webhook [service=namespace/name] [path=] [port=] [url=] [versions=,]
//	//kube:diagram           file= [title=]          a Mermaid state diagram for the documentation, see kube-derive docs
//
// Paths are checked against the schema, which also tells the type of a column. Kinds are namespaced unless they say
// otherwise, and their plural follows the rules of controller-gen unless it is given. Several versions of a kind in one
// run make one definition; one of them says storage=true.
//
// # Markers about what is written
//
// They stand above the package clause of any of the packages. Directories are relative to the root of the module, so that
// it does not matter where the command runs; none leaves an output out:
//
//	//kube:output crds=config/crd rbac=config/rbac roleName=manager webhooks=none
//	//kube:output docs=docs/api schemas=schemas samples=config/samples
//
// # Markers about types and fields
//
// They are those of kubebuilder and Kubernetes, as far as they say something about schemas:
//
//	+kubebuilder:validation:Maximum= Minimum= ExclusiveMaximum= ExclusiveMinimum= MultipleOf=     numbers
//	+kubebuilder:validation:MaxLength= MinLength= Pattern=                                       texts
//	+kubebuilder:validation:MaxItems= MinItems=                                                  lists
//	+kubebuilder:validation:MaxProperties= MinProperties=                                        objects
//	+kubebuilder:validation:Enum=a;b Format= Type= XIntOrString XEmbeddedResource                anything
//	+kubebuilder:validation:XValidation:rule="…",message="…"                                     a rule in CEL
//	+kubebuilder:validation:items:…                                                              the same, of a list's items
//	+kubebuilder:validation:ExactlyOneOf= AtMostOneOf= AtLeastOneOf=                             a struct's fields
//	+kubebuilder:validation:Schemaless, +kubebuilder:pruning:PreserveUnknownFields               no checks
//	+optional +required +nullable +kubebuilder:default= +default= +kubebuilder:example= +kubebuilder:title=
//	+listType= +listMapKey= +mapType= +structType=                                               how apply merges
//	//kube:descriptions keep|drop                                                                in CRDs that are too large
//
// and those of Kubernetes' own validation, as far as a schema or a rule in CEL can say the same:
//
//	+k8s:optional +k8s:required +k8s:forbidden +k8s:immutable +k8s:update= +k8s:neq= +k8s:enum +k8s:enumExclude +k8s:format=
//	+k8s:minimum= +k8s:maximum= +k8s:minLength= +k8s:maxLength= +k8s:maxBytes= +k8s:minItems= +k8s:maxItems=
//	+k8s:minProperties= +k8s:maxProperties= +k8s:listType= +k8s:listMapKey= +k8s:unique= +k8s:monotonic
//	+k8s:eachVal=+… +k8s:eachKey=+… +k8s:subfield(name)=+… +k8s:dependentRequired(name) +k8s:dependentForbidden(name)
//	+k8s:unionDiscriminator +k8s:unionMember +k8s:zeroOrOneOfMember
//
// A field is required unless its tag has omitempty or omitzero or a marker says otherwise. The marker
// "+kubebuilder:validation:Optional" above the package clause turns that around. The comment of a field is its
// description; where there is none, that of its type is. Schemas are those that controller-gen makes, except that
// metadata inside of an object, such as that of a pod template, keeps its labels and annotations.
//
// Types that are written out in full, with +kubebuilder:object:root=true and +groupName=, work too. There, the markers
// about a kind are those of kubebuilder.
//
// # Mistakes
//
// A marker in one of these namespaces that is unknown, misspelt, in the wrong place or of the wrong type is an error, with
// its file, line and column. So is a type that no schema can describe. All mistakes are reported at once, except for those
// that may follow from another, and nothing is written when there is one. Packages that do not parse are reported alone. With
// -lenient, all mistakes are warnings: each is left out, and the rest is written.
//
// A space behind the plus is a mistake, since the other generators ignore such a line. Markers for other tools, such as
// +genclient, are left alone.
package main
