// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kube-go/sdk/core"
)

// strangerHint says what to do when the server does not know who we are.
func (c *Client) strangerHint(err *core.StatusError) string {
	cfg, from := c.config, ""
	if cfg.Source != "" {
		from = " (" + cfg.Source + ")"
	}
	token, certificate := string(cfg.BearerToken), cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0
	anonymous := err.Status.Code == http.StatusForbidden && strings.Contains(err.Status.Message, `"system:anonymous"`)
	switch {
	case anonymous && certificate:
		return "the client certificate" + from + " did not arrive: see whether something on the way ends TLS"
	case anonymous && c.conns.auth == nil:
		return "no credentials were sent" + from + ": give some"
	case err.Status.Code != http.StatusUnauthorized:
		return ""
	case cfg.BearerTokenFile != "":
		return "it does not accept the token in " + cfg.BearerTokenFile + from + ": see whether it is this cluster's"
	case token != "" && expired(token):
		return "the token has expired" + from + ": get a new one"
	case token != "":
		return "it does not accept the token" + from + ": get a new one, or see whether it is this cluster's"
	case cfg.Username != "":
		return "it does not accept the user name and password" + from + ": most clusters want a token or a certificate"
	case cfg.Exec != nil && c.conns.auth != nil:
		return fmt.Sprintf("it does not accept what the exec plugin %q gave%s: log in again, or see whether it is for this cluster", cfg.Exec.Command, from)
	case cfg.AuthProvider != nil && c.conns.auth != nil:
		return "it does not accept the ID token" + from + ": see whether it trusts the provider and the client-id"
	case certificate:
		return "it does not accept the client certificate" + from + ": see whether it is this cluster's"
	case c.conns.own:
		return "no credentials were sent" + from + ": give some"
	}
	return "" // those of a Transport of one's own are its own affair
}

// expired reports whether a token says that it is good no more. Those that say nothing of it are not looked into.
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
	return json.Unmarshal(payload, &claims) == nil && claims.Expiry > 0 && time.Now().After(time.Unix(int64(claims.Expiry), 0))
}
