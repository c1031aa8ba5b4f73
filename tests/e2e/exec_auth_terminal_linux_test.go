// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/kube"
)

// TestInteractiveExecPluginUsesTheTerminal checks that an interactive exec plugin can use the terminal of the program:
// its prompt is printed, it reads the input of the user, and the program uses its credential. A plugin that is not
// interactive cannot read from the terminal.
func TestInteractiveExecPluginUsesTheTerminal(t *testing.T) {
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	accounts := kube.Namespaced[corev1.ServiceAccount](admin, ns)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ann"}}
	if _, err := accounts.Create(t.Context(), account, nil); err != nil {
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
		keys string // the input after the prompt
		want string // the last line of the program
	}{
		{"Always, right password", config.InteractiveAlways, "open sesame\n", ann},
		{"IfAvailable, right password", config.InteractiveIfAvailable, "open sesame\n", ann},
		{
			"IfAvailable, wrong password", config.InteractiveIfAvailable, "open up\n",
			`get: discover /api: exec plugin "sh": exit status 3`,
		},
		{
			"Always, end of input", config.InteractiveAlways, "\x04",
			`get: discover /api: exec plugin "sh": exit status 2`,
		},
		{"Never", config.InteractiveNever, "", `get: discover /api: exec plugin "sh": exit status 2: Password?`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := newCredentialProgram(t)
			program.then(t, map[string]string{"token": string(token.Token)})
			cfg := program.config(t)
			cfg.Exec.Args[1] = `echo "Password?" >&2; read word || exit 2; test "$word" = "open sesame" || exit 3; ` +
				cfg.Exec.Args[1]
			cfg.Exec.InteractiveMode = tc.mode
			term := newTerminal(t)
			programPath(t, "get") // the build is not part of the time limit
			cmd := call{
				program: "get", args: []string{"serviceaccounts", "-n", ns},
				env: []string{"KUBECONFIG=" + program.kubeconfig(t, cfg)},
			}.command(limit(t), t)
			term.start(cmd)
			if tc.mode != config.InteractiveNever {
				term.await("Password?")
				term.write(tc.keys)
			}
			term.await(tc.want)
			_ = cmd.Wait() // its output is already checked
		})
	}
}

// kubeconfig writes a kubeconfig for a configuration whose only credential is the program.
func (p *credentialProgram) kubeconfig(t *testing.T, cfg *kube.Config) string {
	t.Helper()
	file := filepath.Join(p.dir, "config")
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.SetCluster("c", config.Cluster{
			Server: cfg.Server, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData,
		})
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
