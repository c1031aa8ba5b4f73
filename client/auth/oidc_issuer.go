// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/kube-go/sdk/client/config"
)

// Bounds of the conversation with a provider.
const (
	issuerTime  = 30 * time.Second // for one request
	issuerBytes = 1 << 20
)

// newIssuerClient returns what to talk to a provider with.
func newIssuerClient(settings map[string]config.Secret) (*http.Client, error) {
	if err := checkHTTPS(issuerURL, string(settings[issuerURL])); err != nil {
		return nil, fmt.Errorf("auth-provider oidc: %w", err)
	}
	pool, err := issuerPool(settings)
	if err != nil {
		return nil, fmt.Errorf("auth-provider oidc: %w", err)
	}
	return &http.Client{
		Timeout: issuerTime,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
			DisableKeepAlives:      true, // the next time is in an hour
			MaxResponseHeaderBytes: issuerBytes,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case via[0].Method != http.MethodGet:
				return errors.New("the token endpoint redirects, and tokens are not sent elsewhere")
			case len(via) >= 5:
				return errors.New("too many redirects")
			}
			return checkHTTPS("redirect", r.URL.Redacted())
		},
	}, nil
}

// checkHTTPS refuses to send tokens in clear text.
func checkHTTPS(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s %.200q is no https URL", what, address)
	}
	return nil
}

// issuerPool returns the certificates that the provider's must lead to, or nil for the system's.
func issuerPool(settings map[string]config.Secret) (*x509.CertPool, error) {
	file, data := string(settings[issuerCA]), string(settings[issuerCAData])
	key := issuerCAData
	var pem []byte
	var err error
	switch {
	case data != "": // as client-go has it, data beats the file
		if pem, err = base64.StdEncoding.DecodeString(data); err != nil {
			return nil, fmt.Errorf("%s: is not base64: encode the content of the file", key)
		}
	case file != "":
		key = issuerCA
		if pem, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	default:
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: holds no certificate: give it in PEM form", key)
	}
	return pool, nil
}

// tokenEndpoint asks the provider where tokens are to be had:
// https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig.
func (p *OIDC) tokenEndpoint(ctx context.Context) (string, error) {
	const path = "/.well-known/openid-configuration"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(string(p.settings[issuerURL]), "/")+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := p.issuer.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: answered %s: correct the %s", path, resp.Status, issuerURL)
	}
	var found struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, issuerBytes))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(body, &found); err != nil || found.TokenEndpoint == "" {
		return "", fmt.Errorf("%s: says no token_endpoint: correct the %s", path, issuerURL)
	}
	return found.TokenEndpoint, checkHTTPS("token_endpoint", found.TokenEndpoint)
}

// redeem gets new tokens for the refresh token. It returns the ID token, and the settings to replace: those may hold a
// new refresh token even beside an error, when the ID token is missing.
func (p *OIDC) redeem(ctx context.Context, endpoint string) (*credential, map[string]config.Secret, error) {
	refresh := string(p.settings[refreshKey])
	client := oauth2.Config{
		ClientID:     string(p.settings[clientID]),
		ClientSecret: string(p.settings[clientSecret]),
		Endpoint:     oauth2.Endpoint{TokenURL: endpoint},
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, p.issuer)
	token, err := client.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return nil, nil, refreshError(err)
	}
	renewed := map[string]config.Secret{}
	if token.RefreshToken != refresh { // which oauth2 returns when the provider sends none
		renewed[refreshKey] = config.Secret(token.RefreshToken)
	}
	id, _ := token.Extra("id_token").(string)
	if id == "" {
		return nil, renewed, errors.New("gave no id_token for the refresh-token: ask for the scope openid when you log in, " +
			"or use an exec plugin if the provider never gives one")
	}
	c := idToken(config.Secret(id))
	if c == nil {
		return nil, renewed, errors.New("the new id-token is invalid or has expired: compare the clocks")
	}
	renewed[idTokenKey] = config.Secret(id)
	return c, renewed, nil
}

// refreshError words an answer of the token endpoint without its body, which may hold anything.
func refreshError(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("refresh the id-token: %w", err)
	}
	text := "no token"
	if answer.Response != nil {
		text = answer.Response.Status
	}
	if answer.ErrorCode != "" {
		text += ": " + plain([]byte(answer.ErrorCode)[:min(len(answer.ErrorCode), 100)])
	}
	if answer.ErrorCode == "invalid_grant" {
		return fmt.Errorf("refresh the id-token: %s: %w", text, errUsed)
	}
	return errors.New("refresh the id-token: " + text)
}

// errUsed is a refresh token that is good no more.
var errUsed = errors.New("the refresh-token has expired or was used: log in again")
