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
	"github.com/kube-go/sdk/client/internal/plain"
)

// Limits of requests to a provider.
const (
	issuerTime  = 30 * time.Second // for one request
	issuerBytes = 1 << 20
)

// newIssuerClient returns the client for requests to a provider.
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
			DisableKeepAlives:      true, // the next request is in about an hour
			MaxResponseHeaderBytes: issuerBytes,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			switch {
			case via[0].Method != http.MethodGet:
				return errors.New("the token endpoint redirects: tokens are not sent to another URL")
			case len(via) >= 5:
				return errors.New("too many redirects")
			}
			return checkHTTPS("redirect", r.URL.Redacted())
		},
	}, nil
}

// checkHTTPS returns an error for an address to which tokens would be sent in clear text.
func checkHTTPS(what, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s %.200q is not an https URL", what, address)
	}
	return nil
}

// issuerPool returns the certificate authorities of the provider, or nil for those of the system.
func issuerPool(settings map[string]config.Secret) (*x509.CertPool, error) {
	file, data := string(settings[issuerCA]), string(settings[issuerCAData])
	key := issuerCAData
	var pem []byte
	var err error
	switch {
	case data != "": // as in client-go, the data takes precedence
		if pem, err = base64.StdEncoding.DecodeString(data); err != nil {
			return nil, fmt.Errorf("%s: is not valid base64: encode the content of the file with base64", key)
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
		return nil, fmt.Errorf("%s: contains no certificate: provide it in PEM format", key)
	}
	return pool, nil
}

// tokenEndpoint requests the token endpoint from the provider's metadata:
// https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig.
func (p *OIDC) tokenEndpoint(ctx context.Context) (string, error) {
	const path = "/.well-known/openid-configuration"
	address := strings.TrimSuffix(string(p.settings[issuerURL]), "/") + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := p.issuer.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: the provider responded with %s: correct the %s", path, resp.Status, issuerURL)
	}
	var found struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, issuerBytes))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(body, &found); err != nil || found.TokenEndpoint == "" {
		return "", fmt.Errorf("%s: the response has no token_endpoint: correct the %s", path, issuerURL)
	}
	return found.TokenEndpoint, checkHTTPS("token_endpoint", found.TokenEndpoint)
}

// redeem exchanges the refresh token for new tokens. It returns the ID token, and the settings to replace. The settings
// may contain a new refresh token even if redeem returns an error, because the ID token may be missing.
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
	if token.RefreshToken != refresh { // oauth2 returns the old one if the provider sends none
		renewed[refreshKey] = config.Secret(token.RefreshToken)
	}
	id, _ := token.Extra("id_token").(string)
	if id == "" {
		return nil, renewed, errors.New("the response has no id_token: request the scope openid when you log in, " +
			"or use an exec plugin if the provider never returns one")
	}
	c := idToken(config.Secret(id))
	if c == nil {
		return nil, renewed, errors.New("the new id-token is invalid or has expired: compare the clocks")
	}
	renewed[idTokenKey] = config.Secret(id)
	return c, renewed, nil
}

// refreshError describes a response of the token endpoint without its body, which may contain secrets.
func refreshError(err error) error {
	failed, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("refresh the id-token: %w", err)
	}
	text := "no token"
	if failed.Response != nil {
		text = failed.Response.Status
	}
	if failed.ErrorCode != "" {
		text += ": " + plain.Line(failed.ErrorCode[:min(len(failed.ErrorCode), 100)])
	}
	if failed.ErrorCode == "invalid_grant" {
		return fmt.Errorf("refresh the id-token: %s: %w", text, errUsed)
	}
	return errors.New("refresh the id-token: " + text)
}

// errUsed is the error for a refresh token that has become invalid.
var errUsed = errors.New("the refresh-token has expired or was used: log in again")
