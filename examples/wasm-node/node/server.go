// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/csr"
	"github.com/kube-go/sdk/kube"
)

// server serves logs to the API server, at the path of a kubelet.
type server struct {
	http.Server

	listener net.Listener
}

// listen returns a server with a certificate of the cluster, which only accepts clients with a certificate.
func (n *node) listen(ctx context.Context) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	certificate, err := n.certificate(ctx)
	if err != nil {
		return nil, err
	}
	maps := kube.Namespaced[corev1.ConfigMap](n.c, "kube-system")
	config, err := maps.Get(ctx, "extension-apiserver-authentication", nil)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(config.Data["client-ca-file"])) {
		return nil, errors.New("the ConfigMap kube-system/extension-apiserver-authentication has no client-ca-file")
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort(n.o.Address, strconv.Itoa(n.o.Port)), &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*certificate},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})
	if err != nil {
		return nil, err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(errors.New("the listener has no port"), listener.Close())
	}
	n.port = address.Port
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.logs)
	return &server{
		http.Server{Handler: n.authorized(mux), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}, listener,
	}, nil
}

// stop ends serve, and closes all connections.
func (s *server) stop() {
	_ = s.Close()
	_ = s.listener.Close() // which the other Close does not know before serve
}

func (s *server) serve() error {
	if err := s.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// certificate returns a new certificate that the cluster has signed for the node. The requester must be the node, so
// the request impersonates it; the approval doesn't.
func (n *node) certificate(ctx context.Context) (*tls.Certificate, error) {
	user := "system:node:" + n.o.Name
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: user, Organization: []string{"system:nodes"}},
		IPAddresses: []net.IP{net.ParseIP(n.o.Address)},
	}, key)
	if err != nil {
		return nil, err
	}
	config := *n.c.Config()
	config.Impersonate.User, config.Impersonate.Groups = user, []string{"system:nodes", "system:authenticated"}
	self, err := kube.NewClient(ctx, &kube.ClientOptions{Config: &config, Share: n.c})
	if err != nil {
		return nil, err
	}
	request := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: certificatesv1.KubeletServingSignerName,
		Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}}
	request.GenerateName = "wasm-node-"
	created, err := kube.ClusterWide[certificatesv1.CertificateSigningRequest](self).Create(ctx, request, nil)
	if err != nil {
		return nil, err
	}
	if _, err := csr.New(n.c).Approve(ctx, created.Name, &csr.Options{Reason: "WasmNode"}); err != nil {
		return nil, err
	}
	all := kube.ClusterWide[certificatesv1.CertificateSigningRequest](n.c)
	signed, err := kube.Await(ctx, all, created.Name, func(r *certificatesv1.CertificateSigningRequest) error {
		if len(r.Status.Certificate) == 0 {
			return errors.New("the certificate is not signed")
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	certificate := &tls.Certificate{PrivateKey: key}
	for rest := signed.Status.Certificate; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return certificate, nil
		}
		certificate.Certificate = append(certificate.Certificate, block.Bytes)
	}
}

// authorized passes on the requests of users who may do everything with nodes that an API server does: the verb get for
// the subresource proxy.
func (n *node) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: subject.CommonName, Groups: subject.Organization,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "get", Version: "v1", Resource: "nodes", Subresource: "proxy", Name: n.o.Name,
			},
		}}
		reviewed, err := kube.ClusterWide[authorizationv1.SubjectAccessReview](n.c).Create(r.Context(), review, nil)
		switch {
		case err != nil:
			http.Error(w, "the permission can't be checked", http.StatusInternalServerError)
		case !reviewed.Status.Allowed:
			http.Error(w, "forbidden", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// logs writes the log of a container, with the options of PodLogOptions.
func (n *node) logs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number := func(name string, none int64) int64 {
		if v, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil && v >= 0 {
			return v
		}
		return none
	}
	flag := func(name string) bool { return query.Get(name) == "true" }
	pod := kube.ObjectRef{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}
	log := n.engine.Log(pod, r.PathValue("container"), flag("previous"))
	if log == nil {
		http.Error(w, fmt.Sprintf("the container %s of %s has no log", r.PathValue("container"), pod), http.StatusNotFound)
		return
	}
	since, _ := time.Parse(time.RFC3339, query.Get("sinceTime"))
	if seconds := number("sinceSeconds", 0); seconds > 0 {
		since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	left := number("limitBytes", 1<<62)
	lines, next, complete, more := log.Read(0)
	if tail := number("tailLines", -1); tail >= 0 && tail < int64(len(lines)) {
		lines = lines[int64(len(lines))-tail:]
	}
	out := bufio.NewWriter(w)
	for {
		for _, line := range lines {
			text := line.Text
			if flag("timestamps") {
				text = append([]byte(line.Time.UTC().Format("2006-01-02T15:04:05.000000000Z07:00")+" "), text...)
			}
			if text = text[:min(int64(len(text)), left)]; !line.Time.Before(since) {
				left -= int64(len(text))
				_, _ = out.Write(text) // Flush returns the error
			}
		}
		err := errors.Join(out.Flush(), http.NewResponseController(w).Flush())
		if err != nil || left == 0 || complete || !flag("follow") {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		lines, next, complete, more = log.Read(next)
	}
}
