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
	// Limits bound what is read of a request. Default: those of package wire.
	Limits *wire.Limits

	// Logger gets requests that could not be answered. Default: none.
	Logger *slog.Logger
}

// Conversion returns a handler that converts objects by a function, such as [conversion.Converter.Convert].
func Conversion(convert conversion.Func, o *Options) http.Handler {
	return &handler{opts: optionsOf(o), answer: func(_ context.Context, body io.Reader, limits *wire.Limits) ([]byte, error) {
		req, err := conversion.Read(body, limits)
		if err != nil {
			return nil, &refusedError{err}
		}
		return conversion.Convert(req, convert).Encode(req)
	}}
}

// Admission returns a handler that reviews requests by a function.
func Admission(review func(context.Context, *admission.Request) *admission.Response, o *Options) http.Handler {
	return &handler{opts: optionsOf(o), answer: func(ctx context.Context, body io.Reader, limits *wire.Limits) ([]byte, error) {
		req, err := admission.Read(body, limits)
		if err != nil {
			return nil, &refusedError{err}
		}
		resp := review(ctx, req)
		if resp == nil {
			return nil, errors.New("the function has returned nothing")
		}
		return resp.Encode(req)
	}}
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

// refusedError says that a request makes no sense.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// handler answers reviews.
type handler struct {
	opts   Options
	answer func(context.Context, io.Reader, *wire.Limits) ([]byte, error)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "reviews are sent by POST", http.StatusMethodNotAllowed)
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.MediaTypeJSON {
		http.Error(w, "reviews are "+wire.MediaTypeJSON, http.StatusUnsupportedMediaType)
		return
	}
	body, err := h.safely(r)
	if err == nil {
		w.Header().Set("Content-Type", wire.MediaTypeJSON)
		_, err = w.Write(body)
		if err != nil { // the server has gone; there is nobody to tell
			h.opts.Logger.WarnContext(r.Context(), "send the answer", "path", r.URL.Path, "err", err)
		}
		return
	}
	code := http.StatusInternalServerError
	if _, ok := errors.AsType[*wire.TooLargeError](err); ok {
		code = http.StatusRequestEntityTooLarge
	} else if _, ok := errors.AsType[*refusedError](err); ok {
		code = http.StatusBadRequest
	}
	h.opts.Logger.WarnContext(r.Context(), "a review can't be answered", "path", r.URL.Path, "err", err)
	http.Error(w, err.Error(), code)
}

// safely makes an error of a panic.
func (h *handler) safely(r *http.Request) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.ErrorContext(r.Context(), "panic", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return h.answer(r.Context(), r.Body, h.opts.Limits)
}
