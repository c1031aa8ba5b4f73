// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// API reads and writes the objects of one kind, in one namespace or in the whole cluster. It has a method for each
// verb.
//
// K is a struct such as corev1.Pod. The caller owns the objects that the verbs return. If the API is invalid, for
// example because the resource of K is unknown or the client is nil, each verb returns the error.
type API[K any] struct {
	endpoint
}

// endpoint is an API without the type of its objects. Its code is compiled once, whereas each function with a type
// parameter is compiled for each kind that a program uses. So the methods of API only convert the objects.
type endpoint struct {
	client   *Client
	target   request.Target
	goType   reflect.Type // K
	oneSpace bool         // made by Namespaced or In: the namespace must not be empty
	setup    error        // why nothing can work

	onItemError func(*wire.ItemError) // nil: such an error ends the list or the watch
	tables      *tables               // nil unless the objects are rows
}

// Namespaced returns the API of a namespaced kind in one namespace.
func Namespaced[K any, P core.ObjectPtr[K]](c *Client, namespace string) *API[K] {
	return ClusterWide[K, P](c).In(namespace)
}

// ClusterWide returns the API of a kind in the whole cluster: of a cluster-scoped kind, or of a namespaced kind in all
// namespaces. For a namespaced kind, the verbs that take an object use its namespace, and those that take only a name
// need [API.In].
func ClusterWide[K any, P core.ObjectPtr[K]](c *Client) *API[K] {
	a := new(API[K])
	res, err := core.ResourceOfObject(P(new(K)))
	a.init(c, reflect.TypeFor[K](), &res, err)
	return a
}

// Of returns the API of a resource in the whole cluster, as [ClusterWide] does; [API.In] narrows it to one namespace.
// It is for types whose resource is not known, and for types that can hold objects of any kind. For
// metav1.PartialObjectMetadata it asks the server for metadata only, see [API.Metadata].
func Of[K any, P core.ObjectPtr[K]](c *Client, res core.Resource) *API[K] {
	a := new(API[K])
	a.init(c, reflect.TypeFor[K](), &res, res.Validate())
	return a
}

// Dynamic returns the API of a resource that is known only at run time, in the whole cluster; [API.In] narrows it to
// one namespace.
func Dynamic(c *Client, res core.Resource) *API[unstructured.Unstructured] {
	return Of[unstructured.Unstructured](c, res)
}

// init makes a new endpoint ready for use.
func (e *endpoint) init(c *Client, goType reflect.Type, res *core.Resource, setup error) {
	if c == nil {
		c, setup = unusable()
	}
	e.client, e.goType, e.setup = c, goType, setup
	e.target = request.Target{Resource: *res, Encoding: EncodingOf(goType), FieldManager: c.manager}
	switch {
	case isMetadata(goType):
		e.target = metadataOf(e.target)
	case isRow(goType) && setup == nil:
		e.setup = &request.InvalidError{Field: "type", Detail: "is core.Row; use API.Rows of another type"}
	}
}

// unusable returns a client for an API that was made with a nil client, and the error of all requests.
func unusable() (*Client, error) {
	err := &request.InvalidError{Field: "client", Detail: "is nil: pass one of client.New"}
	refuse := middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, err })
	return &Client{base: new(url.URL), config: new(config.Config), rt: refuse, upgrade: refuse}, err
}

// EncodingOf returns the encoding that an API of a Go type uses by default: protobuf for the kinds of k8s.io/api, and
// for a type that describes itself as one of their kinds and has their protobuf tags on all its fields. Custom
// resources have no protobuf encoding.
func EncodingOf(goType reflect.Type) wire.Encoding {
	obj := reflect.New(goType).Interface()
	builtin := strings.HasPrefix(goType.PkgPath(), "k8s.io/api/")
	if d, ok := obj.(core.Describer); ok {
		group := d.KubeResource().Group
		builtin = !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
	}
	if builtin && wire.SupportsProtobuf(obj) {
		return wire.Protobuf
	}
	return wire.JSON
}

// Client returns the client that the API uses.
func (a *API[K]) Client() *Client { return a.client }

// Resource returns the resource of the kind.
func (a *API[K]) Resource() core.Resource { return a.target.Resource }

// Namespace returns the namespace. It is empty for the whole cluster.
func (a *API[K]) Namespace() string { return a.target.Namespace }

// In returns the same API in one namespace. An empty namespace is an error of each verb if the kind is namespaced, so
// that it never means all namespaces; for a cluster-scoped kind the namespace is always empty.
func (a *API[K]) In(namespace string) *API[K] {
	in := *a
	in.target.Namespace = namespace
	in.oneSpace = true
	return &in
}

// PreferEncoding returns the same API with another encoding. By default, an API uses protobuf for the kinds of
// k8s.io/api and JSON for all others. A server that does not have an encoding responds in JSON. If it refuses a request
// body in the encoding, the client sends it again in JSON, and sends later bodies of the resource in JSON for an hour.
//
// Each verb returns an error if K can't be decoded from the encoding. An [Entry] always uses JSON.
func (a *API[K]) PreferEncoding(e wire.Encoding) *API[K] {
	other := *a
	other.target.Encoding = e
	if other.setup == nil && e == wire.Protobuf && !wire.SupportsProtobuf(new(K)) {
		other.setup = &request.InvalidError{
			Field:  "encoding",
			Detail: fmt.Sprintf("%T can't be decoded from protobuf; ask for JSON", *new(K)),
		}
	}
	return &other
}

// ready returns the error that the constructors could not return.
func (e *endpoint) ready() error {
	if e.setup != nil {
		return e.setup
	}
	if e.oneSpace && e.target.Namespace == "" && e.target.Resource.Namespaced {
		return &request.InvalidError{Field: "namespace", Detail: "is empty; name one, or use ClusterWide"}
	}
	return nil
}

// named returns the target of one object.
func (e *endpoint) named(name string) request.Target {
	t := e.target
	t.Name = name
	return t
}

// forObject returns the target of an object. A cluster-wide API uses the namespace of the object.
func (e *endpoint) forObject(obj core.Object) request.Target {
	t := e.named(obj.GetName())
	if t.Namespace == "" && !e.oneSpace {
		t.Namespace = obj.GetNamespace()
	}
	return t
}

// asObject returns obj as an object. The constructors ensure that *K is one.
func asObject[K any](obj *K) core.Object {
	return any(obj).(core.Object)
}

// blank returns a new object of the Go type.
func (e *endpoint) blank() core.Object {
	return reflect.New(e.goType).Interface().(core.Object)
}

// received is a response.
type received struct {
	object core.Object // nil if the response is only a Status
	body   []byte      // what object was decoded from
}

// typed returns the result of a verb of an endpoint: a *K, or nil.
func typed[K any](r received, err error) (*K, error) {
	result, _ := any(r.object).(*K)
	return result, err
}

// copyOf returns a shallow copy to encode, so that the TypeMeta of the caller's object, which encoding sets, is not
// changed. It returns nil for nil.
func copyOf[K any](obj *K) core.Object {
	if obj == nil {
		return nil
	}
	c := *obj
	return withOwnType(&c)
}

// withOwnType makes changes of the TypeMeta of a copy invisible in the original.
func withOwnType(obj any) core.Object {
	// This does not build an Unstructured: converting that type to an interface links its methods and the converters
	// behind them, even in programs that have no unstructured objects.
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = maps.Clone(u.Object)
	}
	return obj.(core.Object)
}

// complete checks the kind of an object that the server sent, and sets the TypeMeta that servers omit in list items and
// protobuf messages. Metadata gets the kind of its object.
func complete(obj core.Object, t request.Target) error {
	kind := obj.GetObjectKind()
	got := kind.GroupVersionKind()
	if err := wire.CheckKind(got, sentKind(t)); err != nil {
		return err
	}
	if t.View == request.ViewMetadata || got.Empty() {
		kind.SetGroupVersionKind(kindOf(t))
	}
	return nil
}

// sentKind returns the kind in the responses for a target.
func sentKind(t request.Target) schema.GroupVersionKind {
	switch t.View {
	case request.ViewMetadata:
		return partialMetadata()
	case request.ViewTable:
		return metav1.SchemeGroupVersion.WithKind("Table")
	default:
		return kindOf(t)
	}
}

// kindOf returns the kind of the objects of a target, in requests and responses.
func kindOf(t request.Target) schema.GroupVersionKind {
	if t.Kind.Kind != "" {
		return t.Kind
	}
	return t.Resource.GroupVersionKind()
}

// partialMetadata returns the kind of the metadata of objects.
func partialMetadata() schema.GroupVersionKind {
	return metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
}

// build returns the request in an encoding.
type build func(wire.Encoding) (*request.Request, error)

// one sends a request and returns the object in the response.
func (e *endpoint) one(ctx context.Context, verb string, t request.Target, b build) (received, error) {
	var sent *request.Request
	got, code, err := e.exchange(ctx, verb, t, func(encoding wire.Encoding) (r *request.Request, err error) {
		sent, err = b(encoding)
		return sent, err
	})
	if err != nil {
		return received{}, WrapError(verb, t, err)
	}
	if got.object != nil && verb != "get" && !sent.Query.Has("dryRun") {
		e.client.tellObserver(ctx, sent, got.object, code == http.StatusCreated)
	}
	return got, nil
}

// exchange sends a request and returns the object in the response, and the response's status code.
func (e *endpoint) exchange(ctx context.Context, verb string, t request.Target, b build) (received, int, error) {
	if err := e.ready(); err != nil {
		return received{}, 0, err
	}
	if t.View == request.ViewMetadata && (verb == "create" || verb == "update") {
		return received{}, 0, &request.InvalidError{
			Field:  "object",
			Detail: "would be stored without all but its metadata; use Patch or Apply",
		}
	}
	resp, err := e.client.send(ctx, t, b)
	if err != nil {
		return received{}, 0, err
	}
	defer resp.Body.Close()
	contentType := resp.Header.Get("Content-Type")
	if e.tables != nil {
		row, err := e.tables.one(e, resp.Body, contentType)
		return received{object: row}, resp.StatusCode, err
	}
	body, err := wire.ReadBody(resp.Body, e.client.limits)
	if err != nil {
		return received{}, 0, err
	}
	if verb == "create" && t.Subresource != "" && wire.UnmarshalStatus(body, contentType) != nil {
		return received{}, resp.StatusCode, nil // the response is only a Status
	}
	obj := e.blank()
	if err := wire.Unmarshal(body, contentType, obj); err != nil {
		return received{}, 0, err
	}
	return received{obj, body}, resp.StatusCode, complete(obj, t)
}

// send sends a request in the encoding of its target. If the server refuses the encoding of the body, send repeats the
// request in JSON, and uses JSON for later bodies of the resource for some time, see remembered.
func (c *Client) send(ctx context.Context, t request.Target, b build) (*http.Response, error) {
	encoding := t.Encoding
	refused := encodingRefusal{t.Resource.GroupVersionResource(), encoding}
	if c.refusals.has(refused) {
		encoding = wire.JSON
	}
	r, err := b(encoding)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(ctx, r)
	inEncoding := encoding != wire.JSON && r.ContentType == encoding.MediaType()
	if !inEncoding || !errors.Is(err, core.ErrUnsupportedMediaType) {
		return resp, err
	}
	c.refusals.add(refused)
	if r, err = b(wire.JSON); err != nil {
		return nil, err
	}
	return c.Do(ctx, r)
}

// encoded returns a build function of a request builder that takes a target.
func encoded(t request.Target, builder func(request.Target) (*request.Request, error)) build {
	return func(e wire.Encoding) (*request.Request, error) {
		t.Encoding = e
		return builder(t)
	}
}
