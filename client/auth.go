// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// authLayer returns the layer that sends the configuration's credentials, nil when there are none to send. Client
// certificates are the transport's affair.
func authLayer(cfg *config.Config) (middleware.Func, error) {
	hasCert := cfg.ClientCertFile != "" || len(cfg.ClientCertData) > 0
	switch {
	case cfg.BearerTokenFile != "":
		return middleware.TokenFile(cfg.BearerTokenFile, string(cfg.BearerToken)), nil
	case cfg.BearerToken != "":
		return middleware.Bearer(string(cfg.BearerToken)), nil
	case cfg.Username != "" || cfg.Password != "":
		return middleware.Basic(cfg.Username, string(cfg.Password)), nil
	case hasCert:
		return nil, nil
	case cfg.Exec != nil:
		return nil, fmt.Errorf("exec plugin %q: credential plugins are not supported yet; put the token it prints into a token or tokenFile",
			cfg.Exec.Command)
	case cfg.AuthProvider != nil:
		return nil, fmt.Errorf("auth-provider %q: auth providers are not supported; use a token or a client certificate",
			cfg.AuthProvider.Name)
	}
	return nil, nil
}

func impersonateLayer(cfg *config.Config) middleware.Func {
	i := cfg.Impersonate
	if i.User == "" {
		return nil
	}
	return middleware.Impersonate(i.User, i.UID, i.Groups, i.Extra)
}
