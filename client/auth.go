// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// authMiddleware returns the middleware that sends the credentials of the configuration, or nil if there are none to
// send, and the additional source of client certificates, or nil if there is none. The transport presents the client
// certificate of the configuration itself. If there are several credentials, the first in this order is sent; a plugin
// runs only if there are no others.
func authMiddleware(cfg *config.Config, o *Options) (middleware.Func, certSource, error) {
	switch {
	case cfg.BearerTokenFile != "":
		return middleware.TokenFile(cfg.BearerTokenFile, string(cfg.BearerToken)), nil, nil
	case cfg.BearerToken != "":
		return middleware.Bearer(string(cfg.BearerToken)), nil, nil
	case cfg.Username != "" || cfg.Password != "":
		return middleware.Basic(cfg.Username, string(cfg.Password)), nil, nil
	case !usesPlugin(cfg) && cfg.AuthProvider == nil:
		return nil, nil, nil
	case strings.HasPrefix(strings.ToLower(cfg.Server), "http:"):
		return nil, nil, errors.New("credentials are not sent over http: use an https server, or remove the exec plugin " +
			"or auth-provider")
	case cfg.AuthProvider != nil:
		provider, err := auth.NewOIDC(cfg, &auth.OIDCOptions{Logger: o.Logger})
		if err != nil {
			return nil, nil, err
		}
		return provider.Layer, nil, nil
	}
	plugin, err := auth.NewPlugin(cfg, o.Plugin)
	if err != nil {
		return nil, nil, err
	}
	if o.Transport != nil {
		return func(next http.RoundTripper) http.RoundTripper {
			return plugin.Layer(noCertificate(plugin)(next))
		}, nil, nil
	}
	return plugin.Layer, plugin.Certificate, nil
}

// usesPlugin reports whether the exec plugin of a configuration runs.
func usesPlugin(cfg *config.Config) bool {
	return cfg.Exec != nil && cfg.BearerToken == "" && cfg.BearerTokenFile == "" && cfg.Username == "" &&
		cfg.Password == "" && cfg.ClientCertFile == "" && len(cfg.ClientCertData) == 0
}

// noCertificate rejects the client certificate of a plugin, because a custom transport cannot present it.
func noCertificate(plugin *auth.Plugin) middleware.Func {
	return func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			switch cert, err := plugin.Certificate(r.Context()); {
			case err != nil:
				return nil, err
			case cert != nil:
				return nil, errors.New("the exec plugin returned a client certificate, which a custom Transport does not use; " +
					"configure it in the Transport, and clear Exec in the Config")
			}
			return next.RoundTrip(r)
		})
	}
}

// failure returns the error for a response that is not a success. If the server does not recognize the client's
// identity, failure adds a likely cause.
func (c *Client) failure(resp *http.Response) error {
	err := statusError(resp, c.sentFor(resp), c.limits)
	if resp.Request == nil {
		return c.misdirected(err)
	}
	ctx := resp.Request.Context()
	if call, _ := middleware.CallOf(ctx); call.Subresource == "proxy" { // the response is not from the API server
		return err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		expired := c.config.CheckClientCertificate(ctx)
		if errors.Is(expired, config.ErrCertificateExpired) {
			return fmt.Errorf("%w (%w)", err, expired)
		}
	}
	if hint := c.identityHint(err); hint != "" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	return c.misdirected(err)
}

func impersonation(cfg *config.Config) middleware.Func {
	i := cfg.Impersonate
	if i.User == "" {
		return nil
	}
	return middleware.Impersonate(i.User, i.UID, i.Groups, i.Extra)
}

// identityHint returns what to do if the server does not recognize the client's identity.
func (c *Client) identityHint(err *core.StatusError) string {
	cfg, from := c.config, ""
	if cfg.Source != "" {
		from = " (" + cfg.Source + ")"
	}
	token, certificate := string(cfg.BearerToken), cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0
	anonymous := err.Status.Code == http.StatusForbidden && strings.Contains(err.Status.Message, `"system:anonymous"`)
	switch {
	case anonymous && certificate:
		return "the client certificate" + from + " did not reach the server: check whether a proxy terminates TLS"
	case anonymous && c.conns.auth == nil:
		return "no credentials were sent" + from + ": configure some"
	case err.Status.Code != http.StatusUnauthorized:
		return ""
	case cfg.BearerTokenFile != "":
		return "the server rejects the token in " + cfg.BearerTokenFile + from + ": check whether it is for this cluster"
	case token != "" && expired(token):
		return "the token has expired" + from + ": get a new one"
	case token != "":
		return "the server rejects the token" + from + ": get a new one, or check whether it is for this cluster"
	case cfg.Username != "":
		return "the server rejects the user name and password" + from + ": most clusters require a token or a certificate"
	case cfg.Exec != nil && c.conns.auth != nil:
		return fmt.Sprintf("the server rejects the credentials of the exec plugin %q%s: log in again, or check whether it "+
			"is for this cluster", cfg.Exec.Command, from)
	case cfg.AuthProvider != nil && c.conns.auth != nil:
		return "the server rejects the ID token" + from + ": check whether it trusts the provider and the client-id"
	case certificate:
		return "the server rejects the client certificate" + from + ": check whether it is for this cluster"
	case c.conns.own:
		return "no credentials were sent" + from + ": configure some"
	}
	return "" // a custom Transport may send its own credentials
}

// expired reports whether a token contains an expiration that has passed.
func expired(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	return json.Unmarshal(payload, &claims) == nil && claims.Expiry > 0 &&
		time.Now().After(time.Unix(int64(claims.Expiry), 0))
}
