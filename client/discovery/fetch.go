// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/responsetime"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Limits for servers without aggregated discovery.
const (
	groupTimeout     = 2 * time.Second // for the document of one group version
	groupsAtOnce     = 16
	maxGroupVersions = 4096
)

// fetcher gets documents of one server.
type fetcher struct {
	client *client.Client
	cache  *Cache // nil: none
	limits *wire.Limits
	fresh  bool // send a request even for cached documents

	cached atomic.Bool // a document was used without a request
}

// root returns the group versions of /api or /apis.
func (f *fetcher) root(ctx context.Context, root string) ([]groupVersion, error) {
	doc, err := f.document(ctx, root, aggregated, "APIGroupDiscoveryList", "APIVersions", "APIGroupList")
	if err != nil {
		return nil, err
	}
	if doc.Kind == "APIGroupDiscoveryList" {
		return doc.aggregated(), nil
	}
	names := doc.groupVersions()
	if len(names) > maxGroupVersions {
		return nil, fmt.Errorf("the server lists %d group versions without aggregated discovery; the limit is %d",
			len(names), maxGroupVersions)
	}
	all := make([]groupVersion, len(names))
	free := make(chan struct{}, groupsAtOnce)
	var wg sync.WaitGroup
	for i, gv := range names {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			all[i] = f.groupVersion(ctx, root, gv)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, limited := ctx.Deadline(); limited {
		// Requests that the client's rate limit would delay beyond the deadline fail before it.
		for _, gv := range all {
			if err := errors.Join(gv.errs...); errors.Is(err, context.DeadlineExceeded) {
				return nil, err
			}
		}
	}
	return all, nil
}

// groupVersion requests one group version. The result contains its error.
func (f *fetcher) groupVersion(ctx context.Context, root string, gv schema.GroupVersion) groupVersion {
	all := groupVersion{GroupVersion: gv}
	if err := (core.Resource{Group: gv.Group, Version: gv.Version, Kind: "-", Plural: "-"}).Validate(); err != nil {
		all.errs = append(all.errs, err) // it cannot be part of a path
		return all
	}
	ctx, cancel := responsetime.WithTimeout(ctx, groupTimeout)
	defer cancel()
	path := root + "/" + gv.Version
	if gv.Group != "" {
		path = root + "/" + gv.String()
	}
	doc, err := f.document(ctx, path, wire.MediaTypeJSON, "APIResourceList")
	if err != nil {
		all.errs = append(all.errs, err)
		return all
	}
	all.resources = doc.resourcesIn(gv)
	return all
}

// document gets a document of one of the given kinds.
func (f *fetcher) document(ctx context.Context, path, accept string, kinds ...string) (*document, error) {
	var doc *document
	err := f.get(ctx, path, accept, func(body []byte) (lasting bool, err error) {
		doc, err = parse(body, kinds...)
		return err == nil && !doc.stale(), err
	})
	return doc, err
}

// get gets a document, from the cache if possible, and caches it if decode succeeds. decode reports whether the
// document is a lasting one, which may be used without a request while it is young.
func (f *fetcher) get(ctx context.Context, path, accept string, decode func([]byte) (lasting bool, err error)) error {
	kept, ok := f.cache.load(f.client.Server(), path)
	lasting := false
	if ok {
		var err error
		lasting, err = decode(kept.body)
		ok = err == nil
	}
	if ok && lasting && !f.fresh && f.cache.young(kept) {
		f.cached.Store(true)
		return nil
	}
	r := &request.Request{Verb: "get", Method: http.MethodGet, Path: path, Accept: accept}
	if ok {
		r.IfNoneMatch = kept.tag
	}
	got, err := f.send(ctx, r)
	if r.IfNoneMatch != "" && hasStatus(err, http.StatusNotModified) { // the cached document is still valid
		f.cache.confirm(f.client.Server(), path, kept)
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := decode(got.body); err != nil {
		return err
	}
	f.cache.store(f.client.Server(), path, got)
	return nil
}

// hasStatus reports whether err is a response with a status code.
func hasStatus(err error, code int32) bool {
	se, ok := errors.AsType[*core.StatusError](err)
	return ok && se.Status.Code == code
}

// send sends a request and reads the response.
func (f *fetcher) send(ctx context.Context, r *request.Request) (entry, error) {
	resp, err := f.client.Do(ctx, r)
	if err != nil {
		return entry{}, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, f.limits)
	return entry{tag: resp.Header.Get("ETag"), body: body}, err
}
