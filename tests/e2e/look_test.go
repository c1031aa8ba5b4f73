// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// look runs a program that prints cluster state, and waits until it exits.
func look(t *testing.T, program string, args ...string) outcome {
	t.Helper()
	return call{program: program, args: args}.run(t)
}

// TestReadOnlyExamples checks that the examples get, api-resources and tree print the state of a cluster as documented.
func TestReadOnlyExamples(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	labels := map[string]string{"app": "web"}
	_, err := kube.Namespaced[appsv1.Deployment](c, ns).Create(limit(t), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"example.com/no": "node"},
					Containers:   []corev1.Container{{Name: "main", Image: "none"}},
				},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pods := kube.Namespaced[corev1.Pod](c, ns)
	// The controllers write the pods and the conditions of the deployment one after the other.
	eventually(t, "the pods exist", func(ctx context.Context) error {
		list, err := pods.List(ctx, nil)
		if err == nil && len(list.Items) != 2 {
			err = fmt.Errorf("there are %d pods, want 2", len(list.Items))
		}
		return err
	})
	unavailable := kube.StatusCondition[appsv1.Deployment]("Available", metav1.ConditionFalse)
	if _, err := kube.Await(limit(t), kube.Namespaced[appsv1.Deployment](c, ns), "web", unavailable, nil); err != nil {
		t.Fatal(err)
	}
	awaitRootCA(t, c, ns)
	const pod = `web-[a-z0-9]+-[a-z0-9]+`
	for _, tc := range []struct {
		name    string
		program string
		args    string
		code    int
		stdout  string // a regular expression that matches all of it
		stderr  string // likewise
	}{
		{
			name: "get prints a table", program: "get", args: "pods -n NS",
			stdout: `NAME +READY +STATUS +RESTARTS +AGE\n(` + pod + ` +0/1 +Pending +0 +\w+\n){2}`,
		},
		{
			name:    "get prints a wide table of the selected objects of all namespaces",
			program: "get", args: "po -A -l app=web -o wide",
			stdout: `NAMESPACE +NAME .* NODE .*\n(.*\n)*NS +` + pod + ` .*\n(.*\n)*`,
		},
		{
			name: "get prints the resources of a category", program: "get", args: "all -n NS",
			stdout: `NAME +READY .*\n(pod/` + pod + ` .*\n){2}\nNAME .*\ndeployment.apps/web +0/2 .*\n\n` +
				`NAME .*\nreplicaset.apps/web-[a-z0-9]+ .*\n` +
				`(\nNAME .*\n(.*\n)+)?`, // another test may have a cluster-scoped kind in the category
		},
		{
			name: "get prints names", program: "get", args: "deploy,cm -n NS -o name",
			stdout: `deployment.apps/web\nconfigmap/kube-root-ca.crt\n`,
		},
		{
			name: "get prints one object as YAML", program: "get", args: "-n NS deployments.v1.apps web -o yaml",
			stdout: `apiVersion: apps/v1\nkind: Deployment\n(.*\n)*  name: web\n(.*\n)*`,
		},
		{
			name: "get reports an empty list", program: "get", args: "svc -n NS",
			stderr: `no services found in namespace NS\n`,
		},
		{
			name:    "get reports missing objects and prints the others",
			program: "get", args: "deploy web absent -n NS", code: 1,
			stdout: `NAME .*\nweb .*\n`, stderr: `get: get deployments.apps NS/absent: not found\n`,
		},
		{
			name: "get reports a resource that can't be listed", program: "get", args: "subjectaccessreviews", code: 1,
			stderr: `get: cannot list subjectaccessreviews.authorization.k8s.io: its only verbs are create\n`,
		},
		{
			name: "get suggests a similar resource", program: "get", args: "deploymets", code: 1,
			stderr: `get: the server has no resource "deploymets".*; did you mean deployments.apps\?\n`,
		},
		{
			name: "api-resources prints the kinds of a group", program: "api-resources", args: "-group apps",
			stdout: `NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\ncontrollerrevisions .*\n(.*\n)*` +
				`deployments +deploy +apps/v1 +true +Deployment\n(.*\n)*`,
		},
		{
			name:    "api-resources prints verbs and categories",
			program: "api-resources", args: "-group= -verbs=watch -namespaced=false -o wide",
			stdout: `NAME .* VERBS +CATEGORIES\nnamespaces +ns +v1 +false +Namespace +create,.*watch *\n` +
				`nodes .*\npersistentvolumes .*\n`,
		},
		{
			name:    "api-resources prints all versions",
			program: "api-resources", args: "-group autoscaling -all-versions -o name",
			stdout: `(horizontalpodautoscalers.autoscaling\n){2}`,
		},
		{
			name: "api-resources rejects an unknown argument", program: "api-resources", args: "pods", code: 1,
			stderr: `api-resources: unexpected argument "pods"; use -h for help\n`,
		},
		{
			name: "tree reports a missing object", program: "tree", args: "deploy absent -n NS", code: 1,
			stderr: `tree: get deployments.apps NS/absent: not found\n`,
		},
		{
			name: "tree rejects a namespace for a node", program: "tree", args: "node x -n NS", code: 1,
			stderr: `tree: nodes are not namespaced: omit -n\n`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := look(t, tc.program, strings.Fields(strings.ReplaceAll(tc.args, "NS", ns))...)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			for _, out := range []struct{ name, got, want string }{
				{"stdout", got.stdout, tc.stdout},
				{"stderr", got.stderr, tc.stderr},
			} {
				if !regexp.MustCompile(`^(?:` + strings.ReplaceAll(out.want, "NS", ns) + `)$`).MatchString(out.got) {
					t.Errorf("%s = %q, want %q", out.name, out.got, out.want)
				}
			}
		})
	}

	t.Run("get prints several objects as JSON", func(t *testing.T) {
		var list struct {
			Kind  string
			Items []struct{ Kind string }
		}
		got := look(t, "get", "pods,deploy", "-n", ns, "-o", "json")
		err := json.Unmarshal([]byte(got.stdout), &list)
		if err != nil || list.Kind != "List" || len(list.Items) != 3 || list.Items[0].Kind != "Pod" {
			t.Errorf("%v: %s%s", err, got.stdout, got.stderr)
		}
	})
	t.Run("tree prints the owned objects", func(t *testing.T) {
		got := look(t, "tree", "deploy", "web", "-n", ns)
		want := `^OBJECT +READY +AGE\nDeployment/web +False \(\w+\) +\w+\n└─ReplicaSet/web-\w+ +- +\w+\n` +
			`  ├─Pod/` + pod + ` +-.*\n  └─Pod/` + pod + ` +-.*\n$`
		// The exit code and the standard error depend on the rest of the cluster.
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("stdout = %q, want %s; stderr = %q", got.stdout, want, got.stderr)
		}
	})
	t.Run("get prints changes with -w", func(t *testing.T) {
		watching, stop := context.WithCancel(t.Context())
		defer stop()
		out := transcript{record: recorder.Writer("get")}
		cmd := call{program: "get", args: []string{"pods", "-n", ns, "-w"}}.command(watching, t)
		cmd.Stdout = &out
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitOutput := func(text string, want int) {
			eventually(t, "the program prints "+text, func(context.Context) error {
				if n := strings.Count(out.String(), text); n < want {
					return fmt.Errorf("printed %d times, want %d", n, want)
				}
				return nil
			})
		}
		awaitOutput("Pending", 2)
		one := kube.MergePatch(map[string]any{"spec": map[string]any{"replicas": 1}})
		if _, err := kube.Namespaced[appsv1.Deployment](c, ns).Patch(limit(t), "web", one, nil); err != nil {
			t.Fatal(err)
		}
		awaitOutput("(deleted)", 1)
		stop()
		_ = cmd.Wait() // ProcessState has the result
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d after SIGTERM, want 0", code)
		}
	})
}
