// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// API provides the verbs of the service accounts in one namespace.
type API struct {
	client    *client.Client
	namespace string
}

// In returns the verbs of the service accounts in a namespace. If the namespace is empty, each verb returns an error.
func In(c *client.Client, namespace string) *API { return &API{client: c, namespace: namespace} }

// Token is a token of a service account.
type Token struct {
	Token   config.Secret
	Expires time.Time // the server may choose an earlier or later time than requested
}

// Format prints the expiration of the token, but not the token, whatever the verb.
func (t Token) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("service account token %s, expires %s", t.Token, t.Expires.Format(time.RFC3339))
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// Token requests a new token of a service account.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid].
func (a *API) Token(ctx context.Context, name string, o *request.TokenOptions) (*Token, error) {
	res := core.Resource{Version: "v1", Kind: "ServiceAccount", Plural: "serviceaccounts", Namespaced: true}
	t := request.Target{Resource: res, Namespace: a.namespace, Name: name}
	token, err := a.token(ctx, t, o)
	t.Subresource = "token"
	return token, client.WrapError("create", t, err)
}

func (a *API) token(ctx context.Context, t request.Target, o *request.TokenOptions) (*Token, error) {
	r, err := request.Token(t, o)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, nil)
	if err != nil {
		return nil, err
	}
	var review struct {
		Status struct {
			Token   config.Secret `json:"token"`
			Expires time.Time     `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if err := wire.UnmarshalJSON(body, &review); err != nil {
		return nil, fmt.Errorf("decode token: %w", err)
	}
	if review.Status.Token == "" {
		return nil, errors.New("the server's response contains no token")
	}
	return &Token{Token: review.Status.Token, Expires: review.Status.Expires}, nil
}
