// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-derive generates Kubernetes kinds from Go types, with CRDs, deep copies, apply structs, roles,
// documentation, JSON Schemas and samples.
//
//	go get -tool github.com/kube-go/sdk/derive/cmd/kube-derive
//	go tool kube-derive [flags] [packages]
//	go tool kube-derive COMMAND [flags] [packages]
//
// or, in a source file, for go generate:
//
//	//go:generate go tool kube-derive
//
// You write the spec, and the properties of the kind:
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
// The command generates zz_generated.kube.go in the same package: the type Document; NewDocument; deep copies of
// Document and of all structs that it uses; KubeResource, which returns the resource of the kind; and KubeCRD, which
// returns the CustomResourceDefinition, for programs that install it. The command also writes the definition as YAML,
// to docs.example.com_documents.yaml in the directory of -out. The default is crds in the current directory: go
// generate runs in the package, and a run from elsewhere would write a second file. The marker //kube:output crds=DIR
// in the package determines one directory for both. If the source begins with a copyright comment, so does the
// generated file.
//
// Without a command name, it also generates the files that markers in the packages enable: roles for +kubebuilder:rbac,
// webhook configurations for +kubebuilder:webhook, apply structs for packages with +kubebuilder:ac:generate=true, and
// the outputs of //kube:output.
//
// # Commands
//
// Each command generates one kind of file, for any Go module, including those that do not use this SDK. kube-derive
// help COMMAND describes it. An argument that is not a command must look like a package (., ./..., ./crd or an import
// path), so that a misspelled command is an error. Flags may follow the packages.
//
// With -verify, nothing is written: the command names the files that are out of date, and exits with 1. These include
// CRDs, roles and webhook configurations that are left over because their sources no longer exist. A run without the
// flag removes them. The comment of such a file names its packages. A file is left over only if each of them was read
// or does not exist, and build constraints exclude none of their files.
//
// With -lenient, mistakes in the sources are warnings, see Mistakes below. By default, a run with a mistake writes
// nothing.
//
// Runs of more than a second report their progress on stderr. With -q, only mistakes, warnings and outdated files are
// reported. The exit code is 1 for mistakes and outdated files, and 2 for invalid arguments.
//
// # kube-derive crd
//
// Writes only the CRDs:
//
//	kube-derive crd ./api/... --out config/crd
//	kube-derive crd sigs.k8s.io/gateway-api/apis/v1 --out config/crd
//
// In this and the other commands, each struct that embeds metav1.TypeMeta and metav1.ObjectMeta is a kind if its
// package has a +groupName=, also without +kubebuilder:object:root=true. A generic struct is not, but a type that is
// declared with it may be. Versions of a kind in several packages are one definition, so name all of these packages in
// one run. A run is an error if it would remove a version from the existing file of a definition and has not read all
// sources that may define it. In packages of other modules, an invalid marker is a warning.
//
// Use -lenient in projects that use controller-gen, to generate the CRDs in spite of markers that controller-gen
// ignores. A struct with its own MarshalJSON is then described by its fields. A CRD in a group of the Kubernetes
// project without the annotation api-approved.kubernetes.io is always a warning, since these projects add the
// annotation to the YAML.
//
// Descriptions may be the largest part of a CRD. -max-description shortens each longer one, and -max-size those of a
// larger CRD, the innermost first. kubectl apply without --server-side supports up to 262000 bytes; the command names
// larger CRDs.
//
// # kube-derive deepcopy
//
// Writes zz_generated.deepcopy.go for packages with complete types, as controller-gen does. Packages with
// zz_generated.kube.go have their deep copies there: remove the zz_generated.deepcopy.go of controller-gen from them.
//
// # kube-derive apply
//
// Writes zz_generated.apply.go, with a struct for each kind, and for each struct that it uses, whose fields are
// optional. A server-side apply of it owns only the fields that are set, which may be zeros and empty lists:
//
//	docs := kube.Namespaced[v1.DocumentApply](c, "prod")
//	_, err := docs.Apply(ctx, &v1.DocumentApply{
//		ObjectMeta: metav1.ObjectMeta{Name: "web"},
//		Spec:       &v1.DocumentSpecApply{Title: new("")},
//	}, &kube.ApplyOptions{FieldManager: "editor"})
//
// They are plain structs whose fields are set with new(value). The structs of types of other packages are in the
// package of the kind, and have the name of their package: CoreV1PodSpecApply. The marker
// "+kubebuilder:ac:generate=false" on a kind or a package omits them.
//
// # kube-derive rbac
//
// Writes role.yaml with the roles of all +kubebuilder:rbac markers in the packages.
//
// # kube-derive webhook
//
// Writes manifests.yaml with the configurations of the webhooks of all +kubebuilder:webhook markers in the packages.
//
// # kube-derive docs
//
// Writes a page for each version of a group, as <group>_<version>.md, or as .html with -format html:
//
//	kube-derive docs ./api/... --out docs/api
//
// A page has the kinds in the order of the sources, then their types, each after the first one that uses it. For each
// field, it has the type, whether it is required, the default, and the validation. Types of Kubernetes link to the
// reference of the release in go.mod, and those of other modules to pkg.go.dev. Comments may contain lists, and code
// that is indented or fenced.
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
// Writes a JSON Schema for each version of a kind, as <group>/<kind>_<version>.json, the layout of kubeconform:
//
//	kube-derive schema ./api/... --out schemas
//	kubeconform -schema-location default \
//		-schema-location 'schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' manifests
//
// Editors with yaml-language-server use it if the first line of a manifest names it:
//
//	# yaml-language-server: $schema=../schemas/docs.example.com/document_v1.json
//
// In a schema, fields that a server would drop are invalid, and fields with a default are optional. It does not contain
// CEL rules and other validation that JSON Schema can't express.
//
// # kube-derive sample
//
// Writes two objects for each served version of a kind: <group>_<version>_<kind>.yaml is a minimal valid object, and
// <group>_<version>_<kind>_full.yaml has all fields, with their descriptions as comments. The values are examples,
// defaults and other valid values, which are checked against the whole schema, including CEL rules. If the schema of a
// Go type allows values that the type can't decode, such as for durations and addresses, the samples have values that
// it can decode. For your own string types, set a value with +kubebuilder:example=. A run overwrites the files, so copy
// a sample before you edit it.
//
// # kube-derive diff
//
// Prints all changes between old and new CRDs, one per line, with their severity and the clients that they affect. It
// exits with 1 if any of them is breaking or risky, and with 2 if the CRDs can't be compared. Each side is a file, a
// directory, git:REVISION:PATH or - for stdin. A pattern of names accepts changes, on the command line or in a file; a
// pattern that matches no change is an error:
//
//	kube-derive diff --allow '*/v1alpha1*' --allow-file accepted.txt git:main:config/crd config/crd
//
// # kube-derive init
//
// Starts a controller project: a module with a kind, its controller, tests, a Makefile, a Dockerfile and manifests. Two
// replicas run, one of which leads, with health endpoints and metrics; -webhook adds a server of webhooks. The kind has
// the version v1, or that of -version, such as v1alpha1. The directory may have other files. If anything fails, no file
// is written.
//
//	go run github.com/kube-go/sdk/derive/cmd/kube-derive@latest init --module example.com/shop --kind Order shop
//
// # kube-derive add
//
// Extends a project that kube-derive init has started. Run it in the project:
//
//	go tool kube-derive add kind Invoice                 # [--group g] [--version v] [--cluster-scoped]
//	go tool kube-derive add version Order v2             # [--group g]
//	go tool kube-derive add webhook Order --validate     # [--group g] [--mutate] [--conversion]
//
// A kind gets types, a reconcile, tests and a sample. A version is a copy of the types of another version, the hub,
// with functions that convert between the two, a test that converts random objects, and a conversion webhook. The hub
// is the version that the API server stores when the first of them is added, and stays the same when the storage
// version moves: the type of the spokes in internal/webhook/<kind>_conversion.go names it. A comment with TODO marks
// the fields that the functions do not convert, such as those of unexported types. A webhook gets a function, a test
// and its configuration; the first one of a project adds a server, which makes its certificates, to the program, its
// Deployment and the end-to-end tests. make run and make e2e serve the webhooks outside of the cluster, at an address
// that the API server must be able to connect to.
//
// Few lines of existing files change: the lists in internal/controller/controllers.go and internal/webhook/webhooks.go,
// the Deployment, and for the first webhook main.go and test/e2e/e2e_test.go. The command finds the places in the
// syntax of the files. If a file does not have the expected form, it prints the lines to add by hand, and changes
// nothing; when they are there, it continues. It runs go mod tidy and writes the generated files. If anything fails,
// all files are as before.
//
// # Moving the storage version
//
// An object stays stored in the version in which it was last written. These steps store all objects in another version,
// and then remove the old one:
//
//  1. Move storage=true to the //kube:resource marker of the new version, and install the definition. Both versions
//     stay served and converted. All API servers must have observed the definition before the next step.
//  2. Write every object again, as below. An empty patch is enough. API.Modify without a change sends no request.
//  3. Set status.storedVersions of the definition to the new version only.
//  4. When no client uses the old version, remove it from the sources, and install the definition with AllowDowngrade.
//     If it is the hub of conversions, first write them with another version as the hub.
//
// For example:
//
//	documents, empty := kube.ClusterWide[v2.Document](c), kube.MergePatch(map[string]any{})
//	for doc, err := range documents.All(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		_, err := documents.In(doc.Namespace).Patch(ctx, doc.Name, empty, nil)
//		if err != nil && !errors.Is(err, kube.ErrNotFound) {
//			return err
//		}
//	}
//	stored := kube.MergePatch(map[string]any{"status": map[string]any{"storedVersions": []string{"v2"}}})
//	_, err := kube.Dynamic(c, kube.CRDResource()).Status().Patch(ctx, "documents.docs.example.com", stored, nil)
//
// API servers do not check step 2. After step 4, a single object that was not written again makes all objects of the
// kind unreadable, until the old version is back in the definition.
//
// # Markers for kinds
//
// These markers are above the spec struct, without a space after the slashes. Spaces separate arguments, and commas the
// items of lists. Values with spaces are quoted.
//
//	//kube:resource          group= version= kind= [plural=] [singular=] [shortName=,] [categories=,]
//	                         [scope=Namespaced|Cluster] [storage=true|false] [served=true|false] [deprecated[="warning"]]
//	//kube:description       the description of the kind, up to the end of the line; may occur several times
//	//kube:subresource       status[=TypeName]       default type: the name of the kind with the suffix Status
//	//kube:subresource       scale specReplicas=.spec.x statusReplicas=.status.x [labelSelector=.status.x]
//	//kube:printcolumn       name= jsonPath= [type=] [description=] [format=] [priority=]
//	//kube:selectablefield   jsonPath=
//	//kube:validation        rule= [message=] [messageExpression=] [reason=] [fieldPath=] [optionalOldSelf=]
//	//kube:metadata          annotation=key=value label=key=value
//	//kube:conversion        strategy=None|Webhook [service=namespace/name] [path=] [port=] [url=] [versions=,]
//	//kube:diagram           file= [title=]          a Mermaid state diagram for the documentation, see kube-derive docs
//
// The path of a conversion webhook is /convert by default. A webhook of package runtime/webhook converts one kind, so
// give each kind a path of its own, such as path=/convert/documents, and its handler the same.
//
// Paths are checked against the schema, which also determines the type of a column. By default, kinds are namespaced,
// and their plural follows the rules of controller-gen. Several versions of a kind in one run are one definition; set
// storage=true for one of them. If a served version has fields that the storage version lacks, and no webhook converts,
// a warning names them: servers drop their values.
//
// # Markers for outputs
//
// These markers are above the package clause of any of the packages. They apply to runs that read this package.
// Directories are relative to the root of the module, and not to the current directory. The value none disables an
// output:
//
//	//kube:output crds=config/crd rbac=config/rbac roleName=manager webhooks=none
//	//kube:output docs=docs/api schemas=schemas samples=config/samples
//
// The command for one output also writes to its directory, unless -out names another. Without -out, it is an error to
// run it for an output with the value none.
//
// # Markers for types and fields
//
// They are the markers of kubebuilder and Kubernetes that affect schemas:
//
//	+kubebuilder:validation:Maximum= Minimum= ExclusiveMaximum= ExclusiveMinimum= MultipleOf=     numbers
//	+kubebuilder:validation:MaxLength= MinLength= Pattern=                                       strings
//	+kubebuilder:validation:MaxItems= MinItems=                                                  lists
//	+kubebuilder:validation:MaxProperties= MinProperties=                                        objects
//	+kubebuilder:validation:Enum=a;b Format= Type= XIntOrString XEmbeddedResource                any type
//	+kubebuilder:validation:XValidation:rule="…",message="…"                                     a CEL rule
//	+kubebuilder:validation:items:…                                                              for the items of a list
//	+kubebuilder:validation:ExactlyOneOf= AtMostOneOf= AtLeastOneOf=                             fields of a struct
//	+kubebuilder:validation:Schemaless, +kubebuilder:pruning:PreserveUnknownFields               no checks
//	+optional +required +nullable +kubebuilder:default= +default= +kubebuilder:example= +kubebuilder:title=
//	+listType= +listMapKey= +mapType= +structType=                                               merging by apply
//	//kube:descriptions keep|drop                                                                for CRDs that are too large
//
// and the markers of Kubernetes' declarative validation that a schema or a CEL rule can express:
//
//	+k8s:optional +k8s:required +k8s:forbidden +k8s:immutable +k8s:update= +k8s:neq= +k8s:enum +k8s:enumExclude +k8s:format=
//	+k8s:minimum= +k8s:maximum= +k8s:minLength= +k8s:maxLength= +k8s:maxBytes= +k8s:minItems= +k8s:maxItems=
//	+k8s:minProperties= +k8s:maxProperties= +k8s:listType= +k8s:listMapKey= +k8s:unique= +k8s:monotonic
//	+k8s:eachVal=+… +k8s:eachKey=+… +k8s:subfield(name)=+… +k8s:dependentRequired(name) +k8s:dependentForbidden(name)
//	+k8s:unionDiscriminator +k8s:unionMember +k8s:zeroOrOneOfMember
//
// A field is required unless its tag has omitempty or omitzero, or a marker makes it optional. With the marker
// "+kubebuilder:validation:Optional" above the package clause, fields are optional by default. The description of a
// field is its comment, or else that of its type. The schemas are those of controller-gen, except that metadata within
// an object, such as that of a pod template, keeps its labels and annotations.
//
// Complete types, with +kubebuilder:object:root=true and +groupName=, are supported, too. Their kinds have the markers
// of kubebuilder.
//
// # Mistakes
//
// A marker of these namespaces that is unknown, misspelled, on the wrong declaration or of the wrong type is an error,
// with its file, line and column. So is a type without a schema. All mistakes are reported together, except for those
// that another one may cause, and nothing is written. Packages with syntax errors are reported alone. With -lenient,
// all mistakes are warnings, and the files are written without them.
//
// A space after the plus is a mistake, since other generators ignore such a line. Markers of other tools are ignored,
// such as +genclient.
//
// # Moving from controller-gen
//
// Sources and their markers stay as they are. Each generator of controller-gen has a command, and these are the
// equivalents of its arguments:
//
//	paths=./api/...;./controllers         ./api/... ./controllers
//	crd output:crd:dir=config/crd/bases   kube-derive crd -out config/crd/bases
//	crd:maxDescLen=80, crd:maxDescLen=0   -max-description 80, -max-description -1
//	crd:allowDangerousTypes=true          always in effect, as generateEmbeddedObjectMeta and ignoreUnexportedFields
//	object:headerFile=…                   kube-derive deepcopy, which copies the copyright comment of the sources
//	rbac:roleName=manager                 kube-derive rbac -role-name manager
//	webhook                               kube-derive webhook
//	applyconfiguration                    kube-derive apply, which writes to the package of the kinds
//	--load-build-tags=…                   GOFLAGS=-tags=…, an environment variable
//
// First run kube-derive crd with -lenient and the directory of the existing CRDs, and compare. Each file differs: it has
// a comment, and it does not have the annotation controller-gen.kubebuilder.io/version. Then correct the mistakes that
// the warnings name, and omit -lenient.
package main
