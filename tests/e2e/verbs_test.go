// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// TestModify promises that no change is lost when many make one at once, and that what a type does not declare stays.
func TestModify(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	cm := configMap("counter", "0")
	cm.BinaryData = map[string][]byte{"raw": {1, 2, 3}}
	if _, err := maps.Create(t.Context(), cm, nil); err != nil {
		t.Fatal(err)
	}
	const writers = 8
	lean := kube.Namespaced[leanConfigMap](c, ns)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			_, err := lean.Modify(limit(t), "counter", func(cm *leanConfigMap) error {
				n, err := strconv.Atoi(cm.Data["v"])
				cm.Data["v"] = strconv.Itoa(n + 1)
				return err
			}, &kube.ModifyOptions{Attempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.Get(t.Context(), "counter", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Data["v"] != strconv.Itoa(writers) || len(got.BinaryData["raw"]) != 3 {
		t.Errorf("after %d changes: %v, %v", writers, got.Data, got.BinaryData)
	}
	same, err := lean.Modify(t.Context(), "counter", func(*leanConfigMap) error { return nil }, nil)
	if err != nil || same.ResourceVersion != got.ResourceVersion {
		t.Errorf("a change of nothing: %v, %v; want version %s", same, err, got.ResourceVersion)
	}
}

// TestCreateOrUpdate promises that many may see to one object at once.
func TestCreateOrUpdate(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	const writers = 6
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := maps.CreateOrUpdate(limit(t), "shared", func(cm *corev1.ConfigMap) error {
				if cm.Data == nil {
					cm.Data = map[string]string{}
				}
				cm.Data[fmt.Sprint("w", i)] = "was here"
				return nil
			}, &kube.ModifyOptions{Attempts: 100})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := maps.GetOrNil(t.Context(), "shared", nil)
	if err != nil || got == nil || len(got.Data) != writers {
		t.Errorf("GetOrNil = %v, %v; want %d keys", got, err, writers)
	}
	if other, err := maps.GetOrNil(t.Context(), "other", nil); other != nil || err != nil {
		t.Errorf("GetOrNil of nothing = %v, %v", other, err)
	}
	entry, err := maps.Entry(t.Context(), "shared", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Patch(t.Context(), "shared", setValue("newer"), nil); err != nil {
		t.Fatal(err)
	}
	entry.Object().Data["v"] = "older"
	if _, err := entry.Commit(t.Context(), nil); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("commit of an entry that has changed: %v, want ErrConflict", err)
	}
}

// TestDeleteAndWait promises that an object is gone when it returns, or else that the error says what holds it.
func TestDeleteAndWait(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	held := configMap("held", "1")
	held.Finalizers = []string{"example.com/guard"}
	for _, cm := range []*corev1.ConfigMap{held, configMap("free", "1")} {
		if _, err := maps.Create(t.Context(), cm, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.DeleteAndWait(limit(t), "free", nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("that was long enough"))
	defer cancel()
	err := maps.DeleteAndWait(ctx, "held", nil)
	if err == nil || !strings.HasSuffix(err.Error(), "it waits for its finalizers example.com/guard: that was long enough") {
		t.Errorf("error = %v, want the finalizer in it", err)
	}
	done := make(chan error, 1)
	go func() { done <- maps.DeleteAndWait(limit(t), "held", nil) }()
	_, err = maps.Modify(limit(t), "held", func(cm *corev1.ConfigMap) error {
		cm.Finalizers = nil
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	// The deletion may come after the object has gone, since it was being deleted before.
	if err := <-done; err != nil && !errors.Is(err, kube.ErrNotFound) {
		t.Error(err)
	}
	if cm, err := maps.GetOrNil(t.Context(), "held", nil); cm != nil || err != nil {
		t.Errorf("after all: %v, %v", cm, err)
	}
}

// TestAllGoesOn promises that an iteration goes on although the server has forgotten the state that it began with. The
// test sees to that by an old version in the token of the second page.
func TestAllGoesOn(t *testing.T) {
	var mu sync.Mutex
	aged, refused := 0, 0
	age := func(next http.RoundTripper) http.RoundTripper {
		return kube.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			q := r.URL.Query()
			mu.Lock()
			if token := q.Get("continue"); token != "" && aged == 0 {
				aged++
				q.Set("continue", agedToken(t, token))
				r = r.Clone(r.Context())
				r.URL.RawQuery = q.Encode()
			}
			mu.Unlock()
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusGone {
				mu.Lock()
				refused++
				mu.Unlock()
			}
			return resp, err
		})
	}
	c := connect(t, nil)
	ns := newNamespace(t, c)
	for i := range 7 {
		if _, err := kube.Namespaced[corev1.ConfigMap](c, ns).Create(t.Context(), configMap(fmt.Sprint("page-", i), ""), nil); err != nil {
			t.Fatal(err)
		}
	}
	if builtin != nil { // other servers have forgotten long ago
		if _, err := builtin.CompactEtcd(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slow := kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{age}}), ns)
	var names []string
	for cm, err := range slow.All(t.Context(), &kube.ListOptions{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(cm.Name, "page-") {
			names = append(names, cm.Name)
		}
	}
	want := []string{"page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if refused != 1 {
		t.Errorf("the server has refused %d pages, want one", refused)
	}
}

// agedToken returns a continue token with the version of long ago.
func agedToken(t *testing.T, token string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	if _, ok := fields["rv"]; !ok {
		t.Fatalf("the token %s holds no version", data)
	}
	fields["rv"] = 1
	if data, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// TestMetadata promises that the metadata of any kind can be read and changed alone, and watched.
func TestMetadata(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	installDocuments(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	docs := kube.Namespaced[v1.Document](c, ns)
	if _, err := maps.Create(t.Context(), configMap("web", "1"), nil); err != nil {
		t.Fatal(err)
	}
	doc := &v1.Document{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.DocumentSpec{Title: "t"}}
	if _, err := docs.Create(t.Context(), doc, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("of a built-in kind", func(t *testing.T) { testMetadata(t, maps.Metadata(), "v1", "ConfigMap") })
	t.Run("of a custom kind", func(t *testing.T) { testMetadata(t, docs.Metadata(), "docs.example.com/v1", "Document") })
	kept, err := maps.Get(t.Context(), "web", nil)
	if err != nil || kept.Data["v"] != "1" {
		t.Errorf("after all: %v, %v; want its data unchanged", kept, err)
	}
	if err := docs.Metadata().Delete(t.Context(), "web", nil); err != nil {
		t.Error(err)
	}
}

func testMetadata(t *testing.T, meta *kube.API[metav1.PartialObjectMetadata], apiVersion, kind string) {
	t.Helper()
	check := func(what string, obj *metav1.PartialObjectMetadata, label string) {
		t.Helper()
		if obj.Name != "web" || obj.UID == "" || obj.Kind != kind || obj.APIVersion != apiVersion || obj.Labels["by"] != label {
			t.Errorf("%s = %+v; want web of kind %s with label %q", what, obj, kind, label)
		}
	}
	got, err := meta.Get(t.Context(), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Get", got, "")
	got, err = meta.Patch(t.Context(), "web", kube.MergePatch([]byte(`{"metadata":{"labels":{"by":"patch"}}}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Patch", got, "patch")
	got, err = meta.Modify(t.Context(), "web", func(m *metav1.PartialObjectMetadata) error {
		m.Labels["by"] = "modify"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Modify", got, "modify")
	got, err = meta.Apply(t.Context(), &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"by": "apply"}},
	}, &kube.ApplyOptions{FieldManager: "tests", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	check("Apply", got, "apply")
	named := &kube.ListOptions{FieldSelector: "metadata.name=web"}
	list, err := meta.List(t.Context(), named)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("List = %v, %v", list, err)
	}
	check("List", list.Items[0], "apply")
	for ev, err := range meta.Watch(limit(t), &kube.WatchOptions{FieldSelector: named.FieldSelector}) {
		if err != nil {
			t.Fatal(err)
		}
		check("Watch", ev.Object, "apply")
		break
	}
	if _, err := meta.Update(t.Context(), got, nil); err == nil || !strings.Contains(err.Error(), "request not sent") {
		t.Errorf("Update of metadata alone: %v, want it refused", err)
	}
}

// TestTable promises the columns that the server has for people.
func TestTable(t *testing.T) {
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, name := range []string{"a", "b", "c"} {
		if _, err := maps.Create(t.Context(), configMap(name, "1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	table, err := maps.Table(t.Context(), &kube.ListOptions{FieldSelector: "metadata.name=b"})
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, col := range table.ColumnDefinitions {
		columns = append(columns, col.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Data", "Age"}, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 || table.Rows[0].Cells[0] != "b" || table.Rows[0].Cells[1] != int64(1) {
		t.Fatalf("rows = %v, want one of b", table.Rows)
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(table.Rows[0].Object.Raw, &meta); err != nil || meta.Name != "b" {
		t.Errorf("the row's object is %s, %v", table.Rows[0].Object.Raw, err)
	}
	page, err := maps.Table(t.Context(), &kube.ListOptions{Limit: 2})
	if err != nil || len(page.Rows) != 2 || page.Continue == "" {
		t.Errorf("a page of two: %v, %v", page, err)
	}
}

// deployment returns one that makes no pods.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nothing"}}},
			},
		},
	}
}

// TestScale promises that the replicas of any kind that scales can be read and set, and that a kind that does not is
// known not to.
func TestScale(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	deployments := kube.Namespaced[appsv1.Deployment](c, ns)
	dep := deployment("web")
	dep.Spec.Paused = true // so that nothing is made
	if _, err := deployments.Create(t.Context(), dep, nil); err != nil {
		t.Fatal(err)
	}
	scaled, err := deployments.Scale().Modify(t.Context(), "web", func(s *kube.Scale) error {
		s.Spec.Replicas = 3
		return nil
	}, nil)
	if err != nil || scaled.Spec.Replicas != 3 || scaled.Kind != "Scale" || scaled.Status.Selector != "app=web" {
		t.Errorf("Modify of the scale = %+v, %v", scaled, err)
	}
	scaled.Spec.Replicas, scaled.ResourceVersion = 4, "" // the deployment controller writes, too
	if scaled, err = deployments.Scale().Update(t.Context(), scaled, nil); err != nil || scaled.Spec.Replicas != 4 {
		t.Errorf("Update of the scale = %+v, %v", scaled, err)
	}
	patch := kube.MergePatch([]byte(`{"spec":{"replicas":0}}`))
	if scaled, err = deployments.Scale().Patch(t.Context(), "web", patch, nil); err != nil || scaled.Spec.Replicas != 0 {
		t.Errorf("Patch of the scale = %+v, %v", scaled, err)
	}
	if got, err := deployments.Get(t.Context(), "web", nil); err != nil || *got.Spec.Replicas != 0 {
		t.Errorf("after all: %v, %v", got, err)
	}
	if _, err := kube.Namespaced[corev1.ConfigMap](c, ns).Scale().Get(t.Context(), "web", nil); err == nil || !strings.Contains(err.Error(), "request not sent") {
		t.Errorf("scale of a config map: %v, want it refused", err)
	}
}

// TestRestart promises a template that differs from the one before, each time.
func TestRestart(t *testing.T) {
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	if _, err := deployments.Create(t.Context(), deployment("web"), nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		dep, err := deployments.Restart(limit(t), "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[dep.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]] = true
	}
	if len(seen) != 2 || seen[""] {
		t.Errorf("the template was marked with %v, want two different marks", seen)
	}
	_, err := deployments.Modify(limit(t), "web", func(d *appsv1.Deployment) error {
		d.Spec.Paused = true
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Restart(limit(t), "web", nil); err == nil || !strings.Contains(err.Error(), "spec.paused: is true") {
		t.Errorf("restart of what is paused: %v, want it refused", err)
	}
}

// TestApproval promises that a certificate signing request can be approved, or denied, once.
func TestApproval(t *testing.T) {
	c := connect(t, nil)
	csrs := kube.ClusterWide[certificatesv1.CertificateSigningRequest](c)
	create := func() string {
		t.Helper()
		csr, err := csrs.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "approval-test-"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request:    signingRequest(t),
				SignerName: "example.com/nobody",
				Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := csrs.Delete(context.WithoutCancel(t.Context()), csr.Name, nil); err != nil {
				t.Error(err)
			}
		})
		return csr.Name
	}
	good, bad := create(), create()
	for range 2 { // the second time it is approved already
		csr, err := csrs.Approve(t.Context(), good, &kube.ApprovalOptions{Message: "looks good"})
		if err != nil {
			t.Fatal(err)
		}
		cond := csr.Status.Conditions
		if len(cond) != 1 || cond[0].Type != "Approved" || cond[0].Status != "True" || cond[0].Message != "looks good" || cond[0].LastUpdateTime.IsZero() {
			t.Errorf("conditions = %+v", cond)
		}
	}
	if csr, err := csrs.Deny(t.Context(), bad, nil); err != nil || len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != "Denied" {
		t.Errorf("Deny = %v, %v", csr, err)
	}
	if _, err := csrs.Approve(t.Context(), bad, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("approval of what was denied: %v, want ErrInvalid", err)
	}
}

func signingRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "somebody"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestToken promises a token that the server takes, and that does not show itself.
func TestToken(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	accounts := kube.Namespaced[corev1.ServiceAccount](c, ns)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, nil); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.Token(t.Context(), "robot", &kube.TokenOptions{Expiration: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(token.Expires); left < 50*time.Minute || left > 2*time.Hour {
		t.Errorf("the token expires in %v, want an hour", left)
	}
	if shown := fmt.Sprintf("%v %+v %#v", token, *token, token); strings.Contains(shown, string(token.Token)) {
		t.Error("the token shows itself when it is printed")
	}
	own := loadConfig(t, "")
	asRobot := &kube.Config{Server: own.Server, CAData: own.CAData, CAFile: own.CAFile, BearerToken: token.Token}
	_, err = kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Config: asRobot}), ns).Get(t.Context(), "x", nil)
	if !errors.Is(err, kube.ErrForbidden) || !strings.Contains(err.Error(), "system:serviceaccount:"+ns+":robot") {
		t.Errorf("a request with the token: %v, want it forbidden to the service account", err)
	}
	if _, err := kube.Namespaced[corev1.ConfigMap](c, ns).Token(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "only serviceaccounts can") {
		t.Errorf("token of a config map: %v, want it refused", err)
	}
}
