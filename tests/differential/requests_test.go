// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// sent is a request as received by the server.
type sent struct {
	Method, Path        string
	Query               map[string][]string
	Accept, ContentType string
	Body                string
}

// recorder is a server that responds with an error and records its requests.
type recorder struct {
	*httptest.Server

	mu   sync.Mutex // guards seen
	seen []sent
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.seen = append(r.seen, sent{
			req.Method, req.URL.EscapedPath(), req.URL.Query(), req.Header.Get("Accept"), req.Header.Get("Content-Type"), string(body),
		})
		r.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}))
	t.Cleanup(r.Close)
	return r
}

// of returns the only request of a call, which returns the recorder's error.
func (r *recorder) of(t testing.TB, call func(context.Context) error) sent {
	t.Helper()
	r.mu.Lock()
	r.seen = nil
	r.mu.Unlock()
	err := call(t.Context())
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) != 1 {
		t.Fatalf("%d requests were sent, want one (%v)", len(r.seen), err)
	}
	return r.seen[0]
}

// clients are client-go's clients: one with JSON, and one that prefers protobuf.
type clients struct {
	json, protobuf kubernetes.Interface
	dynamic        dynamic.Interface
	metadata       metadata.Interface
}

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
)

func theirClients(t testing.TB, server string) clients {
	t.Helper()
	plain := &rest.Config{Host: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: jsonType, AcceptContentTypes: jsonType}}
	proto := &rest.Config{Host: server, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: protobufType, AcceptContentTypes: protobufType + "," + jsonType,
	}}
	return clients{
		json: must(kubernetes.NewForConfig(plain)), protobuf: must(kubernetes.NewForConfig(proto)),
		dynamic: must(dynamic.NewForConfig(plain)), metadata: must(metadata.NewForConfig(plain)),
	}
}

// requestCase is a verb with options, for both.
type requestCase struct {
	name   string
	ours   func(context.Context, *client.Client) error
	theirs func(context.Context, clients) error

	because string // the reason of a difference
	adjust  func(theirs *sent)
}

// TestRequestsEqualThoseOfClientGo checks that the requests are identical to those of client-go, except for the listed
// differences.
func TestRequestsEqualThoseOfClientGo(t *testing.T) {
	r := newRecorder(t)
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: r.URL}, Retry: &middleware.RetryOptions{MaxAttempts: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	peers := theirClients(t, r.URL)
	for _, tc := range append(append(readCases(), writeCases()...), subresourceCases()...) {
		t.Run(tc.name, func(t *testing.T) {
			got := r.of(t, func(ctx context.Context) error { return tc.ours(ctx, c) })
			want := r.of(t, func(ctx context.Context) error { return tc.theirs(ctx, peers) })
			want.Body = strings.TrimSuffix(want.Body, "\n") // client-go ends JSON with a line break
			if tc.because != "" {
				if cmp.Equal(got, want) {
					t.Errorf("no difference, although the case says: %s", tc.because)
				}
				tc.adjust(&want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-theirs +ours):\n%s", diff)
			}
		})
	}
}

// withoutEmptyEncoding removes the fields contentEncoding and contentType of the envelope, which are empty.
func withoutEmptyEncoding(theirs *sent) {
	theirs.Body = strings.TrimSuffix(theirs.Body, "\x1a\x00\x22\x00")
}

func pods(c *client.Client) *client.API[corev1.Pod] { return client.Namespaced[corev1.Pod](c, "prod") }

func deployments(c *client.Client) *client.API[appsv1.Deployment] {
	return client.Namespaced[appsv1.Deployment](c, "prod")
}

var (
	widgets    = core.Resource{Group: "example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
	widgetsGVR = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "prod"}, "spec": map[string]any{"size": int64(3), "a<b": "&"},
	}}
}

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "prod", ResourceVersion: "7", Labels: map[string]string{"b": "1", "a": "2"}},
		Data:       map[string]string{"k": "<v>"},
	}
}

// newConfigMap returns a config map that a server does not have yet.
func newConfigMap() *corev1.ConfigMap {
	cm := configMap()
	cm.ResourceVersion = ""
	return cm
}

// drain reads a watch to its end.
func drain[T any](seq func(func(T, error) bool)) error {
	var last error
	for _, err := range seq {
		last = err
	}
	return last
}

func readCases() []requestCase {
	timeout := int64(300)
	return []requestCase{
		{
			name: "get",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := pods(c).Get(ctx, "web-0", nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().Pods("prod").Get(ctx, "web-0", metav1.GetOptions{})
				return err
			},
		},
		{
			name: "get from the server's cache",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := pods(c).Get(ctx, "web-0", &request.GetOptions{ResourceVersion: "0"})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().Pods("prod").Get(ctx, "web-0", metav1.GetOptions{ResourceVersion: "0"})
				return err
			},
		},
		{
			name: "get a cluster-scoped object whose name must not be escaped",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.ClusterWide[rbacv1.ClusterRole](c).Get(ctx, "system:node", nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.RbacV1().ClusterRoles().Get(ctx, "system:node", metav1.GetOptions{})
				return err
			},
		},
		{
			name: "get an object of any kind",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Get(ctx, "w", nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").Get(ctx, "w", metav1.GetOptions{})
				return err
			},
		},
		{
			name: "list with all options",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := pods(c).List(ctx, &request.ListOptions{
					LabelSelector: "app=web,tier in (a,b)", FieldSelector: "spec.nodeName=n1", Limit: 50, Timeout: 5 * time.Minute,
					ResourceVersion: "12", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().Pods("prod").List(ctx, metav1.ListOptions{
					LabelSelector: "app=web,tier in (a,b)", FieldSelector: "spec.nodeName=n1", Limit: 50, TimeoutSeconds: &timeout,
					ResourceVersion: "12", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				})
				return err
			},
			because: "client-go sends the timeout as timeoutSeconds and as timeout; for lists, the server reads the latter",
			adjust:  func(theirs *sent) { delete(theirs.Query, "timeoutSeconds") },
		},
		{
			name: "list the next page of all namespaces",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.ClusterWide[corev1.Pod](c).List(ctx, &request.ListOptions{Limit: 2, Continue: "abc=="})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 2, Continue: "abc=="})
				return err
			},
		},
		{
			name: "list objects of any kind",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).List(ctx, nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).List(ctx, metav1.ListOptions{})
				return err
			},
		},
		{
			name:    "list metadata",
			because: "the media types have another order, and ours accepts only metadata",
			adjust: func(theirs *sent) {
				const params = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
				theirs.Accept = protobufType + params + "," + jsonType + params
			},
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Metadata().List(ctx, nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.metadata.Resource(widgetsGVR).Namespace("prod").List(ctx, metav1.ListOptions{})
				return err
			},
		},
		{
			name: "watch",
			ours: func(ctx context.Context, c *client.Client) error {
				return drain(pods(c).WatchOnce(ctx, &request.WatchOptions{
					LabelSelector: "app=web", ResourceVersion: "12", Timeout: 5 * time.Minute, SendInitialEvents: true,
				}))
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().Pods("prod").Watch(ctx, metav1.ListOptions{
					LabelSelector: "app=web", ResourceVersion: "12", TimeoutSeconds: &timeout, AllowWatchBookmarks: true,
					SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				})
				return err
			},
			because: "client-go sends the timeout twice, see above; ours accepts a certain form of stream",
			adjust: func(theirs *sent) {
				delete(theirs.Query, "timeout")
				theirs.Accept = protobufType + ";stream=watch," + jsonType + ";stream=watch," + jsonType
			},
		},
	}
}

func writeCases() []requestCase {
	grace := int64(10)
	return []requestCase{
		{
			name:    "create in protobuf",
			because: "client-go writes the empty fields of the envelope, too",
			adjust:  withoutEmptyEncoding,
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Namespaced[corev1.ConfigMap](c, "prod").Create(ctx, newConfigMap(), nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().ConfigMaps("prod").Create(ctx, newConfigMap(), metav1.CreateOptions{})
				return err
			},
		},
		{
			name: "create with all options",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Create(ctx, widget(),
					&request.CreateOptions{DryRun: true, FieldManager: "me", FieldValidation: metav1.FieldValidationStrict})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").Create(ctx, widget(),
					metav1.CreateOptions{DryRun: []string{"All"}, FieldManager: "me", FieldValidation: "Strict"})
				return err
			},
		},
		{
			name:    "update in protobuf",
			because: "client-go writes the empty fields of the envelope, too",
			adjust:  withoutEmptyEncoding,
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Namespaced[corev1.ConfigMap](c, "prod").Update(ctx, configMap(), &request.UpdateOptions{FieldManager: "me"})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.protobuf.CoreV1().ConfigMaps("prod").Update(ctx, configMap(), metav1.UpdateOptions{FieldManager: "me"})
				return err
			},
		},
		{
			name: "update an object of any kind",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Update(ctx, widget(), nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").Update(ctx, widget(), metav1.UpdateOptions{})
				return err
			},
		},
		patchCase("merge patch", request.MergePatch(map[string]any{"spec": nil}), types.MergePatchType, `{"spec":null}`),
		patchCase("strategic merge patch", request.StrategicMergePatch(map[string]any{"a": 1}), types.StrategicMergePatchType, `{"a":1}`),
		patchCase("JSON patch", request.JSONPatch(request.Op{Op: "remove", Path: "/a"}), types.JSONPatchType, `[{"op":"remove","path":"/a"}]`),
		{
			name: "apply",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Apply(ctx, widget(), &request.ApplyOptions{FieldManager: "me", Force: true, DryRun: true})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").Apply(ctx, "w", widget(),
					metav1.ApplyOptions{FieldManager: "me", Force: true, DryRun: []string{"All"}})
				return err
			},
		},
		{
			name:    "delete",
			because: "empty options are not sent",
			adjust:  func(theirs *sent) { theirs.ContentType, theirs.Body = "", "" },
			ours: func(ctx context.Context, c *client.Client) error {
				return client.Dynamic(c, widgets).In("prod").Delete(ctx, "w", nil)
			},
			theirs: func(ctx context.Context, c clients) error {
				return c.dynamic.Resource(widgetsGVR).Namespace("prod").Delete(ctx, "w", metav1.DeleteOptions{})
			},
		},
		{
			name: "delete with all options",
			ours: func(ctx context.Context, c *client.Client) error {
				return client.Dynamic(c, widgets).In("prod").Delete(ctx, "w", &request.DeleteOptions{
					GracePeriod: new(10 * time.Second), Propagation: metav1.DeletePropagationForeground,
					UID: "u-1", ResourceVersion: "7", DryRun: true,
				})
			},
			theirs: func(ctx context.Context, c clients) error {
				return c.dynamic.Resource(widgetsGVR).Namespace("prod").Delete(ctx, "w", metav1.DeleteOptions{
					GracePeriodSeconds: &grace, PropagationPolicy: new(metav1.DeletePropagationForeground), DryRun: []string{"All"},
					Preconditions: &metav1.Preconditions{UID: new(types.UID("u-1")), ResourceVersion: new("7")},
				})
			},
		},
		{
			name: "delete a collection",
			ours: func(ctx context.Context, c *client.Client) error {
				return client.Dynamic(c, widgets).In("prod").DeleteCollection(ctx,
					&request.DeleteOptions{Propagation: metav1.DeletePropagationOrphan},
					&request.ListOptions{LabelSelector: "a=b"})
			},
			theirs: func(ctx context.Context, c clients) error {
				return c.dynamic.Resource(widgetsGVR).Namespace("prod").DeleteCollection(ctx,
					metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}, metav1.ListOptions{LabelSelector: "a=b"})
			},
		},
	}
}

func patchCase(name string, p request.Patch, kind types.PatchType, body string) requestCase {
	return requestCase{
		name: name,
		ours: func(ctx context.Context, c *client.Client) error {
			_, err := pods(c).Patch(ctx, "web-0", p, &request.PatchOptions{FieldManager: "me"})
			return err
		},
		theirs: func(ctx context.Context, c clients) error {
			_, err := c.protobuf.CoreV1().Pods("prod").Patch(ctx, "web-0", kind, []byte(body), metav1.PatchOptions{FieldManager: "me"})
			return err
		},
	}
}

func subresourceCases() []requestCase {
	seconds, tail, limit := int64(3600), int64(5), int64(100)
	return []requestCase{
		{
			name: "read a status",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Status().Get(ctx, "w", nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").Get(ctx, "w", metav1.GetOptions{}, "status")
				return err
			},
		},
		{
			name: "update a status",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Status().Update(ctx, widget(), nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").UpdateStatus(ctx, widget(), metav1.UpdateOptions{})
				return err
			},
		},
		{
			name:    "apply a status",
			because: "force=false is the default",
			adjust:  func(theirs *sent) { delete(theirs.Query, "force") },
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := client.Dynamic(c, widgets).In("prod").Status().Apply(ctx, widget(), &request.ApplyOptions{FieldManager: "me"})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.dynamic.Resource(widgetsGVR).Namespace("prod").ApplyStatus(ctx, "w", widget(), metav1.ApplyOptions{FieldManager: "me"})
				return err
			},
		},
		{
			name: "read a scale",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := deployments(c).Scale().Get(ctx, "web", nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.json.AppsV1().Deployments("prod").GetScale(ctx, "web", metav1.GetOptions{})
				return err
			},
		},
		{
			name:    "update a scale",
			because: "an empty status is not sent",
			adjust:  func(theirs *sent) { theirs.Body = strings.Replace(theirs.Body, `,"status":{"replicas":0}`, "", 1) },
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := deployments(c).Scale().Update(ctx, &core.Scale{
					ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "prod"}, Spec: core.ScaleSpec{Replicas: 3},
				}, nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.json.AppsV1().Deployments("prod").UpdateScale(ctx, "web", &autoscalingv1.Scale{
					ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "prod"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
				}, metav1.UpdateOptions{})
				return err
			},
		},
		{
			name: "patch a scale",
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := deployments(c).Scale().Patch(ctx, "web", request.MergePatch(map[string]any{"spec": map[string]any{"replicas": 3}}), nil)
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.json.AppsV1().Deployments("prod").Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
				return err
			},
		},
		{
			name: "evict",
			ours: func(ctx context.Context, c *client.Client) error { return pod.In(c, "prod").Evict(ctx, "web-0", nil) },
			theirs: func(ctx context.Context, c clients) error {
				return c.json.CoreV1().Pods("prod").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "prod"}})
			},
		},
		{
			name:    "evict with options",
			because: "ours sends the kind of the options, as for a delete",
			adjust: func(theirs *sent) {
				theirs.Body = strings.Replace(theirs.Body, `"deleteOptions":{`, `"deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1",`, 1)
			},
			ours: func(ctx context.Context, c *client.Client) error {
				return pod.In(c, "prod").Evict(ctx, "web-0", &request.EvictOptions{GracePeriod: new(10 * time.Second), UID: "u-1"})
			},
			theirs: func(ctx context.Context, c clients) error {
				return c.json.CoreV1().Pods("prod").EvictV1(ctx, &policyv1.Eviction{
					ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "prod"},
					DeleteOptions: &metav1.DeleteOptions{
						GracePeriodSeconds: new(int64(10)), Preconditions: &metav1.Preconditions{UID: new(types.UID("u-1"))},
					},
				})
			},
		},
		{
			name:    "read a log",
			because: "a log is plain text",
			adjust:  func(theirs *sent) { theirs.Accept = "text/plain,*/*" },
			ours: func(ctx context.Context, c *client.Client) error {
				body, err := pod.In(c, "prod").Logs(ctx, "web-0", &request.LogOptions{
					Container: "app", Follow: true, Previous: true, Since: time.Hour, Timestamps: true, TailLines: &tail, LimitBytes: limit,
				})
				if err == nil {
					err = body.Close()
				}
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				body, err := c.json.CoreV1().Pods("prod").GetLogs("web-0", &corev1.PodLogOptions{
					Container: "app", Follow: true, Previous: true, SinceSeconds: &seconds, Timestamps: true, TailLines: &tail, LimitBytes: &limit,
				}).Stream(ctx)
				if err == nil {
					err = body.Close()
				}
				return err
			},
		},
		{
			name:    "request a token",
			because: "empty fields are not sent",
			adjust: func(theirs *sent) {
				theirs.Body = strings.NewReplacer(
					`"metadata":{},`, "", `,"boundObjectRef":null`, "", `,"status":{"token":"","expirationTimestamp":null}`, "",
				).Replace(theirs.Body)
			},
			ours: func(ctx context.Context, c *client.Client) error {
				_, err := serviceaccount.In(c, "prod").Token(ctx, "robot", &request.TokenOptions{Audiences: []string{"vault"}, Expiration: time.Hour})
				return err
			},
			theirs: func(ctx context.Context, c clients) error {
				_, err := c.json.CoreV1().ServiceAccounts("prod").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{
					Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}, ExpirationSeconds: &seconds},
				}, metav1.CreateOptions{})
				return err
			},
		},
	}
}

// TestServerPathsAreJoinedLikeClientGo checks that the path of a server is joined with that of a request like in
// client-go.
func TestServerPathsAreJoinedLikeClientGo(t *testing.T) {
	r := newRecorder(t)
	for _, tc := range []struct{ path, because, ours string }{
		{path: ""},
		{path: "/"},
		{path: "//"},
		{path: "/a/b"},
		{path: "/a/b/"},
		{path: "//a//b//"},
		{path: "/a/./b/../c"},
		{path: "/a%2Fb", because: "client-go treats an escaped slash as a slash", ours: "/a%2Fb/api/v1/namespaces/prod/configmaps/web"},
	} {
		c := must(client.New(t.Context(), &client.Options{Config: &config.Config{Server: r.URL + tc.path}}))
		got := r.of(t, func(ctx context.Context) error {
			_, err := client.Namespaced[corev1.ConfigMap](c, "prod").Get(ctx, "web", nil)
			return err
		})
		c.CloseIdleConnections()
		theirs := theirClients(t, r.URL+tc.path)
		want := r.of(t, func(ctx context.Context) error {
			_, err := theirs.json.CoreV1().ConfigMaps("prod").Get(ctx, "web", metav1.GetOptions{})
			return err
		})
		switch {
		case tc.because == "" && got.Path != want.Path:
			t.Errorf("%q: ours %s, theirs %s", tc.path, got.Path, want.Path)
		case tc.because != "" && (got.Path == want.Path || got.Path != tc.ours):
			t.Errorf("%q: ours %s, want %s; theirs %s, which differs because %s", tc.path, got.Path, tc.ours, want.Path, tc.because)
		}
	}
}
