// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	csrverbs "github.com/kube-go/sdk/client/csr"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// credentialProgram is an exec plugin that prints the next file of a directory in each run, and then always the last
// one.
type credentialProgram struct {
	dir     string
	printed int
}

func newCredentialProgram(t *testing.T) *credentialProgram {
	t.Helper()
	return &credentialProgram{dir: t.TempDir()}
}

// then adds a credential that the program prints after the previous ones.
func (p *credentialProgram) then(t *testing.T, status map[string]string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"kind": "ExecCredential", "apiVersion": config.ExecV1, "status": status})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"token", "clientKeyData"} {
		if status[key] != "" {
			secret(t, "plugin's "+key, status[key])
		}
	}
	p.printed++
	if err := os.WriteFile(filepath.Join(p.dir, "next"+string(rune('0'+p.printed))), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// config returns a configuration of the cluster under test whose only credential is the program.
func (p *credentialProgram) config(t *testing.T) *kube.Config {
	t.Helper()
	own := loadConfig(t, "")
	return &kube.Config{
		Server: own.Server, CAData: own.CAData, CAFile: own.CAFile, Namespace: "default", Source: "this test",
		Exec: &config.ExecConfig{
			Command: "sh",
			Args: []string{
				"-c", `cd "$DIR" && echo run >>runs && set -- next* && cat "$1" && test $# -gt 1 && rm "$1"; true`,
			},
			Env:        []config.EnvVar{{Name: "DIR", Value: kube.Secret(p.dir)}},
			APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever,
		},
	}
}

// runs returns the number of runs of the program.
func (p *credentialProgram) runs(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// TestExecPluginTokenIsReplacedWhenRejected checks that a client whose only credential is a plugin authenticates with
// the token of the plugin, and that a token that the server rejects is replaced within the call.
func TestExecPluginTokenIsReplacedWhenRejected(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	accounts := kube.Namespaced[corev1.ServiceAccount](admin, ns)
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(t.Context(), robot, nil); err != nil {
		t.Fatal(err)
	}
	token, err := serviceaccount.In(accounts.Client(), accounts.Namespace()).Token(t.Context(), "robot", nil)
	if err != nil {
		t.Fatal(err)
	}
	program := newCredentialProgram(t)
	program.then(t, map[string]string{"token": "outdated-s3cret"})
	program.then(t, map[string]string{
		"token": string(token.Token), "expirationTimestamp": token.Expires.UTC().Format(time.RFC3339),
	})
	sent := &requests{}
	c := connect(t, &kube.ClientOptions{Config: program.config(t), PerAttempt: []kube.Middleware{sent.layer}})
	reviews := kube.APIOf[authenticationv1.SelfSubjectReview](c, selfSubjectReviews())
	for call := range 2 {
		got, err := reviews.Create(t.Context(), &authenticationv1.SelfSubjectReview{}, nil)
		if err != nil {
			t.Fatalf("call %d: %v", call+1, err)
		}
		if user := got.Status.UserInfo.Username; user != "system:serviceaccount:"+ns+":robot" {
			t.Errorf("call %d: user = %q", call+1, user)
		}
	}
	if n := sent.count("POST", "selfsubjectreviews"); n != 3 || program.runs(t) != 2 {
		t.Errorf("%d requests and %d runs of the plugin, want 3 and 2", n, program.runs(t))
	}
}

func selfSubjectReviews() kube.Resource {
	return kube.Resource{
		Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview", Plural: "selfsubjectreviews",
	}
}

// TestFailingExecPluginIsStoppedAndReported checks that a plugin that does not print a credential is stopped in time,
// that the error names the plugin without its output, and that the same client works when the plugin works again.
func TestFailingExecPluginIsStoppedAndReported(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	accounts := kube.Namespaced[corev1.ServiceAccount](admin, ns)
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(t.Context(), robot, nil); err != nil {
		t.Fatal(err)
	}
	token, err := serviceaccount.In(accounts.Client(), accounts.Namespace()).Token(t.Context(), "robot", nil)
	if err != nil {
		t.Fatal(err)
	}
	const soon = 500 * time.Millisecond
	for _, printed := range []string{"garbage-s3cret", "stdout-s3cret", "stderr-s3cret"} {
		secret(t, printed, printed)
	}
	for _, tc := range []struct {
		name, script string
		mode         config.InteractiveMode
		want         string
	}{
		{"hangs", "sleep 600", config.InteractiveNever, "was killed: it took longer than 500ms"},
		{
			"leaves a child that hangs", "sleep 600 & sleep 600", config.InteractiveNever,
			"was killed: it took longer than 500ms",
		},
		{"prints garbage", `printf '\0\377garbage-s3cret'`, config.InteractiveNever, "its output is not an ExecCredential"},
		{
			"prints 100 MB", "head -c 100000000 /dev/zero", config.InteractiveNever,
			"was killed: it printed more than 1048576 bytes",
		},
		{
			"fails and prints secrets",
			`echo '{"token":"stdout-s3cret"}'; echo "no session for Bearer stderr-s3cret" >&2; exit 1`,
			config.InteractiveNever, "exit status 1: no session for [redacted]",
		},
		{"reads input although not interactive", `read x; echo "$x"`, config.InteractiveNever, "printed nothing"},
		{"reads input without a terminal", `read x; echo "$x"`, config.InteractiveIfAvailable, "printed nothing"},
		{
			"requires a terminal", "true", config.InteractiveAlways,
			"is interactive, but standard input is not a terminal: log in beforehand",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			program := newCredentialProgram(t)
			program.then(t, map[string]string{"token": string(token.Token)})
			cfg := program.config(t)
			cfg.Exec.Args[1] = `if test -e "$DIR/broken"; then ` + tc.script + `; else ` + cfg.Exec.Args[1] + `; fi`
			cfg.Exec.InteractiveMode = tc.mode
			if err := os.WriteFile(filepath.Join(program.dir, "broken"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			timeout := time.Minute // for a busy machine
			if strings.Contains(tc.want, soon.String()) {
				timeout = soon
			}
			c := connect(t, &kube.ClientOptions{Config: cfg, Plugin: &auth.PluginOptions{Timeout: timeout, Stdin: null}})
			defer c.CloseIdleConnections()
			reviews := kube.APIOf[authenticationv1.SelfSubjectReview](c, selfSubjectReviews())
			_, err = reviews.Create(limit(t), &authenticationv1.SelfSubjectReview{}, nil)
			want := `create selfsubjectreviews.authentication.k8s.io: exec plugin "sh": ` + tc.want
			if err == nil || err.Error() != want {
				t.Errorf("error = %v\n want %s", err, want)
			}
			if tc.mode == config.InteractiveAlways {
				return
			}
			if err := os.Remove(filepath.Join(program.dir, "broken")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the plugin works", func(ctx context.Context) error {
				_, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, nil)
				return err
			})
		})
	}
}

// TestExecPluginCertificateIsReplacedBeforeItExpires checks that a plugin can return client certificates, and that the
// next certificate is used without interrupting a watch that began with the previous one.
func TestExecPluginCertificateIsReplacedBeforeItExpires(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	first, second := ns+"-one", ns+"-two"
	grant(t, admin, ns, first, "configmaps")
	grant(t, admin, ns, second, "configmaps")
	awaitGrant(t, loadConfig(t, ""), ns, first)
	awaitGrant(t, loadConfig(t, ""), ns, second)
	one, two := issueCertificate(t, admin, first), issueCertificate(t, admin, second)
	var program *credentialProgram
	var c *kube.Client
	whoAmI := func(ctx context.Context) (string, error) {
		got, err := kube.APIOf[authenticationv1.SelfSubjectReview](c, selfSubjectReviews()).
			Create(ctx, &authenticationv1.SelfSubjectReview{}, nil)
		if err != nil {
			return "", err
		}
		return got.Status.UserInfo.Username, nil
	}
	lifetime := 12 * time.Second
	eventually(t, "the first certificate is used", func(ctx context.Context) error {
		program = newCredentialProgram(t)
		one["expirationTimestamp"] = time.Now().Add(lifetime).UTC().Format(time.RFC3339)
		program.then(t, one)
		program.then(t, two)
		c = connect(t, &kube.ClientOptions{Config: program.config(t)})
		who, err := whoAmI(ctx)
		if runs := program.runs(t); err == nil && (who != first || runs != 1) {
			err = fmt.Errorf("user = %q after %d runs, want %s after 1", who, runs, first)
		}
		lifetime *= 2 // a busy machine may need most of it for the first request
		return err
	})
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	list, err := maps.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 10)
	stop := background(t, func(ctx context.Context) error {
		for ev, err := range maps.WatchOnce(ctx, &request.WatchOptions{ResourceVersion: list.ResourceVersion}) {
			if err != nil {
				return err
			}
			if ev.Object != nil {
				seen <- ev.Object.Name
			}
		}
		return errors.New("the watch has ended")
	})
	create := func(name string) {
		t.Helper()
		if _, err := kube.Namespaced[corev1.ConfigMap](admin, ns).Create(t.Context(), configMap(name, ""), nil); err != nil {
			t.Fatal(err)
		}
		awaitValue(t, seen, name)
	}
	create("before")
	eventually(t, "the second certificate is used", func(ctx context.Context) error {
		who, err := whoAmI(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if who != second {
			return fmt.Errorf("user = %s, want %s", who, second)
		}
		return nil
	})
	create("after")
	if err := stop(); !errors.Is(err, errStopped) {
		t.Errorf("watch ended with %v, want that it continues until it is stopped", err)
	}
	if program.runs(t) != 2 {
		t.Errorf("the plugin ran %d times, want 2", program.runs(t))
	}
}

// awaitGrant waits until a user can list ConfigMaps, since the server observes a new grant with a delay.
func awaitGrant(t *testing.T, admin *kube.Config, ns, user string) {
	t.Helper()
	cfg := *admin
	cfg.Impersonate.User = user
	maps := kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Config: &cfg}), ns)
	eventually(t, "the permissions of "+user, func(ctx context.Context) error {
		_, err := maps.List(ctx, nil)
		return err
	})
}

// issueCertificate lets the cluster sign a client certificate for a user and returns it as the status of an
// ExecCredential.
func issueCertificate(t *testing.T, admin *kube.Client, user string) map[string]string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: user}}
	request, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	csrs := kube.ClusterWide[certificatesv1.CertificateSigningRequest](admin)
	csr, err := csrs.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			SignerName:        certificatesv1.KubeAPIServerClientSignerName,
			ExpirationSeconds: new(int32(600)),
			Usages:            []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := csrs.Delete(context.WithoutCancel(t.Context()), csr.Name, nil); err != nil {
			t.Error(err)
		}
	})
	if _, err := csrverbs.New(csrs.Client()).Approve(t.Context(), csr.Name, nil); err != nil {
		t.Fatal(err)
	}
	var issued []byte
	eventually(t, "a certificate for "+user, func(ctx context.Context) error {
		got, err := csrs.Get(ctx, csr.Name, nil)
		if err == nil && len(got.Status.Certificate) == 0 {
			err = errors.New("not issued yet")
		}
		if err == nil {
			issued = got.Status.Certificate
		}
		return err
	})
	return map[string]string{
		"clientCertificateData": string(issued),
		"clientKeyData":         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
}

// TestImpersonationPreservesAllCharacters checks that the server receives all fields of an impersonated user without
// changes, except that keys of extra fields are in lower case, because they are sent in header names.
func TestImpersonationPreservesAllCharacters(t *testing.T) {
	t.Parallel()
	cfg := *loadConfig(t, "")
	cfg.Impersonate = config.Impersonation{
		User: "jane@example.com", UID: "a-b-c", Groups: []string{"writers", "ops team"},
		Extra: map[string][]string{
			"example.com/Reason": {"because", "100% sure"}, "a b": {"1"}, "größe": {"2"}, "x%2fy": {"3"}, "a+b~c": {"4"},
		},
	}
	got, err := whoami(t.Context(), t, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := authenticationv1.UserInfo{
		Username: "jane@example.com", UID: "a-b-c", Groups: []string{"writers", "ops team", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{
			"example.com/reason": {"because", "100% sure"}, "a b": {"1"}, "größe": {"2"}, "x%2fy": {"3"}, "a+b~c": {"4"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
}
