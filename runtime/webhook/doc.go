// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the webhooks of an API server: admission and conversion. It makes the certificates that they
// need, and replaces them without a failed request.
//
//	srv := webhook.NewServer(c, &webhook.Options{
//		Service:     "shop-webhook",                     // in the namespace of the pod
//		Validating:  []string{"shop"},                   // ValidatingWebhookConfiguration
//		Definitions: []string{"documents.example.com"},  // CustomResourceDefinition
//	})
//	srv.Handle("/validate", webhook.Validate(func(ctx context.Context, r *webhook.Request[v1.Document]) error {
//		if r.Object != nil && r.Object.Spec.Title == "" {
//			return errors.New("spec.title: is empty: set a title")
//		}
//		return nil
//	}, nil))
//	srv.Handle("/convert/documents", webhook.Conversion(converter.Convert, nil))
//	m.AddToAll(srv) // a manager
//
// Use it for rules that a schema, a CEL rule or a ValidatingAdmissionPolicy can't express: those need no server.
// [Validate] and [Mutate] decode the objects of one kind, [Admission] handles requests of any kind. Each kind with
// conversions needs a path of its own, which path= of its marker //kube:conversion sets (default /convert). The
// handlers work with any HTTP server. Packages core/admission and core/conversion define reviews and responses.
//
// # Certificates
//
// By default, the replicas share a secret with a certificate authority and a serving certificate. Any replica makes and
// replaces them; no leader is needed. The bundle of authorities is written into the configurations that the options
// name, in each clientConfig of the service, and again whenever somebody removes it. A new authority signs only after
// all configurations have had it for [Options.PublishDelay], and an old one leaves the bundle when its last certificate
// has expired. So each API server trusts the certificate of each replica at any time, except until the first bundle is
// written. Nothing else in the configurations changes. The field manager of these writes is kube-webhook.
//
// If somebody deletes the secret, a running replica writes it again. To replace the authority before it expires, remove
// ca.key from the secret. With [Options.CertDir], another program makes the certificates, such as cert-manager: the
// server only reads them again when they change, and logs each new one, and one that has expired.
//
// # Readiness
//
// API servers reach only pods that are ready, through the service. A conversion webhook must therefore be ready before
// the caches of its program are synced, since their lists may need conversions. Use the server's own path /readyz, on
// its port and with the scheme HTTPS, as the readiness probe of the pod; it succeeds while [Server.Ready] returns nil.
// The checks "sources-NAME" of a manager's /readyz, one for each controller, would never succeed.
//
// # Permissions
//
// Without CertDir the program needs, for its namespace, get, create and update for secrets; and get and update for the
// mutatingwebhookconfigurations and validatingwebhookconfigurations (admissionregistration.k8s.io) and the
// customresourcedefinitions (apiextensions.k8s.io) that it names. All but create may be limited to the names.
//
// # Errors
//
// An invalid review, a wrong content type or a body that is too large gets a review that denies the request and says
// why. Its UID is empty if that of the request can't be read. If a callback panics, the response has status 500, to
// which the API server applies the failurePolicy of the webhook; the stack is logged, and other requests are not
// affected. Each failure is logged, but no denial. A failed TLS handshake is a failure: an API server that does not
// trust the certificate causes one. Logs and errors contain no keys.
//
// # Concurrency
//
// Handlers call their callbacks concurrently. The methods of a [Server] are safe for concurrent use, but Handle must be
// called before Run.
package webhook
