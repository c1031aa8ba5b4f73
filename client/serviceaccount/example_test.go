// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount_test

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core/request"
)

func ExampleAPI_Token() {
	c := testserver.Answering(`{"kind":"TokenRequest","status":{"token":"e30.c2VjcmV0",` +
		`"expirationTimestamp":"2026-01-01T00:00:00Z"}}`)
	token, err := serviceaccount.In(c, "prod").Token(context.Background(), "robot",
		&request.TokenOptions{Audiences: []string{"vault"}})
	fmt.Println(len(string(token.Token)), token.Expires, err)
	// Output:
	// POST /api/v1/namespaces/prod/serviceaccounts/robot/token {"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"audiences":["vault"]}}
	// 12 2026-01-01 00:00:00 +0000 UTC <nil>
}
