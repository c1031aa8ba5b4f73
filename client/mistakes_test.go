// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
)

// mistake is a mistake in a kubeconfig, and the resulting error. FILE and DIR are the paths of the kubeconfig and its
// folder, SERVER and HOST are the API server, and CA and OTHER are authorities; CA is that of the server.
type mistake struct {
	name   string
	setup  func(t *testing.T, dir string)
	o      *config.Options
	config string
	server http.HandlerFunc
	want   string
}

const goodCluster = `clusters: [{name: prod, cluster: {server: "SERVER", certificate-authority-data: CA}}]
`

// kubeconfigOf returns a kubeconfig for the server, with the given user.
func kubeconfigOf(user string) string {
	return goodCluster + `contexts: [{name: prod, context: {cluster: prod, user: ann, namespace: shop}}]
current-context: prod
users: [{name: ann, user: {` + user + `}}]
`
}

// mistakes are the most frequent mistakes.
func mistakes() []mistake {
	answer := func(code int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { testserver.Reply(w, code, contentType, []byte(body)) }
	}
	return []mistake{
		{
			name: "no kubeconfig",
			want: "no kubeconfig found: KUBECONFIG is not set; DIR/.kube/config does not exist; not inside a cluster " +
				"(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set): set KUBECONFIG to a kubeconfig " +
				"file, or name one",
		},
		{
			name: "a pod without a service account",
			setup: func(t *testing.T, _ string) {
				t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
				t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			},
			want: "no kubeconfig found: KUBECONFIG is not set; DIR/.kube/config does not exist; not inside a cluster with " +
				"a service account (open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory; " +
				"is automountServiceAccountToken false?): set KUBECONFIG to a kubeconfig file, or name one",
		},
		{
			name:   "a misspelled context",
			config: kubeconfigOf("token: abc"), o: &config.Options{Context: "prdo"},
			want: `FILE: context "prdo" does not exist: did you mean "prod"? (contexts: "prod")`,
		},
		{
			name:   "a missing user",
			config: goodCluster + "contexts: [{name: prod, context: {cluster: prod, user: ann}}]\ncurrent-context: prod\n",
			want:   `FILE: context "prod": user: user "ann" does not exist: there are no users`,
		},
		{
			name:   "no current context",
			config: strings.Replace(kubeconfigOf("token: abc"), "current-context: prod", "", 1),
			want: "FILE: current-context: is missing: choose one with `kubectl config use-context`, or name one (contexts: " +
				`"prod")`,
		},
		{
			name:   "tabs",
			config: "clusters:\n\t- name: prod\n",
			want:   "FILE:2: found character that cannot start any token, such as a tab, @ or `: indent with spaces, and put text in quotes",
		},
		{
			name:   "a missing authority file",
			config: strings.Replace(kubeconfigOf("token: abc"), "certificate-authority-data: CA", "certificate-authority: ca.crt", 1),
			want: `FILE: cluster "prod": certificate-authority: file DIR/ca.crt does not exist: restore the file, or correct ` +
				"the path",
		},
		{
			name:   "a path with a tilde",
			config: kubeconfigOf("tokenFile: ~/token"),
			want:   `FILE: user "ann": tokenFile: file DIR/~/token does not exist: write the full path: ~ is not expanded here`,
		},
		{
			name:   "the output of kubectl config view",
			config: kubeconfigOf("client-certificate-data: DATA+OMITTED, client-key-data: DATA+OMITTED"),
			want: "FILE: user \"ann\": client-certificate-data: is the placeholder that `kubectl config view` shows for the " +
				"real value: export the kubeconfig again with `kubectl config view --raw`\n" +
				"FILE: user \"ann\": client-key-data: is the placeholder that `kubectl config view` shows for the real " +
				"value: export the kubeconfig again with `kubectl config view --raw`",
		},
		{
			name:   "an empty token file",
			config: kubeconfigOf("tokenFile: token"), setup: func(t *testing.T, dir string) {
				if err := os.WriteFile(filepath.Join(dir, "token"), []byte("\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			want: `FILE: user "ann": tokenFile: the file DIR/token is empty: write a token into it`,
		},
		{
			name:   "a plugin that is not installed",
			config: kubeconfigOf("exec: {command: kubelogin-x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, installHint: brew install kubelogin}"),
			want: `get pods shop/web-0: exec plugin "kubelogin-x": cannot be run: executable file not found in $PATH: brew ` +
				"install kubelogin",
		},
		{
			name:   "a plugin of an old version",
			config: kubeconfigOf("exec: {command: aws, apiVersion: client.authentication.k8s.io/v1alpha1}"),
			want: `FILE: user "ann": exec.apiVersion: "client.authentication.k8s.io/v1alpha1" is not supported: update the ` +
				"plugin to a version that supports client.authentication.k8s.io/v1",
		},
		{
			name:   "a plugin of another version",
			config: kubeconfigOf(`exec: {command: sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, args: [-c, 'echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}"']}`),
			want: `get pods shop/web-0: exec plugin "sh": printed apiVersion "client.authentication.k8s.io/v1beta1", ` +
				"but the configuration has client.authentication.k8s.io/v1: correct the configuration, or update the plugin",
		},
		{
			name:   "a plugin that is logged out",
			config: kubeconfigOf(`exec: {command: sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, args: [-c, 'echo "session expired, run aws sso login" >&2; exit 255']}`),
			want:   `get pods shop/web-0: exec plugin "sh": exit status 255: session expired, run aws sso login`,
		},
		{
			name:   "an auth provider that was removed",
			config: kubeconfigOf("auth-provider: {name: gcp}"),
			want: `FILE: user "ann": auth-provider: gcp was removed in favor of an exec plugin: install ` +
				"gke-gcloud-auth-plugin and run `gcloud container clusters get-credentials`",
		},
		{
			name:   "another authority",
			config: strings.Replace(kubeconfigOf("token: abc"), "CA", "OTHER", 1),
			want: `get pods shop/web-0: reach SERVER (context "prod" of FILE): tls: failed to verify certificate: x509: ` +
				`certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while ` +
				`trying to verify candidate authority certificate "test-ca"); the server's certificate is not signed by ` +
				"the configured certificate-authority, or by one of this machine's if none is configured: use the current " +
				"certificate authority of the cluster",
		},
		{
			name:   "a port where nothing listens",
			config: strings.Replace(kubeconfigOf("token: abc"), "SERVER", "https://DEAD", 1),
			want: `get pods shop/web-0: reach https://127.0.0.1:1 (context "prod" of FILE): dial tcp 127.0.0.1:1: connect: ` +
				"connection refused; nothing listens on this address: start the server, or correct the address",
		},
		{
			name:   "plain http on a secure port",
			config: strings.Replace(kubeconfigOf(""), `"SERVER"`, `"http://HOST"`, 1),
			want: `get pods shop/web-0: reach http://HOST (context "prod" of FILE): bad request: server said: Client sent ` +
				"an HTTP request to an HTTPS server.; write https://",
		},
		{
			name:   "another server name",
			config: strings.Replace(kubeconfigOf("token: abc"), "certificate-authority-data", "tls-server-name: kubernetes, certificate-authority-data", 1),
			want: `get pods shop/web-0: reach SERVER (context "prod" of FILE): tls: failed to verify certificate: x509: ` +
				"certificate is valid for 127.0.0.1, not kubernetes; the server's certificate is not for kubernetes: " +
				"correct the address, or set tls-server-name",
		},
		{
			name:   "a proxy that is down",
			config: strings.Replace(kubeconfigOf("token: abc"), "certificate-authority-data", "proxy-url: 'http://me:s3cret@DEAD', certificate-authority-data", 1),
			want: `get pods shop/web-0: reach SERVER (context "prod" of FILE): proxyconnect tcp: dial tcp 127.0.0.1:1: ` +
				"connect: connection refused; the proxy cannot be reached: correct proxy-url or HTTPS_PROXY",
		},
		{
			name:   "an invalid token",
			config: kubeconfigOf("token: abc"), server: func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") },
			want: "get pods shop/web-0: unauthorized: server said: Unauthorized; the server rejects the token (context " +
				`"prod" of FILE): get a new one, or check whether it is for this cluster`,
		},
		{
			name:   "an expired token",
			config: kubeconfigOf("token: a.eyJleHAiOjE3MDAwMDAwMDB9.c"), server: func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") },
			want: `get pods shop/web-0: unauthorized: server said: Unauthorized; the token has expired (context "prod" of ` +
				"FILE): get a new one",
		},
		{
			name:   "a plugin for another cluster",
			config: kubeconfigOf(`exec: {command: sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, args: [-c, 'echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"x\"}}"']}`), server: func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") },
			want: "get pods shop/web-0: unauthorized: server said: Unauthorized; the server rejects the credentials of the exec plugin " +
				`"sh" (context "prod" of FILE): log in again, or check whether it is for this cluster`,
		},
		{
			name:   "no credentials for a server that requires them",
			config: kubeconfigOf(""), server: func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") },
			want: `get pods shop/web-0: unauthorized: server said: Unauthorized; no credentials were sent (context "prod" ` +
				"of FILE): configure some",
		},
		{
			name:   "no credentials",
			config: kubeconfigOf(""), server: func(w http.ResponseWriter, _ *http.Request) {
				testserver.Fail(w, 403, "Forbidden", `pods "web-0" is forbidden: User "system:anonymous" cannot get resource "pods" in API group "" in the namespace "shop"`)
			},
			want: `get pods shop/web-0: forbidden: server said: pods "web-0" is forbidden: User "system:anonymous" cannot ` +
				`get resource "pods" in API group "" in the namespace "shop"; no credentials were sent (context "prod" ` +
				"of FILE): configure some",
		},
		{
			name:   "a password for a server that ignores it",
			config: kubeconfigOf("username: ann, password: s3cret"), server: func(w http.ResponseWriter, _ *http.Request) {
				testserver.Fail(w, 403, "Forbidden", `forbidden: User "system:anonymous" cannot get path "/api"`)
			},
			want: `get pods shop/web-0: forbidden: server said: forbidden: User "system:anonymous" cannot get path "/api"; ` +
				`the server ignores the user name and password (context "prod" of FILE): use a token or a certificate`,
		},
		{
			name:   "a login page",
			config: kubeconfigOf("token: abc"), server: answer(200, "text/html", "<html><body>Please log in</body></html>"),
			want: `get pods shop/web-0: content type "text/html": want application/json ` +
				"or application/vnd.kubernetes.protobuf; is this the address of a Kubernetes API server?",
		},
		{
			name:   "a redirect to a login page",
			config: kubeconfigOf("token: abc"), server: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://login.test/?next=kube", http.StatusFound)
			},
			want: "get pods shop/web-0: status 302: server said: go to https://login.test/?next=kube (redirects are not " +
				"followed; correct the server's address)",
		},
		{
			name:   "another server",
			config: kubeconfigOf("token: abc"), server: answer(404, "text/plain", "404 page not found\n"),
			want: "get pods shop/web-0: the server does not serve pods in version v1: correct the plural or the group of " +
				"the kind, or the address, if it is not that of a Kubernetes API server",
		},
		{
			name:   "a gateway",
			config: kubeconfigOf("token: abc"), server: answer(502, "text/html", "<html>\n<h1>502 Bad Gateway</h1>\n</html>"),
			want: "get pods shop/web-0: status 502: server said: <html> <h1>502 Bad Gateway</h1> </html>",
		},
	}
}

// TestFrequentMistakesHaveAHelpfulError checks that the errors of frequent mistakes name the client or the server, the
// place, and a remedy.
func TestFrequentMistakesHaveAHelpfulError(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	leaf := ca.issue(t, "127.0.0.1", time.Hour).load(t)
	for _, tc := range mistakes() {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(tc.server)
			s.Config.ErrorLog = discard()
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{leaf}}
			s.EnableHTTP2 = true
			s.StartTLS()
			defer s.Close()
			dir := t.TempDir()
			file := filepath.Join(dir, "config")
			encoded := base64.StdEncoding.EncodeToString
			names := strings.NewReplacer("SERVER", s.URL, "HOST", s.Listener.Addr().String(), "CA", encoded(ca.pem), "OTHER", encoded(other.pem),
				"DEAD", deadAddress)
			t.Setenv("HOME", dir)
			t.Setenv("KUBECONFIG", "")
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			if tc.config != "" {
				t.Setenv("KUBECONFIG", file)
				if err := os.WriteFile(file, []byte(names.Replace(tc.config)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tc.setup != nil {
				tc.setup(t, dir)
			}
			err := getPod(t.Context(), tc.o)
			if err == nil {
				t.Fatal("the request returned no error")
			}
			got := strings.NewReplacer(s.URL, "SERVER", s.Listener.Addr().String(), "HOST", file, "FILE", dir, "DIR").Replace(err.Error())
			if got != tc.want {
				t.Errorf("error = %s\n want = %s", got, tc.want)
			}
		})
	}
}

// getPod is a small program.
func getPod(ctx context.Context, o *config.Options) error {
	cfg, err := config.Load(ctx, o)
	if err != nil {
		return err
	}
	c, err := client.New(ctx, &client.Options{Config: cfg, Retry: testserver.Once()})
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	_, err = client.Namespaced[corev1.Pod](c, c.Namespace()).Get(ctx, "web-0", nil)
	return err
}
