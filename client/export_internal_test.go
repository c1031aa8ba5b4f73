// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"

	"github.com/kube-go/sdk/client/config"
)

// Upgrades returns the middleware of upgraded requests.
func Upgrades(c *Client) http.RoundTripper { return c.upgrade }

// ProxyOf returns the URL of the proxy that a configuration selects, or an empty string.
func ProxyOf(cfg *config.Config) (string, error) {
	u, err := proxyOf(cfg)
	if u == nil || err != nil {
		return "", err
	}
	return u.String(), nil
}
