// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

func TestASelfContainedKubeconfigNamesNoFileAndNoProgram(t *testing.T) {
	tests := []struct{ name, cluster, user, field string }{
		{"only data", "certificate-authority-data: YQ==", "client-certificate-data: YQ==\n    client-key-data: YQ==\n    token: t", ""},
		{"a password", "proxy-url: http://proxy.test", "username: ann\n    password: p", ""},
		{"a certificate authority", "certificate-authority: ca.crt", "token: t", "certificate-authority"},
		{"a certificate", "", "client-certificate: c.pem", "client-certificate"},
		{"a key", "", "client-key: k.pem", "client-key"},
		{"a token file", "", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", "tokenFile"},
		{"a plugin", "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}", "exec"},
		{"an auth provider", "", "auth-provider: {name: oidc}", "auth-provider"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, err := config.Parse([]byte("clusters:\n- name: eu\n  cluster:\n    server: https://eu.test\n    "+tt.cluster+
				"\nusers:\n- name: ann\n  user:\n    "+tt.user+"\n"), "secret")
			if err != nil {
				t.Fatal(err)
			}
			err = k.CheckSelfContained()
			if tt.field == "" {
				if err != nil {
					t.Fatalf("CheckSelfContained() = %v, want no error", err)
				}
				return
			}
			if e, ok := errors.AsType[*config.FieldError](err); !ok || e.Field != tt.field || e.Remedy == "" {
				t.Errorf("CheckSelfContained() = %v, want an error of the field %s", err, tt.field)
			}
			if err != nil && strings.Contains(err.Error(), "serviceaccount") {
				t.Errorf("the error %q has the value of the field", err)
			}
		})
	}
}
