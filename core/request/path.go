// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"maps"
	"net/url"
	"strings"
)

// Raw builds the request for a path that is not a resource, such as /version or /readyz?verbose. The path is escaped,
// as in a URL, and may have a query. To send a body, set the request's Method, Verb and Body.
func Raw(path string) (*Request, error) {
	u, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.Contains(path, "#") {
		return nil, invalid("path", "%q is not the path of a URL; it starts with one slash and has no fragment", path)
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return nil, invalid("path", "%q has a segment %s; write the path without it", path, segment)
		}
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, invalid("path", "%q has an invalid query: %v", path, err)
	}
	return &Request{Verb: "get", Method: "GET", Path: u.EscapedPath(), Query: q, Accept: "*/*"}, nil
}

// ProxyOptions are the options of a request to a pod, a service or a node through the API server.
type ProxyOptions struct {
	Method string     // default: GET
	Scheme string     // http or https; default: http, for the kubelet https
	Port   string     // number, for services also a name; default: a pod's first, a service's unnamed one, the kubelet
	Path   string     // below the object, such as "metrics/cadvisor"; not escaped. Default: its root
	Query  url.Values // of the request to the object

	Accept      string // media types, best first; default: any
	ContentType string // of Body
	Body        []byte
}

// Proxy builds a request that the API server passes on to a pod, a service or a node, see
// https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/#manually-constructing-apiserver-proxy-urls.
func Proxy(t Target, o *ProxyOptions) (*Request, error) {
	if o == nil {
		o = &ProxyOptions{}
	}
	t.Subresource = "proxy"
	at := t
	switch {
	case strings.Contains(t.Name, ":"):
		return nil, invalid("name", "%q has a colon; give scheme and port as options", t.Name)
	case o.Scheme != "" && o.Scheme != "http" && o.Scheme != "https":
		return nil, invalid("ProxyOptions.Scheme", "%q is neither http nor https", o.Scheme)
	case strings.ContainsAny(o.Port, ":/%"):
		return nil, invalid("ProxyOptions.Port", "%q is neither a number nor a name", o.Port)
	case t.Resource.Plural != "services" && strings.ContainsFunc(o.Port, func(r rune) bool { return r < '0' || r > '9' }):
		return nil, invalid("ProxyOptions.Port", "%q is not a number; only ports of services may be named", o.Port)
	case o.Scheme != "":
		at.Name = o.Scheme + ":" + t.Name + ":" + o.Port
	case o.Port != "":
		at.Name = t.Name + ":" + o.Port
	}
	if t.Name == "" {
		at.Name = ""
	}
	path, err := at.path(needObject)
	if err != nil {
		return nil, err
	}
	rest, err := escapePath(o.Path)
	if err != nil {
		return nil, err
	}
	accept := o.Accept
	if accept == "" {
		accept = "*/*"
	}
	verb, method := proxyVerb(o.Method)
	if verb == "" {
		return nil, invalid(
			"ProxyOptions.Method",
			"%q is not valid; use GET, HEAD, OPTIONS, POST, PUT, PATCH or DELETE",
			o.Method,
		)
	}
	q := url.Values{}
	maps.Copy(q, o.Query)
	return &Request{
		Verb: verb, Method: method, Path: path + rest, Query: q,
		Accept: accept, ContentType: o.ContentType, Body: o.Body, Target: t,
	}, nil
}

// proxyVerb returns the RBAC verb of a method, see
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb.
func proxyVerb(method string) (verb, sent string) {
	switch method {
	case "":
		return "get", "GET"
	case "GET", "HEAD", "OPTIONS":
		return "get", method
	case "POST":
		return "create", method
	case "PUT":
		return "update", method
	case "PATCH":
		return "patch", method
	case "DELETE":
		return "delete", method
	}
	return "", ""
}

// escapePath returns a path to append to another one. It starts with a slash even if it is empty: an API server
// redirects a proxied path without one to itself.
func escapePath(path string) (string, error) {
	var b strings.Builder
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if segment == "." || segment == ".." {
			return "", invalid("ProxyOptions.Path", "%q has a segment %s; write the path without it", path, segment)
		}
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String(), nil
}
