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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

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
	if rejectsCredentials(err) {
		expired := checkCertificate(ctx, c.config)
		if errors.Is(expired, config.ErrCertificateExpired) {
			return fmt.Errorf("%w (%w)", err, expired)
		}
	}
	if hint := c.identityHint(err); hint != "" {
		return fmt.Errorf("%w; %s", err, hint)
	}
	if isPatchFailure(resp, err) {
		return fmt.Errorf("%w; the JSON patch can't be applied: a test fails, or a path does not exist", err)
	}
	return c.misdirected(err)
}

// isPatchFailure reports whether a server could not apply a JSON patch. Its message then names no reason, unlike that of
// a webhook.
func isPatchFailure(resp *http.Response, err *core.StatusError) bool {
	return err.Status.Code == http.StatusUnprocessableEntity &&
		err.Status.Message == "the server rejected our request due to an error in our request" &&
		resp.Request.Header.Get("Content-Type") == "application/json-patch+json"
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
	case anonymous && cfg.Username != "":
		return "the server ignores the user name and password" + from + ": use a token or a certificate"
	case anonymous && c.conns.auth == nil:
		return "no credentials were sent" + from + ": configure some"
	case !rejectsCredentials(err):
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

// rejectsCredentials reports whether the server does not recognize the client's credentials. A Status without that
// reason is from an admission webhook, for example.
func rejectsCredentials(err *core.StatusError) bool {
	return err.Status.Code == http.StatusUnauthorized &&
		(!isStatus(err) || err.Status.Reason == metav1.StatusReasonUnauthorized)
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
