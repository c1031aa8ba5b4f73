// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// ServiceAccountToken is a token of a service account.
type ServiceAccountToken struct {
	Token   config.Secret
	Expires time.Time // perhaps sooner than was asked for, or later
}

// Format prints when the token expires, and not the token, whatever the verb is.
func (t ServiceAccountToken) Format(f fmt.State, verb rune) {
	text := fmt.Sprintf("service account token %s, expires %s", t.Token, t.Expires.Format(time.RFC3339))
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// Token asks for a new token of a service account.
//
// Errors: [core.ErrNotFound]; [core.ErrInvalid]; a [*request.InvalidError] for other kinds than service accounts.
func (a *API[K]) Token(ctx context.Context, name string, o *request.TokenOptions) (*ServiceAccountToken, error) {
	t := a.named(name)
	if err := a.only("given tokens", "serviceaccounts"); err != nil {
		return nil, wrap("token", t, err)
	}
	token, err := a.token(ctx, t, o)
	t.Subresource = "token"
	return token, wrap("create", t, err)
}

func (a *API[K]) token(ctx context.Context, t request.Target, o *request.TokenOptions) (*ServiceAccountToken, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	t.Encoding = wire.JSON
	resp, err := a.client.send(ctx, t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Token(t, o)
	}))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, a.client.limits)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Status struct {
			Token   config.Secret `json:"token"`
			Expires time.Time     `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if err := wire.UnmarshalJSON(body, &answer); err != nil {
		return nil, fmt.Errorf("decode token: %w", err)
	}
	if answer.Status.Token == "" {
		return nil, errors.New("the server's answer holds no token")
	}
	return &ServiceAccountToken{Token: answer.Status.Token, Expires: answer.Status.Expires}, nil
}
