// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
)

// generateFunc is the type of the functions that make the outputs of kube-derive.
type generateFunc = func(context.Context, []string, *generate.Options) (*generate.Files, error)

// api is a set of packages that are compared together.
type api struct {
	name     string
	packages []string
	kinds    int // the minimum number of kinds, so that an empty comparison fails
}

func apis() []api {
	const (
		flux       = "github.com/fluxcd/"
		monitoring = "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/"
		capi       = "sigs.k8s.io/cluster-api/api/"
		gateway    = "sigs.k8s.io/gateway-api/"
		cert       = "github.com/cert-manager/cert-manager/pkg/apis/"
		velero     = "github.com/vmware-tanzu/velero/pkg/apis/velero/"
		snapshots  = "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/"
		keda       = "github.com/kedacore/keda/v2/apis/"
		metrics    = "k8s.io/metrics/pkg/apis/"
		aws        = "sigs.k8s.io/cluster-api-provider-aws/v2/"
	)
	// One version of each group at a time, because no version is marked as the stored one.
	kubernetes := func(packages string) []string {
		var list []string
		for name := range strings.FieldsSeq(packages) {
			list = append(list, "k8s.io/api/"+name)
		}
		return list
	}
	return []api{
		{"the types of Kubernetes", []string{"./kinds"}, 45},
		{"names", []string{"./names"}, 100},
		{"markers", []string{"./marks/..."}, 1},
		{"state machines", []string{"./machines"}, 2},
		{"gateway-api", []string{gateway + "apis/v1", gateway + "apis/v1alpha2", gateway + "apis/v1beta1", gateway + "apisx/v1alpha1"}, 10},
		{"cert-manager", []string{cert + "acme/v1", cert + "certmanager/v1"}, 6},
		{"flux", []string{
			flux + "helm-controller/api/...", flux + "kustomize-controller/api/...",
			flux + "notification-controller/api/...", flux + "source-controller/api/...",
		}, 9},
		{"prometheus-operator", []string{monitoring + "v1", monitoring + "v1alpha1", monitoring + "v1beta1"}, 10},
		{"cluster-api", []string{
			capi + "addons/v1beta1", capi + "addons/v1beta2", capi + "bootstrap/kubeadm/v1beta1", capi + "bootstrap/kubeadm/v1beta2",
			capi + "controlplane/kubeadm/v1beta1", capi + "controlplane/kubeadm/v1beta2", capi + "core/v1beta1", capi + "core/v1beta2",
			capi + "ipam/v1alpha1", capi + "ipam/v1beta1", capi + "ipam/v1beta2", capi + "runtime/v1alpha1", capi + "runtime/v1beta2",
		}, 17},
		{"envoy gateway", []string{"github.com/envoyproxy/gateway/api/v1alpha1"}, 8},
		{"velero", []string{velero + "v1", velero + "v2alpha1"}, 13},
		{"cluster-api for AWS", []string{
			aws + "api/v1beta1", aws + "api/v1beta2", aws + "bootstrap/eks/api/...", aws + "controlplane/eks/api/...",
		}, 15},
		{"snapshots", []string{snapshots + "volumegroupsnapshot/v1", snapshots + "volumesnapshot/v1"}, 6},
		{"snapshots of groups, beta", []string{snapshots + "volumegroupsnapshot/v1beta1"}, 3},
		{"snapshots of groups, second beta", []string{snapshots + "volumegroupsnapshot/v1beta2"}, 3},
		{"network policies", []string{"sigs.k8s.io/network-policy-api/apis/v1alpha1"}, 2},
		{"Kubernetes v1", kubernetes("admission/v1 admissionregistration/v1 authentication/v1 authorization/v1 certificates/v1 " +
			"coordination/v1 discovery/v1 events/v1 flowcontrol/v1 networking/v1 node/v1 rbac/v1 resource/v1 scheduling/v1 storage/v1"), 43},
		{"Kubernetes v1beta1", kubernetes("certificates/v1beta1 coordination/v1beta1 discovery/v1beta1 events/v1beta1 flowcontrol/v1beta2 " +
			"networking/v1beta1 node/v1beta1 rbac/v1beta1 resource/v1beta1 storage/v1beta1 storagemigration/v1beta1"), 29},
		{"Kubernetes, other versions", kubernetes("apiserverinternal/v1alpha1 coordination/v1alpha2 flowcontrol/v1beta3 node/v1alpha1 " +
			"rbac/v1alpha1 resource/v1beta2 storage/v1alpha1"), 17},
		{"Kubernetes, more versions", kubernetes("authentication/v1alpha1 certificates/v1alpha1 imagepolicy/v1alpha1"), 3},
		{"metrics", []string{metrics + "metrics/v1beta1", metrics + "custom_metrics/v1beta2", metrics + "external_metrics/v1beta1"}, 2},
		{"metrics, other versions", []string{metrics + "metrics/v1alpha1", metrics + "custom_metrics/v1beta1"}, 2},
		{"keda", []string{keda + "eventing/v1alpha1", keda + "keda/v1alpha1"}, 7},
		{"multi-cluster services", []string{"sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"}, 2},
		{"multi-cluster services, another version", []string{"sigs.k8s.io/mcs-api/pkg/apis/v1beta1"}, 2},
		{"clusterctl", []string{"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"}, 2},
	}
}

// exception is an intended difference.
type exception struct {
	reason string
	file   *regexp.Regexp
	path   *regexp.Regexp
	fits   func(difference) bool // nil: any difference at the path
}

func exceptions() []exception {
	re := regexp.MustCompile
	return []exception{
		{
			reason: "a version without subresources has no field for them; controller-gen writes an empty one beside columns",
			file:   re(`.`), path: re(`\.subresources$`),
			fits: func(d difference) bool { return d.want == "{}" && d.got == "" },
		},
		{
			reason: "a description does not end with the empty line of its comment",
			file:   re(`.`), path: re(`\.description$`),
			fits: func(d difference) bool { return strings.TrimSuffix(d.want, `\n"`) == strings.TrimSuffix(d.got, `"`) },
		},
		{
			reason: "the comment of an alias describes it better than the comment of the type it stands for",
			file:   re(`^(helm|kustomize)\.toolkit`), path: re(`\.spec\.properties\.dependsOn\.items\.description$`),
		},
		{
			reason: "text that is indented by a tab is an example, so a marker in it is text",
			file:   re(`^monitoring`), path: re(`\.rollingUpdate\.properties\.maxUnavailable\.description$`),
		},
		{
			reason: "a field hides an embedded one of the same name, with its comment",
			file:   re(`^monitoring.*_probes`), path: re(`\.spec\.properties\.authorization\.description$`),
		},
		{
			reason: "a type that a marker replaces does not keep the format of the Go type",
			file:   re(`^marks`), path: re(`\.spec\.properties\.size\.format$`),
			fits: func(d difference) bool { return d.want == `"int64"` && d.got == "" },
		},
		{
			reason: "a required quantity is an integer or a string, so the number of its properties has no meaning",
			file:   re(`_pods\.yaml$`), path: re(`\.quantity\.minProperties$`),
			fits: func(d difference) bool { return d.want == "1" && d.got == "" },
		},
	}
}

// TestCRDsEqualThoseOfControllerGen checks that kube-derive generates the same CRDs from kubebuilder-style types as
// controller-gen, except for the listed differences.
func TestCRDsEqualThoseOfControllerGen(t *testing.T) {
	known := exceptions()
	used := make([]int, len(known))
	var ourTime, theirTime time.Duration
	kinds, schemas := 0, 0
	for _, a := range apis() {
		t.Run(a.name, func(t *testing.T) {
			start := time.Now()
			ours := deriveCRDs(t, a.packages)
			middle := time.Now()
			theirs := controllerGen(t, a.packages)
			ourTime, theirTime = ourTime+middle.Sub(start), theirTime+time.Since(middle)
			t.Logf("%d kinds: kube-derive %v, controller-gen %v", len(ours), middle.Sub(start).Round(time.Millisecond), time.Since(middle).Round(time.Millisecond))
			if len(ours) < a.kinds {
				t.Errorf("%d kinds, want at least %d", len(ours), a.kinds)
			}
			if kinds += len(ours); a.name != "names" { // which compares names only
				for _, crd := range ours {
					schemas += len(versionsOf(crd))
				}
			}
			for _, d := range differMaps("", theirs, ours) {
				if i := find(known, d); i >= 0 {
					used[i]++
				} else {
					t.Error(d)
				}
			}
		})
	}
	if schemas < 290 {
		t.Errorf("%d schemas were compared, want several hundred", schemas)
	}
	t.Logf("in all %d kinds, %d schemas: kube-derive %v, controller-gen %v", kinds, schemas, ourTime.Round(time.Millisecond), theirTime.Round(time.Millisecond))
	for i, e := range known {
		if used[i] == 0 {
			t.Errorf("the exception is outdated, remove it: %s", e.reason)
		}
	}
}

// versionsOf returns the versions of a CRD.
func versionsOf(crd any) []any {
	object, _ := crd.(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	list, _ := spec["versions"].([]any)
	return list
}

// find returns the index of the exception for a difference, or -1.
func find(known []exception, d difference) int {
	for i, e := range known {
		if e.file.MatchString(d.file()) && e.path.MatchString(d.path) && (e.fits == nil || e.fits(d)) {
			return i
		}
	}
	return -1
}

// deriveCRDs returns the CRDs of kube-derive, by file name.
func deriveCRDs(t testing.TB, packages []string) map[string]any {
	t.Helper()
	files, err := generate.CRDs(t.Context(), packages, nil)
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	crds := map[string]any{}
	for _, f := range files.Files {
		crds[filepath.Base(f.Path)] = decode(t, f.Content)
	}
	return crds
}

// controllerGen returns the CRDs of controller-gen, by file name.
func controllerGen(t testing.TB, packages []string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	writeTheirs(t, packages, dir)
	return readCRDs(t, dir)
}

// readCRDs returns the YAML files in a directory, by file name.
func readCRDs(t testing.TB, dir string) map[string]any {
	t.Helper()
	crds := map[string]any{}
	names, err := fs.Glob(os.DirFS(dir), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		crds[name] = decode(t, content)
	}
	return crds
}

// writeTheirs writes the CRDs of controller-gen into a directory, with the options that kube-derive always has:
// describe the metadata of embedded objects, and allow numbers that are not integers.
func writeTheirs(t testing.TB, packages []string, dir string) {
	t.Helper()
	if err := runControllerGen(packages, dir); err != nil {
		t.Fatal(err)
	}
}

func runControllerGen(packages []string, dir string) error {
	var generator genall.Generator = crd.Generator{
		AllowDangerousTypes:        new(true),
		GenerateEmbeddedObjectMeta: new(true),
		OmitToolVersion:            new(true),
	}
	generators := genall.Generators{&generator}
	run, err := generators.ForRoots(packages...)
	if err != nil {
		return fmt.Errorf("controller-gen: %w", err)
	}
	var problems bytes.Buffer
	run.ErrorWriter = &problems
	run.OutputRules = genall.OutputRules{Default: genall.OutputToDirectory(dir)}
	if run.Run() {
		return fmt.Errorf("controller-gen: %s", &problems)
	}
	return nil
}

func decode(t testing.TB, content []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
