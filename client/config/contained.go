// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
)

// CheckSelfContained reports each field that makes a client use this machine, as joined [FieldError] values: exec
// plugins, auth providers, and names of files, whose content the server would receive. Call it before
// [Kubeconfig.Config] if somebody else has written k, such as the owner of a cluster that joins.
//
// It does not restrict addresses: a client connects to any Server and ProxyURL that k names.
func (k *Kubeconfig) CheckSelfContained() error {
	var errs []error
	refuse := func(p place, field string, used bool, remedy string) {
		if used {
			errs = append(errs, p.errorf(field, remedy, "it is not allowed in this kubeconfig"))
		}
	}
	for _, n := range k.Clusters {
		p := place{file: n.Cluster.Origin, stanza: fmt.Sprintf("cluster %q", n.Name)}
		refuse(p, "certificate-authority", n.Cluster.CertificateAuthority != "", "use certificate-authority-data")
	}
	for _, n := range k.Users {
		u, p := n.User, place{file: n.User.Origin, stanza: fmt.Sprintf("user %q", n.Name)}
		refuse(p, "client-certificate", u.ClientCertificate != "", "use client-certificate-data")
		refuse(p, "client-key", u.ClientKey != "", "use client-key-data")
		refuse(p, "tokenFile", u.TokenFile != "", "use token")
		refuse(p, "exec", u.Exec != nil, "use a token or a client certificate")
		refuse(p, "auth-provider", u.AuthProvider != nil, "use a token or a client certificate")
	}
	return errors.Join(errs...)
}
