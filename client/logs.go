// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"io"
	"iter"

	"github.com/kube-go/sdk/core/request"
)

// Logs reads what a container has written, and with LogOptions.Follow what it goes on to write, as bytes. The caller
// closes it. It ends with io.EOF when there is no more: with Follow, when the container has ended.
//
// Nodes rotate logs, every 10 MiB by default, and read from the newest file only: what is older does not come. A reader that
// follows is taken along to the next file.
//
// The context is that of the whole reading. [API.LogLines] reads the same line by line.
//
// Errors: [core.ErrNotFound]; [core.ErrBadRequest] for a container that is not there or has not started; when the
// connection breaks, Read returns an error that matches io.ErrUnexpectedEOF.
func (a *API[K]) Logs(ctx context.Context, name string, o *request.LogOptions) (io.ReadCloser, error) {
	body, err := a.logs(ctx, name, o)
	if err != nil {
		return nil, wrap("logs", a.named(name), err)
	}
	return body, nil
}

func (a *API[K]) logs(ctx context.Context, name string, o *request.LogOptions) (*logBody, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	if err := a.only("asked for logs", "pods"); err != nil {
		return nil, err
	}
	r, err := request.Log(a.named(name), o)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(ctx, r) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	return &logBody{resp.Body, func(err error) error { return wrap("logs", a.named(name), err) }}, nil
}

// logBody wraps the errors of a body.
type logBody struct {
	io.ReadCloser
	wrap func(error) error
}

// Read reads from the body.
func (b *logBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.wrap(err)
	}
	return n, err
}

// LogLines yields what a container has written line by line. With LogOptions.Timestamps each line has its time. Ranging
// over the sequence again asks again.
//
// Errors: as [API.Logs].
func (a *API[K]) LogLines(ctx context.Context, name string, o *request.LogOptions) iter.Seq2[LogLine, error] {
	var opts request.LogOptions
	if o != nil {
		opts = *o
	}
	return func(yield func(LogLine, error) bool) {
		body, err := a.Logs(ctx, name, &opts)
		if err != nil {
			yield(LogLine{}, err)
			return
		}
		defer body.Close()
		lines := newLogReader(body, opts.Timestamps)
		for {
			line, err := lines.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(LogLine{}, err)
				return
			}
			line.Container = opts.Container
			line.Pod.Namespace, line.Pod.Name = a.target.Namespace, name
			if !yield(line, nil) {
				return
			}
		}
	}
}
