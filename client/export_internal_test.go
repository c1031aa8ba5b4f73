// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"

	"github.com/kube-go/sdk/client/config"
)

// Upgrades returns what the requests of a client pass through that are upgraded to streams.
func Upgrades(c *Client) http.RoundTripper { return c.upgrade }

// ProxyOf returns the URL of the proxy that a configuration leads to, empty for none.
func ProxyOf(cfg *config.Config) (string, error) {
	u, err := proxyOf(cfg)
	if u == nil || err != nil {
		return "", err
	}
	return u.String(), nil
}
