// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/redact"
	"github.com/kube-go/sdk/client/middleware"
)

// The settings of the auth-provider oidc, as kubectl writes them. Its extra-scopes are used for logging in, which this
// package does not do: a refresh token keeps the scopes that it was issued for.
const (
	issuerURL    = "idp-issuer-url"
	issuerCA     = "idp-certificate-authority"
	issuerCAData = "idp-certificate-authority-data"
	clientID     = "client-id"
	clientSecret = "client-secret"
	idTokenKey   = "id-token"
	refreshKey   = "refresh-token"
)

// OIDCOptions are the options of [NewOIDC]. The zero value of a field is its default.
type OIDCOptions struct {
	// Logger receives a warning if new tokens cannot be written to the kubeconfig. They are used anyway. Default: no logs.
	Logger *slog.Logger
}

// OIDC is the auth-provider oidc of a configuration: an ID token, and a refresh token to renew it with. Printing it
// shows only the provider. As in [Plugin], secrets are behind pointers.
type OIDC struct {
	keeper

	provider *config.AuthProvider
	issuer   *http.Client
	logger   *slog.Logger

	*tokens // owned by the flight in progress; nothing reads it between flights
}

// tokens is the state of a provider.
type tokens struct {
	settings map[string]config.Secret
	written  [2]config.Secret // the tokens last seen in the kubeconfig
}

// Format prints the issuer, whatever the verb is.
func (p *OIDC) Format(f fmt.State, verb rune) {
	text := "oidc provider"
	if p != nil {
		text += " " + string(p.provider.Config[issuerURL])
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), text)
}

// OIDCError reports a failure of an OpenID Connect provider.
type OIDCError struct {
	// Issuer is the URL of the provider.
	Issuer string
	// Err is the cause.
	Err error
}

// Error returns the issuer and the cause.
func (e *OIDCError) Error() string { return fmt.Sprintf("oidc provider %s: %v", e.Issuer, e.Err) }

// Unwrap returns Err.
func (e *OIDCError) Unwrap() error { return e.Err }

// NewOIDC returns the OpenID Connect provider that a configuration names. It reads the file of the provider's
// certificate authority, but sends no request.
//
// New tokens are written to the kubeconfig that the configuration came from, if any, because a provider may accept a
// refresh token only once. Tokens that another program has written there are used, even if that program refreshed them
// at the same time.
func NewOIDC(cfg *config.Config, o *OIDCOptions) (*OIDC, error) {
	if cfg.AuthProvider == nil || cfg.AuthProvider.Name != "oidc" {
		return nil, errors.New("the configuration has no auth-provider oidc: set AuthProvider")
	}
	p := &OIDC{
		provider: new(*cfg.AuthProvider), logger: slog.New(slog.DiscardHandler),
		tokens: &tokens{settings: maps.Clone(cfg.AuthProvider.Config)},
	}
	if o != nil && o.Logger != nil {
		p.logger = o.Logger
	}
	for _, key := range []string{issuerURL, clientID} {
		if p.settings[key] == "" {
			return nil, fmt.Errorf("auth-provider oidc: %s is missing: log in again", key)
		}
	}
	client, err := newIssuerClient(p.settings)
	if err != nil {
		return nil, err
	}
	p.issuer, p.obtain = client, p.refresh
	p.written = tokensOf(p.settings)
	if c := idToken(p.settings[idTokenKey]); c != nil {
		p.store(c)
	}
	return p, nil
}

// Middleware sends the ID token with each request that has no credentials yet, see [middleware.Authorize].
func (p *OIDC) Middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.Authorize(p.authorization)(next)
}

// refreshTime is the time limit of a refresh: the request for the token endpoint, up to two requests for the tokens,
// because the oauth2 package tries both ways to send a client secret, and the wait for another program.
const refreshTime = 2 * time.Minute

// refresh obtains a new ID token.
func (p *OIDC) refresh(ctx context.Context, old *credential) (*credential, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, fmt.Errorf("no new tokens within %v", refreshTime))
	defer cancel()
	fail := func(err error) (*credential, error) {
		return nil, &OIDCError{Issuer: string(p.settings[issuerURL]), Err: p.sent().Error(err)}
	}
	if c := p.reread(ctx); c != nil && (old == nil || !c.same(old)) {
		return c, nil
	}
	if p.settings[refreshKey] == "" {
		return fail(errors.New("the id-token has expired or was rejected, and refresh-token is missing: log in again"))
	}
	endpoint, err := p.tokenEndpoint(ctx)
	if err != nil {
		return fail(err)
	}
	c, renewed, err := p.redeem(ctx, endpoint)
	if errors.Is(err, errUsed) {
		if c := p.awaitOther(ctx); c != nil {
			return c, nil
		}
	}
	if len(renewed) > 0 { // even with an error: the old refresh token may be spent
		maps.Copy(p.settings, renewed)
		p.save(ctx, renewed)
	}
	if err != nil {
		return fail(err)
	}
	return c, nil
}

// sent returns the secrets that are sent to the provider. The provider may repeat them in its response.
func (p *OIDC) sent() *redact.Secrets {
	var sent redact.Secrets
	secret := string(p.settings[clientSecret])
	sent.Add(string(p.settings[refreshKey]), string(p.settings[idTokenKey]), secret)
	// The client's name and secret are escaped before they are sent, https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1.
	sent.AddPassword(url.QueryEscape(string(p.settings[clientID])), url.QueryEscape(secret))
	return &sent
}

// reread reads the tokens that another program may have written to the kubeconfig. It returns the ID token among them
// if it is valid.
func (p *OIDC) reread(ctx context.Context) *credential {
	if p.provider.File == "" {
		return nil
	}
	kc, err := config.Read(ctx, p.provider.File)
	if err != nil {
		return nil // loading the kubeconfig reports the error
	}
	settings := p.settingsIn(kc)
	if settings == nil {
		return nil
	}
	found := tokensOf(settings)
	if found == p.written { // the tokens in memory may be newer, if writing them failed
		return nil
	}
	p.written = found
	p.settings[idTokenKey], p.settings[refreshKey] = found[0], found[1]
	return idToken(found[0])
}

// settingsIn returns the settings of the provider in a kubeconfig, or nil if the user has another provider by now.
// Tokens are valid only for their issuer and client.
func (p *OIDC) settingsIn(kc *config.Kubeconfig) map[string]config.Secret {
	user := kc.User(p.provider.User)
	if user == nil || user.AuthProvider == nil || user.AuthProvider.Name != p.provider.Name {
		return nil
	}
	settings := user.AuthProvider.Config
	if settings[issuerURL] != p.settings[issuerURL] || settings[clientID] != p.settings[clientID] {
		return nil
	}
	return settings
}

// awaitOther waits for the tokens of another program that has just used the same refresh token.
func (p *OIDC) awaitOther(ctx context.Context) *credential {
	if p.provider.File == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, otherTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c := p.reread(ctx); c != nil {
			return c
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// otherTime is how long to wait for another program to write its new tokens to the kubeconfig. That program may have to
// wait for the kubeconfig, too.
const otherTime = saveTime + time.Second

// tokensOf returns the settings that change.
func tokensOf(settings map[string]config.Secret) [2]config.Secret {
	return [2]config.Secret{settings[idTokenKey], settings[refreshKey]}
}

// errReplaced is the error for tokens that another program has replaced since they were read.
var errReplaced = errors.New("the kubeconfig has other tokens by now")

// save writes the tokens to the kubeconfig that the old ones came from. It writes both, since an earlier one may not
// have been written. But if the refresh token was not renewed and the kubeconfig has another one by now, such as that
// of a new login, the tokens there stay. The next refresh reads them.
func (p *OIDC) save(ctx context.Context, renewed map[string]config.Secret) {
	if p.provider.File == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime) // the old ones may be spent
	defer cancel()
	err := config.Modify(ctx, func(kc *config.Kubeconfig) error {
		settings := p.settingsIn(kc)
		if settings == nil {
			return fmt.Errorf("user %q no longer has the auth-provider %s of %s with the same client",
				p.provider.User, p.provider.Name, string(p.settings[issuerURL]))
		}
		if renewed[refreshKey] == "" && settings[refreshKey] != p.written[1] {
			return errReplaced
		}
		for _, key := range []string{idTokenKey, refreshKey} {
			if token := p.settings[key]; token != "" {
				settings[key] = token
			}
		}
		return nil
	}, &config.ModifyOptions{Path: p.provider.File})
	switch {
	case err == nil:
		p.written = tokensOf(p.settings)
	case !errors.Is(err, errReplaced):
		p.logger.LogAttrs(ctx, slog.LevelWarn, "cannot write new tokens to the kubeconfig", slog.Any("err", err))
	}
}

// saveTime is how long to wait for other programs that write to the kubeconfig.
const saveTime = 3 * time.Second

// idToken returns an ID token as a credential, or nil if it is invalid or has expired. It does not verify the
// signature: the server does.
func idToken(token config.Secret) *credential {
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Expiry float64 `json:"exp"` // some providers write a fraction
	}
	if json.Unmarshal(payload, &claims) != nil {
		return nil
	}
	expiry := time.Unix(int64(claims.Expiry), 0)
	if !time.Now().Before(expiry) {
		return nil
	}
	return &credential{token: string(token), expiry: expiry}
}
