// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/csr"
	nodeverbs "github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/rollout"
	"github.com/kube-go/sdk/core/request"
)

const (
	deploymentPath = "/apis/apps/v1/namespaces/prod/deployments/web"
	csrPath        = "/apis/certificates.k8s.io/v1/certificatesigningrequests/web"
	podPath        = "/api/v1/namespaces/prod/pods/web-0"
	nodePath       = "/api/v1/nodes/n1"
)

func workshop() map[string]string {
	return map[string]string{
		deploymentPath: `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"prod"},"spec":{"template":{"spec":{}}}}`,
		deploymentPath + "-paused": `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web-paused","namespace":"prod"},` +
			`"spec":{"paused":true,"template":{"spec":{}}}}`,
		csrPath:               `{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{"name":"web"},"spec":{}}`,
		csrPath + "-approved": `{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{"name":"web-approved"},"status":{"conditions":[{"type":"Approved","status":"True"}]}}`,
		podPath: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","namespace":"prod"},"spec":{` +
			`"containers":[{"name":"main"}],"initContainers":[{"name":"proxy","restartPolicy":"Always"}]}}`,
		nodePath: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`,
	}
}

// TestVerbsOfSomeKindsSendTheirRequests checks the verbs that exist for some kinds only.
func TestVerbsOfSomeKindsSendTheirRequests(t *testing.T) {
	dry := &request.PatchOptions{DryRun: true}
	tests := []struct {
		name string
		do   func(context.Context, *client.Client) error
		want []string
	}{
		{"restart", func(ctx context.Context, c *client.Client) error {
			_, err := rollout.Restart(ctx, client.Namespaced[appsv1.Deployment](c, "prod"), "web", nil)
			return err
		}, []string{
			"GET " + deploymentPath,
			"PATCH " + deploymentPath + ` {"metadata":{"resourceVersion":"V"},"spec":{"template":{"metadata":{"annotations":` +
				`{"kubectl.kubernetes.io/restartedAt":"NOW"}}}}}`,
		}},
		{"cordon", func(ctx context.Context, c *client.Client) error {
			_, err := nodeverbs.New(c).Cordon(ctx, "n1", nil)
			return err
		}, []string{"PATCH " + nodePath + ` {"spec":{"unschedulable":true}}`}},
		{"uncordon", func(ctx context.Context, c *client.Client) error {
			_, err := nodeverbs.New(c).Uncordon(ctx, "n1", dry)
			return err
		}, []string{"PATCH " + nodePath + `?dryRun=All {"spec":{"unschedulable":null}}`}},
		{"approve", func(ctx context.Context, c *client.Client) error {
			_, err := csr.New(c).Approve(ctx, "web", nil)
			return err
		}, []string{
			"GET " + csrPath + "/approval",
			"PATCH " + csrPath + `/approval {"metadata":{"resourceVersion":"V"},"status":{"conditions":[` +
				`{"lastTransitionTime":null,"lastUpdateTime":null,"reason":"Approved","status":"True","type":"Approved"}]}}`,
		}},
		{"approve an approved request", func(ctx context.Context, c *client.Client) error {
			_, err := csr.New(c).Approve(ctx, "web-approved", nil)
			return err
		}, []string{"GET " + csrPath + "-approved/approval"}},
		{"deny", func(ctx context.Context, c *client.Client) error {
			_, err := csr.New(c).Deny(ctx, "web",
				&csr.Options{Reason: "Unknown", Message: "unknown requester", DryRun: true})
			return err
		}, []string{
			"GET " + csrPath + "/approval",
			"PATCH " + csrPath + `/approval?dryRun=All {"metadata":{"resourceVersion":"V"},"status":{"conditions":[` +
				`{"lastTransitionTime":null,"lastUpdateTime":null,"message":"unknown requester","reason":"Unknown","status":"True","type":"Denied"}]}}`,
		}},
		{"add an ephemeral container", func(ctx context.Context, c *client.Client) error {
			tools := &corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "tools", Image: "busybox"}}
			_, err := pod.In(c, "prod").AddEphemeralContainer(ctx, "web-0", tools, nil)
			return err
		}, []string{
			"PATCH " + podPath + `/ephemeralcontainers {"spec":{"ephemeralContainers":[{"name":"tools","image":"busybox","resources":{}}]}}`,
		}},
		{"resize", func(ctx context.Context, c *client.Client) error {
			more := &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}
			_, err := pod.In(c, "prod").Resize(ctx, "web-0", "main", more, nil)
			return err
		}, []string{
			"GET " + podPath,
			"PATCH " + podPath + `/resize {"spec":{"containers":[{"name":"main","resources":{"limits":{"cpu":"2"}}}]}}`,
		}},
		{"resize a sidecar", func(ctx context.Context, c *client.Client) error {
			more := &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}}
			_, err := pod.In(c, "prod").Resize(ctx, "web-0", "proxy", more, nil)
			return err
		}, []string{
			"GET " + podPath,
			"PATCH " + podPath + `/resize {"spec":{"initContainers":[{"name":"proxy","resources":{"limits":{"cpu":"2"}}}]}}`,
		}},
	}
	clock := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
	version := regexp.MustCompile(`"resourceVersion":"\d+"`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t, workshop())
			if err := tt.do(t.Context(), s.Client(t)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range s.Asked() {
				line := a.Method + " " + a.URI
				if a.Body != "" {
					line += " " + a.Body
				}
				line = clock.ReplaceAllString(line, "NOW")
				got = append(got, version.ReplaceAllString(line, `"resourceVersion":"V"`))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInvalidVerbsChangeNothing checks that a verb that does not exist for a kind, or is invalid for an object, changes
// nothing and returns an error with the reason.
func TestInvalidVerbsChangeNothing(t *testing.T) {
	s := newShelf(t, workshop())
	c, ctx := s.Client(t), t.Context()
	cms := client.Namespaced[corev1.ConfigMap](c, "prod")
	pods := client.Namespaced[corev1.Pod](c, "prod")
	tests := []struct {
		name string
		do   func() error
		want string
	}{
		{"restart a paused deployment", func() error {
			_, err := rollout.Restart(ctx, client.Namespaced[appsv1.Deployment](c, "prod"), "web-paused", nil)
			return err
		}, "modify deployments.apps prod/web-paused: request not sent: spec.paused: is true, so no pod would be replaced; resume the rollout first"},
		{"a subresource that the kind does not have", func() error {
			_, err := client.Namespaced[appsv1.Deployment](c, "prod").Subresource("approval").Get(ctx, "web", nil)
			return err
		}, `get deployments.apps/approval prod/web: request not sent: subresource: "approval" is not known: deployments.apps have scale, status; ` +
			"to ask a newer server for it, use client.Of (kube.APIOf)"},
		{
			"a subresource of a kind without subresources", func() error { _, err := cms.Status().Get(ctx, "web", nil); return err },
			`get configmaps/status prod/web: request not sent: subresource: "status" is not known: configmaps have no subresources; ` +
				"to ask a newer server for it, use client.Of (kube.APIOf)",
		},
		{
			"a subresource without a name", func() error { _, err := pods.Subresource("").Get(ctx, "web-0", nil); return err },
			"get pods prod/web-0: request not sent: subresource: is empty; name one, such as status",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := s.stored()
			err := tt.do()
			if text(err) != tt.want {
				t.Errorf("error = %v\nwant %s", err, tt.want)
			}
			if _, ok := errors.AsType[*request.InvalidError](err); !ok {
				t.Errorf("error is not an InvalidError")
			}
			if s.stored() != before {
				t.Error("an object was written")
			}
		})
	}
	for _, a := range s.Asked() {
		if a.Method != http.MethodGet {
			t.Errorf("request %s %s was sent", a.Method, a.URI)
		}
	}
}
