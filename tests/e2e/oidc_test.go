// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/kube"
)

// identityProvider is an OpenID Connect provider whose refresh tokens can be used only once. It is safe for concurrent
// use.
type identityProvider struct {
	*httptest.Server

	signers map[string]crypto.Signer // by algorithm

	mu       sync.Mutex    // guards the fields below
	alg      string        // the algorithm of new tokens
	lifetime time.Duration // of new tokens
	redeemed int           // number of refresh tokens that were used
	refuses  bool          // rejects all refresh tokens
}

// The secrets of the provider. A number after refreshToken distinguishes the refresh tokens.
const (
	clientPassword = "client-s3cret"
	accessToken    = "access-s3cret"
	refreshToken   = "refresh-s3cret-"
)

func newIdentityProvider(t *testing.T) *identityProvider {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret(t, "client secret", clientPassword)
	secret(t, "access token", accessToken)
	secret(t, "refresh tokens", refreshToken)
	p := &identityProvider{
		signers: map[string]crypto.Signer{"RS256": rsaKey, "ES256": ecKey}, alg: "RS256", lifetime: time.Hour,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys",
			"token_endpoint": p.URL + "/token", "authorization_endpoint": p.URL + "/auth",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256", "ES256"},
		})
	})
	point, err := ecKey.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{
			{
				"kid": "RS256", "alg": "RS256", "use": "sig", "kty": "RSA",
				"n": base64URL(rsaKey.N.Bytes()), "e": "AQAB",
			},
			{
				"kid": "ES256", "alg": "ES256", "use": "sig", "kty": "EC",
				"crv": "P-256", "x": base64URL(point[1:33]), "y": base64URL(point[33:]),
			},
		}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewTLSServer(mux)
	p.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(p.Close)
	return p
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func base64URL(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// token redeems a refresh token.
func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, password, ok := r.BasicAuth()
	if !ok {
		id, password = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	switch {
	case id != "kube" || password != clientPassword || r.FormValue("grant_type") != "refresh_token":
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
	case p.refuses || r.FormValue("refresh_token") != p.refresh():
		writeJSON(w, http.StatusBadRequest, map[string]string{
			"error": "invalid_grant", "error_description": "not " + r.FormValue("refresh_token"),
		})
	default:
		p.redeemed++
		token, err := p.sign(p.lifetime)
		if err != nil {
			writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{
			"access_token": accessToken, "token_type": "Bearer", "expires_in": 3600,
			"id_token": token, "refresh_token": p.refresh(),
		})
	}
}

// refresh returns the valid refresh token. The caller holds the mutex.
func (p *identityProvider) refresh() string { return fmt.Sprint(refreshToken, p.redeemed) }

// sign returns an ID token for ann. The caller holds the mutex.
func (p *identityProvider) sign(lifetime time.Duration) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": p.alg, "kid": p.alg, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": p.URL, "aud": "kube", "sub": "1234", "name": "ann", "teams": []string{"writers"},
		"iat": now.Add(-time.Hour).Unix(), "exp": now.Add(lifetime).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed := base64URL(header) + "." + base64URL(claims)
	digest := sha256.Sum256([]byte(signed))
	var signature []byte
	switch key := p.signers[p.alg].(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, signErr := ecdsa.Sign(rand.Reader, key, digest[:])
		if err = signErr; err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	}
	token := signed + "." + base64URL(signature)
	recorder.Add("ID token of the provider", token)
	return token, err
}

// issue returns an ID token for ann.
func (p *identityProvider) issue(t *testing.T, lifetime time.Duration) kube.Secret {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	token, err := p.sign(lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return kube.Secret(token)
}

// change calls f, which may change the fields, and returns the number of refresh tokens that were used.
func (p *identityProvider) change(f func()) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	return p.redeemed
}

// count returns the number of refresh tokens that were used.
func (p *identityProvider) count() int { return p.change(func() {}) }

// authority returns the CA certificate of the provider in PEM.
func (p *identityProvider) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
}

// login writes a kubeconfig for ann, as kubectl has it after a login, with an ID token. It returns the path of the
// file.
func (p *identityProvider) login(t *testing.T, cluster *kube.Config, idToken kube.Secret) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	p.mu.Lock()
	refresh := p.refresh()
	p.mu.Unlock()
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.SetCluster("c", config.Cluster{Server: cluster.Server, CertificateAuthorityData: cluster.CAData})
		k.SetUser("ann", config.User{AuthProvider: &config.AuthProvider{Name: "oidc", Config: map[string]kube.Secret{
			"idp-issuer-url": kube.Secret(p.URL), "client-id": "kube", "client-secret": clientPassword,
			"idp-certificate-authority-data": kube.Secret(base64.StdEncoding.EncodeToString(p.authority())),
			"id-token":                       idToken, "refresh-token": kube.Secret(refresh),
		}}})
		k.SetContext("ann", config.Context{Cluster: "c", User: "ann"})
		k.CurrentContext = "ann"
		return nil
	}, &config.ModifyOptions{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// trustFlags returns flags of an API server that trusts an identity provider.
func (p *identityProvider) trustFlags(t *testing.T) []string {
	t.Helper()
	authority := filepath.Join(t.TempDir(), "idp.crt")
	if err := os.WriteFile(authority, p.authority(), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"--oidc-issuer-url=" + p.URL, "--oidc-client-id=kube",
		"--oidc-ca-file=" + authority, "--oidc-signing-algs=RS256,ES256",
		"--oidc-username-claim=name", "--oidc-username-prefix=oidc:", "--oidc-groups-claim=teams",
	}
}

// awaitTrust waits until the API server accepts the tokens of an identity provider.
func (p *identityProvider) awaitTrust(t *testing.T, cfg *kube.Config) {
	t.Helper()
	if cfg.CAFile != "" {
		var err error
		if cfg.CAData, err = os.ReadFile(cfg.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	bearer := &kube.Config{
		Server: cfg.Server, CAData: cfg.CAData, BearerToken: p.issue(t, time.Hour), Source: "this test",
	}
	eventually(t, "the API server trusts the provider", func(ctx context.Context) error {
		_, err := whoami(ctx, t, bearer)
		return err
	})
}

// testOIDC checks that the auth-provider of a kubeconfig works with an API server that trusts the same provider: an
// expired ID token is replaced within the call, new tokens are saved for the next program, and errors contain no token.
func testOIDC(t *testing.T, provider *identityProvider, server *kube.Config) {
	provider.awaitTrust(t, server)
	isAnn := func(t *testing.T, file string) {
		t.Helper()
		cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		user, err := whoami(t.Context(), t, cfg)
		if err != nil || user.Username != "oidc:ann" || !strings.Contains(strings.Join(user.Groups, " "), "writers") {
			t.Errorf("user = %+v, %v; want oidc:ann in the group writers", user, err)
		}
	}

	for _, alg := range []string{"RS256", "ES256"} {
		t.Run("an expired token signed with "+alg, func(t *testing.T) {
			before := provider.change(func() { provider.alg = alg })
			file := provider.login(t, server, provider.issue(t, -time.Minute))
			isAnn(t, file)
			isAnn(t, file) // like another program, with the tokens that the first one saved
			if n := provider.count(); n != before+1 {
				t.Errorf("%d tokens were redeemed, want 1", n-before)
			}
			kc, err := config.Read(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			settings := kc.User("ann").AuthProvider.Config
			want := fmt.Sprint(refreshToken, before+1)
			if string(settings["refresh-token"]) != want || settings["client-id"] != "kube" {
				t.Errorf("the kubeconfig lacks the new refresh token, or has lost the client ID: it has %d settings", len(settings))
			}
		})
	}

	t.Run("tokens that expire within seconds", func(t *testing.T) {
		before := provider.change(func() { provider.lifetime = 4 * time.Second })
		defer provider.change(func() { provider.lifetime = time.Hour })
		file := provider.login(t, server, provider.issue(t, -time.Minute))
		cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		c := connect(t, &kube.ClientOptions{Config: cfg})
		reviews := kube.APIOf[authenticationv1.SelfSubjectReview](c, selfSubjectReviews())
		eventually(t, "the third token is redeemed", func(ctx context.Context) error {
			begun := time.Now()
			_, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, nil)
			if took := time.Since(begun); err != nil && took < time.Second/2 {
				t.Fatal(err)
			} else if err != nil { // a token is used until half a second before its end: a slow machine delivers it too late
				return fmt.Errorf("after %v: %w", took, err)
			}
			if n := provider.count() - before; n < 3 {
				return fmt.Errorf("%d tokens were redeemed, want 3", n)
			}
			return nil
		})
	})

	t.Run("several programs at the same time", func(t *testing.T) {
		before := provider.count()
		file := provider.login(t, server, provider.issue(t, -time.Minute))
		var programs sync.WaitGroup
		for range 8 {
			programs.Go(func() { isAnn(t, file) })
		}
		programs.Wait()
		if n := provider.count(); n == before {
			t.Error("no token was redeemed")
		}
	})

	t.Run("a provider that rejects refresh tokens", func(t *testing.T) {
		provider.change(func() { provider.refuses = true })
		defer provider.change(func() { provider.refuses = false })
		file := provider.login(t, server, provider.issue(t, -time.Minute))
		cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		_, err = whoami(t.Context(), t, cfg)
		want := "create selfsubjectreviews.authentication.k8s.io: oidc provider " + provider.URL + ": " +
			"refresh the id-token: 400 Bad Request: invalid_grant: the refresh-token has expired or was used: log in again"
		if err == nil || err.Error() != want {
			t.Errorf("error = %v\n want = %s", err, want)
		}
		if _, ok := errors.AsType[*auth.OIDCError](err); !ok {
			t.Errorf("error of type %T does not wrap an OIDCError", err)
		}
	})

	t.Run("a server that does not trust the provider", func(t *testing.T) {
		other := loadConfig(t, "")
		data := other.CAData
		if other.CAFile != "" {
			var err error
			if data, err = os.ReadFile(other.CAFile); err != nil {
				t.Fatal(err)
			}
		}
		cluster := &kube.Config{Server: other.Server, CAData: data}
		file := provider.login(t, cluster, provider.issue(t, time.Hour))
		cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		before := provider.count()
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		c := connect(t, &kube.ClientOptions{Config: cfg, Logger: slog.New(handler)})
		for range 3 {
			_, err := kube.ClusterWide[corev1.Namespace](c).Get(t.Context(), "default", nil)
			if !errors.Is(err, kube.ErrUnauthorized) {
				t.Errorf("error = %v, want ErrUnauthorized", err)
			}
		}
		if n := provider.count() - before; n != 1 {
			t.Errorf("%d tokens were redeemed for three calls, want 1: there is no refresh after a new token was rejected", n)
		}
		if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), "eyJ") {
			t.Errorf("the log contains a secret:\n%s", &log)
		}
	})
}
