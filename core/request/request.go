// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Request is one HTTP request to an API server, relative to the server's address.
type Request struct {
	Verb        string // such as "list", as for RBAC; "apply" for server-side apply; "create" for exec and the like
	Method      string
	Path        string // escaped, starts with a slash
	Query       url.Values
	Accept      string // media types, best first
	ContentType string // of Body
	IfNoneMatch string // the ETag of a known body; if it has not changed, the server sends 304 without a body
	Body        []byte

	// Conditional is true if the server makes the change only at a given resource version. If the response is lost, the
	// request must not be sent again, since it would conflict with its own success.
	Conditional bool

	// Target is the target of the request, zero for a path that is not a resource. The other fields have all that is
	// sent.
	Target Target
}

// URI returns the path with the query, as it stands in the request line. Parameters are ordered by name.
func (r *Request) URI() string {
	if len(r.Query) == 0 {
		return r.Path
	}
	return r.Path + "?" + r.Query.Encode()
}

// Target is the object or collection of a request.
type Target struct {
	Resource    core.Resource
	Namespace   string // empty for cluster-scoped kinds, and for collections over all namespaces
	Name        string // empty for collections
	Subresource string // such as "status"; empty for the object itself

	// Kind is the kind that a subresource sends and receives, if that is not the kind of the resource: Scale of
	// autoscaling/v1 for "scale". It is empty otherwise.
	Kind schema.GroupVersionKind

	// View is the requested part of the objects. Default: the whole objects.
	View View

	// Encoding is the encoding of request bodies, and the preferred one of responses; JSON is always accepted as well.
	Encoding wire.Encoding

	// FieldManager is the default of the FieldManager in the options of a write.
	FieldManager string
}

// InvalidError is the error for a request that can't be sent. It comes from the client; no request was sent.
type InvalidError struct {
	Field  string // such as "name" or "ListOptions.ResourceVersionMatch"
	Detail string // what is wrong, and the remedy
}

// Error returns the field and the detail.
func (e *InvalidError) Error() string {
	return "request not sent: " + e.Field + ": " + e.Detail
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// need is the set of fields of a Target that a verb needs.
type need uint8

const (
	needName       need = 1 << iota // an object, not a collection
	needNamespace                   // for a namespaced kind, one namespace
	forbidName                      // a collection
	needCollection = forbidName
	needObject     = needName | needNamespace
	needParent     = forbidName | needNamespace
)

// path returns the URL path of the target, or an error for an invalid target.
func (t Target) path(n need) (string, error) {
	if err := t.check(n); err != nil {
		return "", err
	}
	var b strings.Builder
	if t.Resource.Group == "" {
		b.WriteString("/api/")
	} else {
		b.WriteString("/apis/" + t.Resource.Group + "/")
	}
	b.WriteString(t.Resource.Version)
	if t.Namespace != "" {
		b.WriteString("/namespaces/" + url.PathEscape(t.Namespace))
	}
	b.WriteString("/" + t.Resource.Plural)
	if t.Name != "" {
		b.WriteString("/" + url.PathEscape(t.Name))
	}
	if t.Subresource != "" {
		b.WriteString("/" + t.Subresource)
	}
	return b.String(), nil
}

func (t Target) check(n need) error {
	if err := t.Resource.Validate(); err != nil {
		return invalid("resource", "%v", err)
	}
	switch {
	case t.Namespace != "" && !t.Resource.Namespaced:
		return invalid("namespace", "%q was given, but %s are cluster-scoped; leave it empty", t.Namespace, t.Resource)
	case t.Namespace == "" && t.Resource.Namespaced && n&needNamespace != 0:
		return invalid("namespace", "is empty, but %s live in namespaces; name one", t.Resource)
	case t.Name == "" && n&needName != 0:
		return invalid("name", "is empty; name the object")
	case t.Name != "" && n&forbidName != 0:
		return invalid(
			"name",
			"%q was given, but the verb is for a whole collection; use a field selector metadata.name=%s",
			t.Name,
			t.Name,
		)
	}
	if err := checkSegment("namespace", t.Namespace); err != nil {
		return err
	}
	if err := checkSegment("name", t.Name); err != nil {
		return err
	}
	for s := range strings.SplitSeq(t.Subresource, "/") {
		if t.Subresource != "" && (s == "" || s == "." || s == ".." || url.PathEscape(s) != s) {
			return invalid("subresource", "%q can't be part of a URL", t.Subresource)
		}
	}
	return nil
}

// checkSegment refuses what the API server refuses as a path segment; see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names.
func checkSegment(field, s string) error {
	if s == "." || s == ".." || strings.ContainsAny(s, "/%") {
		return invalid(field, "%q can't be a path segment: it may not be . or .., nor contain / or %%", s)
	}
	return nil
}
