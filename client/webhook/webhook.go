// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"

	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
)

// Options are the options of [Admission] and [Conversion]. The zero value of a field is its default.
type Options struct {
	// Limits are the limits for reading a request. Default: those of package wire.
	Limits *wire.Limits

	// Logger logs requests that fail. Default: no logs.
	Logger *slog.Logger
}

// Conversion returns a handler that converts objects with convert, for example [conversion.Converter.Convert].
func Conversion(convert conversion.Func, o *Options) http.Handler {
	return &handler{
		opts: optionsOf(o),
		respond: func(_ context.Context, body io.Reader, limits *wire.Limits) ([]byte, error) {
			req, err := conversion.Read(body, limits)
			if err != nil {
				return nil, &refusedError{err}
			}
			return conversion.Convert(req, convert).Encode(req)
		},
	}
}

// Admission returns a handler that reviews requests with review.
func Admission(review func(context.Context, *admission.Request) *admission.Response, o *Options) http.Handler {
	return &handler{
		opts: optionsOf(o),
		respond: func(ctx context.Context, body io.Reader, limits *wire.Limits) ([]byte, error) {
			req, err := admission.Read(body, limits)
			if err != nil {
				return nil, &refusedError{err}
			}
			resp := review(ctx, req)
			if resp == nil {
				return nil, errors.New("the admission callback returned nil: return a response")
			}
			return resp.Encode(req)
		},
	}
}

func optionsOf(o *Options) Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return opts
}

// refusedError is the error of an invalid request.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// handler responds to reviews.
type handler struct {
	opts    Options
	respond func(context.Context, io.Reader, *wire.Limits) ([]byte, error)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send reviews with POST", http.StatusMethodNotAllowed)
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.MediaTypeJSON {
		http.Error(w, "send reviews as "+wire.MediaTypeJSON, http.StatusUnsupportedMediaType)
		return
	}
	body, err := h.safely(r)
	if err == nil {
		w.Header().Set("Content-Type", wire.MediaTypeJSON)
		_, err = w.Write(body)
		if err != nil { // the API server has closed the connection: there is no one to respond to
			h.opts.Logger.WarnContext(r.Context(), "send the response", "path", r.URL.Path, "err", err)
		}
		return
	}
	code := http.StatusInternalServerError
	if _, ok := errors.AsType[*wire.TooLargeError](err); ok {
		code = http.StatusRequestEntityTooLarge
	} else if _, ok := errors.AsType[*refusedError](err); ok {
		code = http.StatusBadRequest
	}
	h.opts.Logger.WarnContext(r.Context(), "respond to a review", "path", r.URL.Path, "err", err)
	http.Error(w, err.Error(), code)
}

// safely calls the handler function and returns a panic as an error.
func (h *handler) safely(r *http.Request) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.ErrorContext(r.Context(), "panic", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return h.respond(r.Context(), r.Body, h.opts.Limits)
}
