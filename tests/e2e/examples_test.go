// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// TestExampleProgramsPrintTheExpectedOutput checks the output and the exit code of small examples.
func TestExampleProgramsPrintTheExpectedOutput(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	_, err := pods.Create(limit(t), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waiting", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"example.com/no": "node"},
			Containers:   []corev1.Container{{Name: "main", Image: "none"}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The scheduler also writes the status, so an update could have a conflict.
	waiting := kube.MergePatch(map[string]any{"status": map[string]any{"containerStatuses": []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull"}},
	}}}})
	if _, err := pods.Status().Patch(limit(t), "waiting", waiting, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		program string
		args    []string
		code    int
		stdout  string // a regular expression for the whole output
		stderr  string // a regular expression for the whole output
	}{
		{
			name:    "list-pods prints the pods of a namespace",
			program: "list-pods", args: []string{"-n", ns},
			stdout: `NAMESPACE +NAME +PHASE +NODE\n` + ns + ` +waiting +Pending *\n`,
		},
		{
			name:    "list-pods prints the selected pods of all namespaces",
			program: "list-pods", args: []string{"-l", "app=web"},
			stdout: `NAMESPACE .*\n(.*\n)*` + ns + ` +waiting .*\n(.*\n)*`,
		},
		{
			name:    "list-pods reports that it found no pods",
			program: "list-pods", args: []string{"-n", ns, "-l", "app!=web"},
			stderr: `no pods found\n`,
		},
		{
			name:    "list-pods reports an invalid selector",
			program: "list-pods", args: []string{"-n", ns, "-l", "app in web"},
			code: 1,
			stderr: `list-pods: list pods in ` + ns + `: request not sent: ` +
				`ListOptions.LabelSelector: "app in web" is not a valid label selector.*\n`,
		},
		{
			name:    "dynamic-get prints names",
			program: "dynamic-get", args: []string{"ns"},
			stdout: `([-a-z0-9]+\n)*` + ns + `\n([-a-z0-9]+\n)*`,
		},
		{
			name:    "dynamic-get prints an object",
			program: "dynamic-get", args: []string{"-n", ns, "Pod", "waiting"},
			stdout: `apiVersion: v1\nkind: Pod\n(.*\n)*    example.com/no: node\n(.*\n)*`,
		},
		{
			name:    "dynamic-get reports that an object does not exist",
			program: "dynamic-get", args: []string{"-n", ns, "pods", "absent"},
			code:   1,
			stderr: `dynamic-get: get pods ` + ns + `/absent: not found\n`,
		},
		{
			name:    "--help prints the help text",
			program: "logs", args: []string{"--help"},
			stdout: `logs prints the logs of containers\.\n(.*\n)*`,
		},
		{
			name:    "an invalid flag is reported in one line",
			program: "api-resources", args: []string{"-namespaced=maybe"},
			code:   1,
			stderr: `api-resources: invalid boolean value "maybe" for -namespaced: want true or false; use -h for help\n`,
		},
		{
			name:    "logs reports why a container has no logs",
			program: "logs", args: []string{"waiting", "-n", ns},
			stderr: `logs: container main of pod waiting is waiting: ErrImageNeverPull\nno log lines found\n`,
		},
		{
			name:    "dynamic-get requires a resource",
			program: "dynamic-get",
			code:    1,
			stderr:  `dynamic-get: specify a resource.*\n`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := call{program: tc.program, args: tc.args}.run(t)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			for _, out := range []struct{ name, got, want string }{
				{"stdout", got.stdout, tc.stdout},
				{"stderr", got.stderr, tc.stderr},
			} {
				if !regexp.MustCompile(`^(?:` + out.want + `)$`).MatchString(out.got) {
					t.Errorf("%s = %q, want %q", out.name, out.got, out.want)
				}
			}
		})
	}
}

// TestDocumentControllerInstallsReconcilesAndStops checks that the program document-controller installs its definition,
// reconciles documents, and exits with status 0 after SIGTERM.
func TestDocumentControllerInstallsReconcilesAndStops(t *testing.T) {
	c := connect(t, nil)
	keepDocumentsAway(t, c)
	l := newLibrary(t, c)
	running := call{program: "document-controller", args: []string{"-install", "-dir", l.dir}}.start(t)
	l.removeAfter(t)

	eventually(t, "documents are served", func(ctx context.Context) error {
		_, err := l.docs.List(ctx, nil)
		return err
	})
	l.write(t, "doc", "words")
	l.awaitPublished(t, "doc", "words")
	file := filepath.Join(l.dir, l.docs.Namespace(), "doc", "document.txt")
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "words") {
		t.Errorf("%s = %q, %v, want it to contain words", file, text, err)
	}
	if err := l.docs.Delete(limit(t), "doc", nil); err != nil {
		t.Fatal(err)
	}
	if err := kube.AwaitGone(limit(t), l.docs, "doc", "", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of %s: %v, want that it does not exist", file, err)
	}

	got := running.stop()
	if got.code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", got.code)
	}
	if want := "msg=reconciled document=" + l.docs.Namespace() + "/doc"; !strings.Contains(got.stderr, want) {
		t.Errorf("the log does not contain %q:\n%s", want, got.stderr)
	}
}

// TestSecretUsersLogsThePodsOfAChangedSecret checks the program secret-users in two namespaces.
func TestSecretUsersLogsThePodsOfAChangedSecret(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	spaces := []string{newNamespace(t, c), newNamespace(t, c)}
	for _, ns := range spaces {
		awaitPods(t, c, ns)
		secrets := kube.Namespaced[corev1.Secret](c, ns)
		if _, err := secrets.Create(limit(t), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}}, nil); err != nil {
			t.Fatal(err)
		}
		volume := corev1.Volume{Name: "key"}
		volume.Secret = &corev1.SecretVolumeSource{SecretName: "key"}
		_, err := kube.Namespaced[corev1.Pod](c, ns).Create(limit(t), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "user"},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"example.com/no": "node"},
				Containers:   []corev1.Container{{Name: "main", Image: "none"}},
				Volumes:      []corev1.Volume{volume},
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		awaitUnschedulable(t, kube.Namespaced[corev1.Pod](c, ns), "user") // the log has only the first cause of a run
	}
	running := call{program: "secret-users", args: []string{"-n", strings.Join(spaces, ",")}}.start(t)
	for _, ns := range spaces {
		awaitLog := func(cause string) {
			run := "object=" + ns + "/user cause=" + cause
			eventually(t, "the log contains "+run, func(context.Context) error {
				for line := range strings.Lines(running.stderr.String()) {
					if strings.Contains(line, run) && strings.Contains(line, "secrets="+ns+"/key") {
						return nil
					}
				}
				return fmt.Errorf("the log is\n%s", running.stderr.String())
			})
		}
		awaitLog("")
		change := kube.MergePatch(map[string]any{"stringData": map[string]string{"key": "value"}})
		if _, err := kube.Namespaced[corev1.Secret](c, ns).Patch(limit(t), "key", change, nil); err != nil {
			t.Fatal(err)
		}
		awaitLog(`"modified secrets ` + ns + `/key"`)
	}
	if got := running.stop(); got.code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0:\n%s", got.code, got.stderr)
	}
}

// awaitUnschedulable waits until the scheduler has written that no node can run a pod. Then nothing changes the pod.
func awaitUnschedulable(t *testing.T, pods *kube.API[corev1.Pod], name string) {
	t.Helper()
	_, err := kube.Await(limit(t), pods, name, func(pod *corev1.Pod) error {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("conditions = %v, want %s to be False", pod.Status.Conditions, corev1.PodScheduled)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}
