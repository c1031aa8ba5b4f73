// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/request"
)

// PortForwardOptions are the options of [API.PortForward] and [PortForwardTo].
type PortForwardOptions struct {
	// BufferBytes bounds the unread bytes of a connection. A full buffer blocks the sender. Default: 256 KiB.
	BufferBytes int
}

// PortForwarder connects to the ports of a pod through the API server. It is safe for concurrent use and holds nothing
// that must be closed. Its connections are independent: a failure of one does not affect the others.
type PortForwarder struct {
	pods        *API
	bufferBytes int
	wrap        func(error) error
	find        func(context.Context) (*podSet, error) // nil if pod is set
	pod         string                                 // empty if find is set

	turn   chan struct{} // holds one token; its holder may use the fields below
	cached *choice
}

// choice is a pod that was ready recently.
type choice struct {
	set *podSet
	pod *podFacts
	at  time.Time
}

// choiceLifetime is the time for which a ready pod is assumed to stay ready.
const choiceLifetime = time.Second

// PortForward returns a connector to the ports of a pod.
//
// Errors: a [*request.InvalidError]. A pod that does not exist is an error of [PortForwarder.Dial].
func (a *API) PortForward(name string, o *PortForwardOptions) (*PortForwarder, error) {
	f, err := newForwarder(a, a.target(name), o)
	if err != nil {
		return nil, err
	}
	f.pod = name
	return f, nil
}

// PortForwardTo returns a connector to the ports of the pods that an object selects, such as a Service or a Deployment;
// a pod selects itself. It looks for a ready pod when a connection is made, so that new connections reach a ready pod
// after the previous one was deleted.
//
// Errors: [core.ErrNotFound] for an object that does not exist; a [*request.InvalidError] for one without a selector.
func PortForwardTo[K any](ctx context.Context, api *client.API[K], name string, o *PortForwardOptions) (*PortForwarder, error) {
	t := request.Target{Resource: api.Resource(), Namespace: api.Namespace(), Name: name}
	f, err := newForwarder(In(api.Client(), api.Namespace()), t, o)
	if err != nil {
		return nil, err
	}
	if t.Resource.String() == "pods" {
		f.pod = name
		return f, nil
	}
	f.find = func(ctx context.Context) (*podSet, error) { return podSetOf(ctx, api.Client(), t) }
	if _, err := f.find(ctx); err != nil {
		return nil, f.wrap(err)
	}
	return f, nil
}

func newForwarder(pods *API, t request.Target, o *PortForwardOptions) (*PortForwarder, error) {
	f := &PortForwarder{
		pods:        pods,
		bufferBytes: 256 << 10,
		wrap:        func(err error) error { return client.WrapError("port-forward", t, err) },
		turn:        make(chan struct{}, 1),
	}
	f.turn <- struct{}{}
	if o != nil && o.BufferBytes != 0 {
		f.bufferBytes = o.BufferBytes
	}
	var err error
	switch {
	case f.bufferBytes < 0:
		err = &request.InvalidError{Field: "PortForwardOptions.BufferBytes", Detail: "is negative; 0 means the default"}
	case t.Name == "":
		err = &request.InvalidError{Field: "name", Detail: "is empty; name the object"}
	case t.Namespace == "":
		err = &request.InvalidError{Field: "namespace", Detail: "is empty; name one"}
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	return f, nil
}

// DialContext makes a connection to the port of an address, and ignores its host. It is for http.Transport.
func (f *PortForwarder) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, f.wrap(&request.InvalidError{Field: "address", Detail: err.Error()})
	}
	return f.Dial(ctx, port)
}

// Dial makes a connection to a port, which is a number or the name of a port of the pod's containers. For a Service, it
// is a port of the service. The context applies to the dialling only.
//
// The connection has no half-close: it ends when either side closes it. If nothing listens on the port, the first Read
// returns the error. A connection without data ends, too: container runtimes end it after four hours by default.
//
// Errors: [core.ErrNotFound] for a pod that does not exist; [core.ErrBadRequest] for a pod that does not run.
func (f *PortForwarder) Dial(ctx context.Context, port string) (net.Conn, error) {
	conn, err := f.dial(ctx, port)
	if err != nil {
		return nil, f.wrap(err)
	}
	return conn, nil
}

func (f *PortForwarder) dial(ctx context.Context, port string) (*portConn, error) {
	pod, number, fresh, err := f.resolve(ctx, port)
	if err != nil {
		return nil, err
	}
	conn, err := f.connect(ctx, pod, number)
	if err == nil || fresh || ctx.Err() != nil {
		return conn, err
	}
	if err := f.forget(ctx, pod); err != nil { // it may have been deleted since it was chosen
		return nil, err
	}
	if pod, number, _, err = f.resolve(ctx, port); err != nil {
		return nil, err
	}
	return f.connect(ctx, pod, number)
}

// resolve returns the pod to connect to, its port, and whether the pod was looked up just now.
func (f *PortForwarder) resolve(ctx context.Context, port string) (pod string, number uint16, fresh bool, err error) {
	if port == "" {
		return "", 0, false, &request.InvalidError{Field: "port", Detail: "is empty; give a number or a name"}
	}
	if f.find == nil {
		number, err := f.portOfPod(ctx, port)
		return f.pod, number, true, err
	}
	chosen, fresh, err := f.choose(ctx)
	if err != nil {
		return "", 0, false, err
	}
	number, err = chosen.set.port(port, chosen.pod)
	return chosen.pod.Name, number, fresh, err
}

func (f *PortForwarder) portOfPod(ctx context.Context, port string) (uint16, error) {
	if number, ok := portNumber(port); ok {
		return number, nil
	}
	pod, err := f.pods.facts().Get(ctx, f.pod, nil)
	if err != nil {
		return 0, unwrapped(err)
	}
	return pod.port(port)
}

// choose returns a ready pod, and whether it was looked up just now.
func (f *PortForwarder) choose(ctx context.Context) (*choice, bool, error) {
	if err := f.lock(ctx); err != nil {
		return nil, false, err
	}
	defer f.unlock()
	if f.cached != nil && time.Since(f.cached.at) < choiceLifetime {
		return f.cached, false, nil
	}
	set, err := f.find(ctx)
	if err != nil {
		return nil, false, err
	}
	before := ""
	if f.cached != nil {
		before = f.cached.pod.Name
	}
	pod, err := set.ready(ctx, f.pods.facts(), before)
	if err != nil {
		return nil, false, err
	}
	f.cached = &choice{set: set, pod: pod, at: time.Now()}
	return f.cached, true, nil
}

// forget makes the next connection look for a pod again.
func (f *PortForwarder) forget(ctx context.Context, pod string) error {
	if err := f.lock(ctx); err != nil {
		return err
	}
	defer f.unlock()
	if f.cached != nil && f.cached.pod.Name == pod {
		f.cached = nil
	}
	return nil
}

func (f *PortForwarder) lock(ctx context.Context) error {
	select {
	case <-f.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *PortForwarder) unlock() { f.turn <- struct{}{} }

// portNumber parses a port that is a number.
func portNumber(port string) (uint16, bool) {
	n, err := strconv.ParseUint(port, 10, 16)
	return uint16(n), err == nil && n > 0
}
