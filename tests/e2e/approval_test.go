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
	"encoding/pem"
	"errors"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	csrverbs "github.com/kube-go/sdk/client/csr"
	"github.com/kube-go/sdk/kube"
)

// TestSigningRequestIsApprovedOrDeniedOnce checks that Approve and Deny set the condition of a certificate signing
// request, and that a denied request cannot be approved.
func TestSigningRequestIsApprovedOrDeniedOnce(t *testing.T) {
	t.Parallel()
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
	good, bad, verbs := create(), create(), csrverbs.New(csrs.Client())
	for range 2 { // the second call changes nothing
		csr, err := verbs.Approve(t.Context(), good, &csrverbs.Options{Message: "looks good"})
		if err != nil {
			t.Fatal(err)
		}
		cond := csr.Status.Conditions
		if len(cond) != 1 || cond[0].Type != "Approved" || cond[0].Status != "True" ||
			cond[0].Message != "looks good" || cond[0].LastUpdateTime.IsZero() {
			t.Errorf("conditions = %+v, want one condition Approved", cond)
		}
	}
	csr, err := verbs.Deny(t.Context(), bad, nil)
	if err != nil || len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != "Denied" {
		t.Errorf("Deny = %v, %v", csr, err)
	}
	if _, err := verbs.Approve(t.Context(), bad, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("approval of a denied request: %v, want ErrInvalid", err)
	}
}

func signingRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "somebody"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
