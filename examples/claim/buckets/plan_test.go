// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package buckets_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/claim/api/v1"
	"github.com/kube-go/sdk/examples/claim/buckets"
	"github.com/kube-go/sdk/kube"
)

// server is a transport to a server that has one bucket, and returns what it is asked to apply.
type server struct{ bucket *v1.Bucket }

// RoundTrip responds to a request.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := json.Marshal(s.bucket)
	if r.Method == http.MethodPatch {
		body, err = io.ReadAll(r.Body)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// TestAClaimWaitsForItsSize checks that a claim is not ready while its bucket is ready with another size.
func TestAClaimWaitsForItsSize(t *testing.T) {
	claim := &v1.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "photos", UID: "1", Generation: 2},
		Spec:       v1.BucketClaimSpec{Gigabytes: 7},
	}
	for gigabytes, want := range map[int32]bool{5: false, 7: true} {
		bucket := &v1.Bucket{
			TypeMeta: metav1.TypeMeta{APIVersion: "storage.example.com/v1", Kind: "Bucket"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "prod.photos", UID: "2", Generation: 1,
				OwnerReferences: []metav1.OwnerReference{{UID: claim.UID, Controller: new(true)}},
			},
			Spec: v1.BucketSpec{ClaimNamespace: "prod", ClaimName: "photos", Gigabytes: gigabytes},
		}
		bucket.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1}}
		c, err := kube.NewClient(t.Context(), &kube.ClientOptions{
			Config: &kube.Config{Server: "https://cluster.test"}, Transport: server{bucket},
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := buckets.Claims(c, nil).Plan(t.Context(), claim)
		if err != nil || p.Err != nil || p.Done != want {
			t.Errorf("with a bucket of %d gigabytes, the plan is %+v, %v; want done: %t", gigabytes, p, err, want)
		}
	}
}
