// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package csr_test

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/client/csr"
	"github.com/kube-go/sdk/client/internal/testserver"
)

const signing = `{"kind":"CertificateSigningRequest","apiVersion":"certificates.k8s.io/v1","metadata":{"name":"web",` +
	`"resourceVersion":"7"}}`

func ExampleAPI_Approve() {
	_, err := csr.New(testserver.Answering(signing)).Approve(context.Background(), "web",
		&csr.Options{Message: "it is ours"})
	fmt.Println(err)
	// Output:
	// GET /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval
	// PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval {"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"lastTransitionTime":null,"lastUpdateTime":null,"message":"it is ours","reason":"Approved","status":"True","type":"Approved"}]}}
	// <nil>
}

func ExampleAPI_Deny() {
	_, err := csr.New(testserver.Answering(signing)).Deny(context.Background(), "web", nil)
	fmt.Println(err)
	// Output:
	// GET /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval
	// PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/web/approval {"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"lastTransitionTime":null,"lastUpdateTime":null,"reason":"Denied","status":"True","type":"Denied"}]}}
	// <nil>
}
