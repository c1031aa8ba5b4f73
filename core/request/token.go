// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TokenOptions are the options of a request for a service account's token.
type TokenOptions struct {
	Audiences  []string      // that accept the token; default: the API server
	Expiration time.Duration // in whole seconds, at least 10 minutes; default: an hour. The server may choose another

	// BoundObject makes the token invalid when an object is deleted. Default: the token is bound to the service account
	// only.
	BoundObject *BoundObject
}

// BoundObject is the object that a token is bound to.
type BoundObject struct {
	APIVersion string    // "v1"
	Kind       string    // Pod, Secret or Node
	Name       string    // in the service account's namespace, except for a Node
	UID        types.UID // default: that of the object with the name
}

// leastExpiration is the server's own, see
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/.
const leastExpiration = 10 * time.Minute

// tokenRequest is TokenRequest of authentication.k8s.io/v1.
type tokenRequest struct {
	metav1.TypeMeta `json:",inline"`
	Spec            struct {
		Audiences         []string  `json:"audiences,omitempty"`
		ExpirationSeconds *int64    `json:"expirationSeconds,omitempty"`
		BoundObjectRef    *boundRef `json:"boundObjectRef,omitempty"`
	} `json:"spec"`
}

type boundRef struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// Token builds the request for a new token of a service account. The response has the token, so keep it secret.
func Token(t Target, o *TokenOptions) (*Request, error) {
	t.Subresource = "token"
	body := tokenRequest{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}}
	if o == nil {
		return post(t, url.Values{}, body)
	}
	const field = "TokenOptions."
	switch b := o.BoundObject; {
	case o.Expiration%time.Second != 0 || o.Expiration != 0 && o.Expiration < leastExpiration:
		return nil, invalid(field+"Expiration", "%v is invalid: use whole seconds, at least %v", o.Expiration, leastExpiration)
	case b != nil && (b.APIVersion == "" || b.Kind == "" || b.Name == ""):
		return nil, invalid(field+"BoundObject", "needs APIVersion, Kind and Name")
	case b != nil:
		body.Spec.BoundObjectRef = new(boundRef(*b))
	}
	body.Spec.Audiences = o.Audiences
	if o.Expiration != 0 {
		body.Spec.ExpirationSeconds = new(int64(o.Expiration / time.Second))
	}
	return post(t, url.Values{}, body)
}
