// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"

	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
)

// HandlerOptions are the options of handlers. The zero value of a field is its default.
type HandlerOptions struct {
	// Limits are the limits for reading a request. Default: those of package wire, but 16 MiB for the review of an
	// admission: an API server accepts objects of up to 3 MiB, and a review may have two.
	Limits *wire.Limits

	// Logger logs reviews that fail. Default: [slog.Default].
	Logger *slog.Logger
}

// Conversion returns a handler that converts objects with convert, for example [conversion.Converter.Convert].
func Conversion(convert conversion.Func, o *HandlerOptions) http.Handler {
	return &handler{
		opts: optionsOf(o),
		respond: func(_ context.Context, body io.Reader, limits *wire.Limits) ([]byte, error) {
			req, err := conversion.Read(body, limits)
			if err != nil {
				return nil, &refusedError{err}
			}
			return conversion.Convert(req, convert).Encode(req)
		},
		refuse: func(body io.Reader, limits *wire.Limits, err error, _ int) []byte {
			refused := &conversion.ReviewError{Err: err}
			if body == nil {
				if invalid, ok := errors.AsType[*conversion.ReviewError](err); ok {
					refused = invalid
				}
			} else if req, err := conversion.Read(body, limits); err == nil {
				refused.UID = req.UID
			} else if invalid, ok := errors.AsType[*conversion.ReviewError](err); ok {
				refused.UID, refused.APIVersion = invalid.UID, invalid.APIVersion
			}
			return encoded(refused.Encode())
		},
	}
}

// Admission returns a handler that reviews requests with review. [Validate] and [Mutate] decode the objects.
func Admission(review func(context.Context, *admission.Request) *admission.Response, o *HandlerOptions) http.Handler {
	return newAdmission(review, o)
}

func newAdmission(review func(context.Context, *admission.Request) *admission.Response, o *HandlerOptions) *handler {
	opts := optionsOf(o)
	if opts.Limits == nil {
		opts.Limits = &wire.Limits{ObjectBytes: 16 << 20}
	}
	return &handler{
		opts: opts,
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
		refuse: func(body io.Reader, limits *wire.Limits, err error, code int) []byte {
			refused := &admission.ReviewError{Err: err}
			if body == nil {
				if invalid, ok := errors.AsType[*admission.ReviewError](err); ok {
					refused = invalid
				}
			} else if req, err := admission.Read(body, limits); err == nil {
				refused.UID = req.UID
			} else if invalid, ok := errors.AsType[*admission.ReviewError](err); ok {
				refused.UID, refused.APIVersion = invalid.UID, invalid.APIVersion
			}
			return encoded(refused.Encode(code))
		},
	}
}

func encoded(body []byte, err error) []byte {
	if err != nil {
		return nil
	}
	return body
}

func optionsOf(o *HandlerOptions) HandlerOptions {
	var opts HandlerOptions
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	return opts
}

// discard reads the rest of a body that is too large, up to a limit, because a client that still sends may not read the
// response.
func discard(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 16<<20) }

// refusedError is the error of an invalid request.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// handler responds to reviews.
type handler struct {
	opts    HandlerOptions
	respond func(context.Context, io.Reader, *wire.Limits) ([]byte, error)
	mistake error // of the caller, which Server.Run returns

	// refuse returns a review that says why a request is invalid. Its UID is empty if that of the request can't be read.
	// The body is nil if err is from reading it.
	refuse func(body io.Reader, limits *wire.Limits, err error, code int) []byte
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send reviews with POST", http.StatusMethodNotAllowed)
		return
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != wire.MediaTypeJSON {
		const code = http.StatusUnsupportedMediaType
		err := errors.New("send reviews as " + wire.MediaTypeJSON)
		h.invalid(w, r, err, code, h.refuse(r.Body, h.opts.Limits, err, code))
		return
	}
	body, err := h.safely(w, r)
	if err == nil {
		h.send(w, r, body)
		return
	}
	_, tooLarge := errors.AsType[*wire.TooLargeError](err)
	limited, _ := errors.AsType[*bodyError](err)
	if limited != nil && limited.busy {
		w.Header().Set("Retry-After", "1") // API servers send the request again until their timeout
		h.invalid(w, r, limited, http.StatusTooManyRequests, nil)
	} else if tooLarge || limited != nil {
		discard(r.Body)
		const code = http.StatusRequestEntityTooLarge
		h.invalid(w, r, err, code, h.refuse(nil, nil, err, code))
	} else if _, ok := errors.AsType[*refusedError](err); ok {
		h.invalid(w, r, err, http.StatusBadRequest, h.refuse(nil, nil, err, http.StatusBadRequest))
	} else {
		h.invalid(w, r, err, http.StatusInternalServerError, nil)
	}
}

// invalid responds to a request without a valid review, with a review if there is one.
func (h *handler) invalid(w http.ResponseWriter, r *http.Request, err error, code int, review []byte) {
	h.opts.Logger.WarnContext(r.Context(), "the review has failed", "path", r.URL.Path, "err", err)
	if review != nil {
		h.send(w, r, review)
		return
	}
	http.Error(w, err.Error(), code)
}

func (h *handler) send(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	if _, err := w.Write(body); err != nil { // the API server has closed the connection
		h.opts.Logger.WarnContext(r.Context(), "can't send the response", "path", r.URL.Path, "err", err)
	}
}

var errPanic = errors.New("the webhook panicked, see its log")

// safely calls the handler function and returns a panic as an error. The panic is only logged: its value may be secret.
func (h *handler) safely(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Logger.ErrorContext(r.Context(), "panic", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			if m, ok := w.(*meteredWriter); ok {
				m.panicked = true
			}
			err = errPanic
		}
	}()
	return h.respond(r.Context(), r.Body, h.opts.Limits)
}
