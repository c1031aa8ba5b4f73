// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// needNode skips the test if this machine cannot run containers. If KUBECLUSTER_NODE is set, as in CI, the test fails.
func needNode(t *testing.T) {
	t.Helper()
	err := cluster.CheckNode()
	switch {
	case err == nil:
	case os.Getenv("KUBECLUSTER_NODE") != "":
		t.Fatal(err)
	default:
		t.Skip("needs a node: ", err)
	}
}

// TestProgramInPodUsesItsServiceAccount checks that a program in a pod connects to the server as the service account of
// the pod, without any configuration.
func TestProgramInPodUsesItsServiceAccount(t *testing.T) {
	t.Parallel()
	needNode(t)
	own, err := withNode() // a node on this machine, because the pod runs a program from the disk of the machine
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: own.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, &kube.ClientOptions{Config: cfg})
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	bind := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: ns}},
	}
	bindings := kube.ClusterWide[rbacv1.ClusterRoleBinding](c)
	if _, err := bindings.Create(limit(t), bind, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNow(t, bindings, ns) })
	awaitGrant(t, cfg, ns, "system:serviceaccount:"+ns+":default")

	pods, pod := kube.Namespaced[corev1.Pod](c, ns), inClusterPod(t)
	ctx := limit(t)
	if _, err := pods.Create(ctx, pod, nil); err != nil {
		t.Fatal(err)
	}
	_, err = kube.Await(ctx, pods, "in-cluster", func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return fmt.Errorf("phase = %s, want Succeeded or Failed", pod.Status.Phase)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := podLog(ctx, t, c, "/api/v1/namespaces/"+ns+"/pods/in-cluster/log")
	if !strings.Contains(log, ns) || !strings.Contains(log, "in-cluster") {
		t.Errorf("the program in the pod printed:\n%s\nwant a list with this pod", log)
	}
}

// inClusterPod returns a pod that runs the example list-pods from the disk of the machine.
func inClusterPod(t *testing.T) *corev1.Pod {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "list-pods"), "./list-pods")
	build.Dir = filepath.Join("..", "..", "examples")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "in-cluster"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Volumes: []corev1.Volume{{
				Name:         "program",
				VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
			}},
			Containers: []corev1.Container{{
				Name:            "main",
				Image:           cluster.TestImage,
				ImagePullPolicy: corev1.PullNever,
				Command:         []string{"/program/list-pods"},
				VolumeMounts:    []corev1.VolumeMount{{Name: "program", MountPath: "/program"}},
			}},
		},
	}
}

func podLog(ctx context.Context, t *testing.T, c *kube.Client, path string) string {
	t.Helper()
	resp, err := c.Do(ctx, &request.Request{Verb: "get", Method: "GET", Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
