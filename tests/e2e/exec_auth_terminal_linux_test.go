// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/kube"
)

// TestExecPluginAsksAPerson promises that an exec plugin which may talk to a person has the program's terminal: what it asks
// is on the screen, what is typed reaches it, and the program goes on as whom it has let in. One that may not talk to a
// person has no terminal to read from.
func TestExecPluginAsksAPerson(t *testing.T) {
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	accounts := kube.Namespaced[corev1.ServiceAccount](admin, ns)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ann"}}, nil); err != nil {
		t.Fatal(err)
	}
	token, err := serviceaccount.In(accounts.Client(), accounts.Namespace()).Token(t.Context(), "ann", nil)
	if err != nil {
		t.Fatal(err)
	}
	secret(t, "token of ann", token.Token)
	ann := fmt.Sprintf("get: list serviceaccounts in %s: forbidden: server said: serviceaccounts is forbidden: "+
		`User "system:serviceaccount:%[1]s:ann" cannot list resource "serviceaccounts" in API group "" in the namespace %[1]q`, ns)
	for _, tc := range []struct {
		name string
		mode config.InteractiveMode
		keys string // typed when the plugin asks
		want string // the program's last word
	}{
		{"must ask, and hears the word", config.InteractiveAlways, "open sesame\n", ann},
		{"can ask, and hears the word", config.InteractiveIfAvailable, "open sesame\n", ann},
		{"can ask, and hears another word", config.InteractiveIfAvailable, "open up\n", `get: discover /api: exec plugin "sh": exit status 3`},
		{"must ask, and hears nothing", config.InteractiveAlways, "\x04", `get: discover /api: exec plugin "sh": exit status 2`},
		{"must not ask", config.InteractiveNever, "", `get: discover /api: exec plugin "sh": exit status 2: Password?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := newCredentialProgram(t)
			program.then(t, map[string]string{"token": string(token.Token)})
			cfg := program.config(t)
			cfg.Exec.Args[1] = `echo "Password?" >&2; read word || exit 2; test "$word" = "open sesame" || exit 3; ` + cfg.Exec.Args[1]
			cfg.Exec.InteractiveMode = tc.mode
			term := newTerminal(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // it may have to be built
			defer cancel()
			cmd := call{
				program: "get", args: []string{"serviceaccounts", "-n", ns},
				env: []string{"KUBECONFIG=" + program.kubeconfig(t, cfg)},
			}.command(ctx, t)
			term.start(cmd)
			if tc.mode != config.InteractiveNever {
				term.await("Password?")
				term.write(tc.keys)
			}
			term.await(tc.want)
			_ = cmd.Wait() // it has said what is wrong
		})
	}
}

// kubeconfig writes a kubeconfig for a configuration whose only credential is the program.
func (p *credentialProgram) kubeconfig(t *testing.T, cfg *kube.Config) string {
	t.Helper()
	file := filepath.Join(p.dir, "config")
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.SetCluster("c", config.Cluster{Server: cfg.Server, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData})
		k.SetUser("u", config.User{Exec: cfg.Exec})
		k.SetContext("c", config.Context{Cluster: "c", User: "u"})
		k.CurrentContext = "c"
		return nil
	}, &config.ModifyOptions{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	return file
}
