// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// cborServer is a server that speaks CBOR, which takes a feature gate.
type cborServer struct {
	client *kube.Client
	target request.Target // ConfigMaps
}

func newCBORServer(t *testing.T) cborServer {
	t.Helper()
	c, err := cluster.Start(t.Context(), &cluster.Options{
		Log: io.Discard, FeatureGates: map[string]bool{"CBORServingAndStorage": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: c.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := kube.ResourceOf[corev1.ConfigMap]()
	if err != nil {
		t.Fatal(err)
	}
	return cborServer{
		client: connect(t, &kube.ClientOptions{Config: cfg}),
		target: request.Target{Resource: res, Namespace: "default", Encoding: wire.CBOR},
	}
}

// send sends a request and checks that the answer is in CBOR.
func (s cborServer) send(t *testing.T, r *request.Request, err error) (io.ReadCloser, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(limit(t), r)
	if err != nil {
		t.Fatal(err)
	}
	contentType := resp.Header.Get("Content-Type")
	if encoding, err := wire.EncodingOf(contentType); err != nil || encoding != wire.CBOR {
		t.Fatalf("%s: the answer is %q, want CBOR", r.Verb, contentType)
	}
	return resp.Body, contentType
}

// object sends a request whose answer is an object.
func (s cborServer) object(t *testing.T, r *request.Request, err error) *corev1.ConfigMap {
	t.Helper()
	body, contentType := s.send(t, r, err)
	defer body.Close()
	data, err := wire.ReadBody(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	cm := new(corev1.ConfigMap)
	if err := wire.UnmarshalStrict(data, contentType, cm); err != nil {
		t.Fatal(err)
	}
	dynamic := new(unstructured.Unstructured)
	if err := wire.Unmarshal(data, contentType, dynamic); err != nil || dynamic.GetUID() != cm.UID {
		t.Errorf("an object of any kind has uid %q, want %q: %v", dynamic.GetUID(), cm.UID, err)
	}
	return cm
}

func (s cborServer) named(name string) request.Target {
	target := s.target
	target.Name = name
	return target
}

// TestCBOR promises that objects, lists, watches and applies go in CBOR to a server that speaks it.
func TestCBOR(t *testing.T) {
	s := newCBORServer(t)
	desired := func(i int) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cbor-%d", i), Namespace: "default", Labels: map[string]string{"set": "cbor"}},
			Data:       map[string]string{"text": "é\n", "number": fmt.Sprint(i)},
			BinaryData: map[string][]byte{"raw": {0, 0xff, byte(i)}},
		}
	}
	var made []*corev1.ConfigMap
	for i := range 3 {
		r, err := request.Create(s.target, desired(i), nil)
		cm := s.object(t, r, err)
		if diff := cmp.Diff(desired(i).BinaryData, cm.BinaryData); diff != "" || cm.Kind != "ConfigMap" || cm.CreationTimestamp.IsZero() {
			t.Errorf("created %+v, (-want +got):\n%s", cm.TypeMeta, diff)
		}
		made = append(made, cm)
	}
	r, err := request.Get(s.named("cbor-1"), nil)
	if diff := cmp.Diff(made[1], s.object(t, r, err)); diff != "" {
		t.Errorf("get (-created +got):\n%s", diff)
	}
	version := s.checkList(t, made)
	s.checkApply(t, desired(1))
	s.checkWatch(t, version)
}

// checkList reads a list item by item and returns its resource version.
func (s cborServer) checkList(t *testing.T, want []*corev1.ConfigMap) string {
	t.Helper()
	r, err := request.List(s.target, &request.ListOptions{LabelSelector: "set=cbor"})
	body, contentType := s.send(t, r, err)
	defer body.Close()
	var got []*corev1.ConfigMap
	meta, err := wire.ReadList(body, contentType, nil, func(p wire.Packed) error {
		compact, err := p.Compact()
		if err != nil {
			return err
		}
		labels, err := compact.Labels()
		if err != nil || labels["set"] != "cbor" {
			t.Errorf("an item has labels %v, %v", labels, err)
		}
		cm := &corev1.ConfigMap{TypeMeta: want[0].TypeMeta, ObjectMeta: metav1.ObjectMeta{ManagedFields: nil}}
		got = append(got, cm)
		return compact.Decode(cm)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range want {
		cm.ManagedFields = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-created +got):\n%s", diff)
	}
	return meta.ResourceVersion
}

// checkApply applies a change, with a body in CBOR.
func (s cborServer) checkApply(t *testing.T, obj *corev1.ConfigMap) {
	t.Helper()
	obj.Data["applied"] = "yes"
	r, err := request.Apply(s.named(obj.Name), obj, &request.ApplyOptions{FieldManager: "cbor", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.NewPacked(wire.JSON, r.Body).Transcode(wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	r.Body, r.ContentType = body.Bytes(), wire.MediaTypeApplyCBOR
	if cm := s.object(t, r, nil); cm.Data["applied"] != "yes" || string(cm.BinaryData["raw"]) != "\x00\xff\x01" {
		t.Errorf("applied %+v", cm)
	}
}

// checkWatch reads the event that the apply has made.
func (s cborServer) checkWatch(t *testing.T, version string) {
	t.Helper()
	r, err := request.Watch(s.target, &request.WatchOptions{ResourceVersion: version, LabelSelector: "set=cbor", Timeout: 30 * time.Second})
	body, contentType := s.send(t, r, err)
	defer body.Close()
	for ev, err := range wire.Events(body, contentType, nil) {
		if err != nil {
			t.Fatal(err)
		}
		cm := new(corev1.ConfigMap)
		if err := ev.Object.Decode(cm); err != nil || ev.Type != kube.Modified || cm.Data["applied"] != "yes" {
			t.Errorf("%s of %+v, %v; want the change that was applied", ev.Type, cm, err)
		}
		return
	}
	t.Errorf("the watch has ended without an event: %v", context.Cause(t.Context()))
}
