// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkout is a project as published: its module is the main module, with its own dependencies.
type checkout struct {
	module   string
	packages []string
	kinds    int
	refused  []string // the errors of a run that is not lenient; empty: it succeeds
	warned   string   // a warning of any run
	shipped  string   // the directory of the published CRDs of an older controller-gen; "": not published
}

func checkouts() []checkout {
	return []checkout{
		{
			module:   "sigs.k8s.io/gateway-api",
			packages: []string{"./apis/v1", "./apis/v1alpha2", "./apis/v1beta1", "./apisx/v1alpha1"},
			kinds:    10,
			warned:   "without the annotation api-approved.kubernetes.io",
		},
		{
			module:   "github.com/cert-manager/cert-manager",
			packages: []string{"./pkg/apis/acme/v1", "./pkg/apis/certmanager/v1"},
			kinds:    6,
			shipped:  "deploy/crds",
		},
		{
			module:   "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring",
			packages: []string{"./v1", "./v1alpha1", "./v1beta1"},
			kinds:    10,
			refused:  []string{"OneOf"},
		},
		{
			module:   "github.com/kubernetes-csi/external-snapshotter/client/v8",
			packages: []string{"./apis/volumegroupsnapshot/v1", "./apis/volumesnapshot/v1"},
			kinds:    6,
			refused:  []string{"+optional."},
			warned:   "without the annotation api-approved.kubernetes.io",
			shipped:  "config/crd",
		},
	}
}

// TestLenientWritesTheCRDsOfCheckouts checks that kube-derive crd --lenient, run in the checkouts of public projects,
// writes the same CRDs as controller-gen, and that the error without the flag names it.
func TestLenientWritesTheCRDsOfCheckouts(t *testing.T) {
	command := filepath.Join(t.TempDir(), "kube-derive")
	goOutput(t, "build", "-o", command, "github.com/kube-go/sdk/derive/cmd/kube-derive")
	for _, c := range checkouts() {
		t.Run(c.module, func(t *testing.T) {
			source := downloaded(t, c.module)
			dir := t.TempDir()
			copySources(t, source, dir)
			t.Setenv("GOWORK", "off")
			t.Setenv("GOFLAGS", "-mod=mod -trimpath")
			out := t.TempDir()
			arguments := append([]string{"crd", "--lenient", "--out", out}, c.packages...)
			_, problems := execute(t, dir, command, arguments...)
			if !strings.Contains(problems, c.warned) {
				t.Errorf("kube-derive --lenient has no warning %q:\n%s", c.warned, problems)
			}
			ours := readCRDs(t, out)
			if len(ours) < c.kinds {
				t.Errorf("%d kinds, want at least %d", len(ours), c.kinds)
			}
			t.Chdir(dir) // controller-gen reads the working directory
			for _, d := range differMaps("", controllerGen(t, c.packages), ours) {
				if find(exceptions(), d) < 0 {
					t.Error(d)
				}
			}
			c.compareStrict(t, command, dir)
			c.compareShipped(t, source, ours)
		})
	}
}

// downloaded returns the directory of a module in the module cache. It downloads the module if necessary.
func downloaded(t *testing.T, module string) string {
	t.Helper()
	var m struct{ Dir string }
	if err := json.Unmarshal([]byte(goOutput(t, "mod", "download", "-json", module)), &m); err != nil {
		t.Fatal(err)
	}
	return m.Dir
}

// compareStrict runs the command without the flag.
func (c checkout) compareStrict(t *testing.T, command, dir string) {
	t.Helper()
	out := t.TempDir()
	ok, problems := execute(t, dir, command, append([]string{"crd", "--out", out}, c.packages...)...)
	if ok != (len(c.refused) == 0) {
		t.Errorf("kube-derive succeeds: %t, want %t\n%s", ok, len(c.refused) == 0, problems)
	}
	for _, part := range c.refused {
		if !strings.Contains(problems, part) {
			t.Errorf("kube-derive has no error about %s:\n%s", part, problems)
		}
	}
	if !ok {
		if written := readCRDs(t, out); len(written) > 0 {
			t.Errorf("kube-derive writes %d files in spite of errors", len(written))
		}
		if last := problems[strings.LastIndexByte(strings.TrimSpace(problems), '\n')+1:]; !strings.Contains(last, "nothing was written (-lenient ") {
			t.Errorf("kube-derive ends with %q, want the flag -lenient in it", last)
		}
	}
}

// compareShipped compares CRDs with those that the project publishes, for the versions that both have.
func (c checkout) compareShipped(t *testing.T, source string, ours map[string]any) {
	t.Helper()
	if c.shipped == "" {
		return
	}
	shipped := map[string]any{}
	for name, crd := range readCRDs(t, filepath.Join(source, c.shipped)) {
		object, _ := crd.(map[string]any)
		if object["kind"] == "CustomResourceDefinition" && ours[name] != nil {
			keepVersions(object, ours[name])
			shipped[name] = object
		}
	}
	if len(shipped) < c.kinds {
		t.Errorf("the project publishes %d CRDs, want at least %d", len(shipped), c.kinds)
	}
	known := append(exceptions(), shippedExceptions()...)
	for _, d := range differMaps("", shipped, ours) {
		if find(known, d) < 0 {
			t.Errorf("published by the project: %v", d)
		}
	}
}

// keepVersions removes the versions of a CRD that another CRD does not have.
func keepVersions(crd, other any) {
	names := map[any]bool{}
	for _, v := range versionsOf(other) {
		names[v.(map[string]any)["name"]] = true
	}
	spec, _ := crd.(map[string]any)["spec"].(map[string]any)
	spec["versions"] = slices.DeleteFunc(versionsOf(crd), func(v any) bool { return !names[v.(map[string]any)["name"]] })
}

// shippedExceptions are differences caused by tools of the projects, or by older versions of controller-gen.
func shippedExceptions() []exception {
	re := regexp.MustCompile
	return []exception{
		{
			reason: "controller-gen writes its version, and projects add annotations of their own",
			file:   re(`.`), path: re(`\.metadata\.(annotations|labels|creationTimestamp)`),
		},
		{
			reason: "older versions of controller-gen write an empty status",
			file:   re(`.`), path: re(`yaml\.status$`),
			fits: func(d difference) bool { return d.got == "" },
		},
		{
			reason: "the stored version is not compared",
			file:   re(`^groupsnapshot`), path: re(`\.versions\[\d+\]\.storage$`),
		},
		{
			reason: "older versions of controller-gen keep the lines of a comment that begin with TODO",
			file:   re(`snapshotcontents`), path: re(`\.fieldPath\.description$`),
			fits: func(d difference) bool { return strings.Contains(d.want, `\nTODO: `) },
		},
		{
			reason: "the project changes a quantity to a string by hand",
			file:   re(`_volumesnapshots`), path: re(`\.restoreSize\.(anyOf|type)$`),
		},
	}
}

// copySources copies the files of a module that the go command needs.
func copySources(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".mod" && ext != ".sum" {
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goOutput runs the go command, which must succeed, and returns its output.
func goOutput(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &problems)
	}
	return string(out)
}

// execute runs a command, and returns whether it succeeded, and its output on stderr.
func execute(t *testing.T, dir, name string, args ...string) (ok bool, problems string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	return err == nil, errs.String()
}
