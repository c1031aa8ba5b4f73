// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// OpenAPI is the index of a server's OpenAPI v3 documents. There is one document per group version, and a few others.
// It is immutable: it contains the names and hashes of the documents that the server had at the time. See
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3.
type OpenAPI struct {
	fetcher *fetcher
	urls    map[string]string // by name
}

// openAPIRoot is the path of the index.
const openAPIRoot = "/openapi/v3"

// maxDocuments limits the index, which has one document per group version.
const maxDocuments = 16384

// FetchOpenAPI fetches the index, but no document yet. With a cache, a document is fetched again only if it has
// changed.
//
// Errors: [core.ErrNotFound] if the server has no OpenAPI v3, which was added in Kubernetes 1.24.
func FetchOpenAPI(ctx context.Context, c *client.Client, o *Options) (*OpenAPI, error) {
	if o == nil {
		o = &Options{}
	}
	f := &fetcher{client: c, cache: o.Cache, limits: o.Limits}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	err := f.get(ctx, openAPIRoot, "", func(body []byte) (bool, error) { // its content type is always plain text
		index.Paths = nil
		return true, wire.UnmarshalJSON(body, &index)
	})
	if err == nil && len(index.Paths) > maxDocuments {
		err = fmt.Errorf("%d documents, the limit is %d", len(index.Paths), maxDocuments)
	}
	if err != nil {
		return nil, fmt.Errorf("index of OpenAPI documents: %w", err)
	}
	a := &OpenAPI{fetcher: f, urls: map[string]string{}}
	for name, doc := range index.Paths {
		a.urls[name] = doc.ServerRelativeURL
	}
	return a, nil
}

// Documents returns the names of the documents, in alphabetical order: api/v1, apis/apps/v1, version, ….
func (a *OpenAPI) Documents() []string { return slices.Sorted(maps.Keys(a.urls)) }

// Document fetches a document by its name.
//
// A document that was replaced after the index was fetched is returned in its current version.
//
// Errors: [core.ErrNotFound], also if the document was removed after the index was fetched.
func (a *OpenAPI) Document(ctx context.Context, name string) (*Document, error) {
	ref, ok := a.urls[name]
	if !ok {
		return nil, fmt.Errorf("the server has no OpenAPI document %q; see OpenAPI.Documents", name)
	}
	doc, err := a.fetch(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
	}
	return doc, nil
}

// GroupVersion fetches the document of a group version.
//
// Errors: those of [OpenAPI.Document].
func (a *OpenAPI) GroupVersion(ctx context.Context, gv schema.GroupVersion) (*Document, error) {
	if gv.Group == "" {
		return a.Document(ctx, "api/"+gv.Version)
	}
	return a.Document(ctx, "apis/"+gv.String())
}

// fetch fetches a document by its URL. The URL contains the hash of the document, so a document with that hash is never
// fetched twice.
func (a *OpenAPI) fetch(ctx context.Context, ref string) (*Document, error) {
	u, err := url.Parse(ref)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, openAPIRoot+"/") {
		return nil, fmt.Errorf("the index refers to %q, which is not below %s", ref, openAPIRoot)
	}
	f, server, hash := a.fetcher, a.fetcher.client.Server(), u.Query().Get("hash")
	if kept, ok := f.cache.load(server, u.Path); ok && hash != "" && kept.tag == hash {
		if doc, err := parseDocument(kept.body); err == nil {
			return doc, nil
		}
	}
	r := &request.Request{
		Verb: "get", Method: "GET", Path: u.EscapedPath(), Query: u.Query(), Accept: wire.MediaTypeJSON,
	}
	got, err := f.send(ctx, r)
	if hash != "" && hasStatus(err, http.StatusMovedPermanently) { // the document has another hash now
		r.Query.Del("hash")
		if got, err = f.send(ctx, r); err == nil {
			hash = strings.Trim(got.tag, `"`)
		}
	}
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(got.body)
	if err != nil {
		return nil, err
	}
	if hash != "" {
		f.cache.store(server, u.Path, entry{tag: hash, body: got.body})
	}
	return doc, nil
}
