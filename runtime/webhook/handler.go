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

	// Logger logs reviews that fail. Default: that of the [Server] to which the handler is added, or else [slog.Default].
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
			resp := conversion.Convert(req, convert)
			out, err := resp.Encode(req)
			if err == nil && resp.Err != nil {
				err = &failedError{resp.Err, http.StatusInternalServerError}
			}
			return out, err
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
	return newAdmission(func(ctx context.Context, req *admission.Request) (*admission.Response, error) {
		return review(ctx, req), nil
	}, o)
}

// newAdmission returns a handler that reviews requests with review. Its error is that of a request that it can't review
// and the response denies.
func newAdmission(
	review func(context.Context, *admission.Request) (*admission.Response, error), o *HandlerOptions,
) *handler {
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
			resp, failure := review(ctx, req)
			if resp == nil {
				return nil, errors.New("the admission callback returned nil: return a response")
			}
			out, err := resp.Encode(req)
			switch code := codeOf(resp); {
			case err != nil:
			case failure != nil:
				err = &failedError{failure, code}
			case code >= http.StatusInternalServerError: // others are decisions of the callback
				err = &failedError{errors.New(resp.Status.Message), code}
			}
			return out, err
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

// codeOf returns the code of a response that denies a request, and 0 for one that does not.
func codeOf(resp *admission.Response) int {
	if resp.Allowed || resp.Status == nil {
		return 0
	}
	return int(resp.Status.Code)
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
	return opts
}

// discard reads the rest of a body that is too large, up to a limit, because a client that still sends may not read the
// response.
func discard(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 16<<20) }

// refusedError is the error of an invalid request.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// failedError is the error of a valid review that has failed, for which there is a response.
type failedError struct {
	err  error
	code int
}

func (e *failedError) Error() string { return e.err.Error() }
func (e *failedError) Unwrap() error { return e.err }

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
		h.fail(w, r, err, code, h.refuse(r.Body, h.opts.Limits, err, code))
		return
	}
	body, err := h.safely(w, r)
	if err == nil {
		h.send(w, r, body)
		return
	}
	if failed, ok := errors.AsType[*failedError](err); ok { // its cause may be one of the errors below
		h.fail(w, r, failed, failed.code, body)
		return
	}
	_, tooLarge := errors.AsType[*wire.TooLargeError](err)
	limited, _ := errors.AsType[*bodyError](err)
	if limited != nil && limited.busy {
		w.Header().Set("Retry-After", "1") // API servers send the request again until their timeout
		h.fail(w, r, limited, http.StatusTooManyRequests, nil)
	} else if tooLarge || limited != nil {
		discard(r.Body)
		const code = http.StatusRequestEntityTooLarge
		h.fail(w, r, err, code, h.refuse(nil, nil, err, code))
	} else if _, ok := errors.AsType[*refusedError](err); ok {
		h.fail(w, r, err, http.StatusBadRequest, h.refuse(nil, nil, err, http.StatusBadRequest))
	} else {
		h.fail(w, r, err, http.StatusInternalServerError, nil)
	}
}

// logger returns the logger of the options, or the default one.
func (h *handler) logger() *slog.Logger {
	if h.opts.Logger == nil {
		return slog.Default()
	}
	return h.opts.Logger
}

// fail responds to a request that has failed, with a review if there is one, whose HTTP status is 200.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error, code int, review []byte) {
	h.logger().WarnContext(r.Context(), "the review has failed", "path", r.URL.Path, "err", err)
	if review == nil {
		http.Error(w, err.Error(), code)
		return
	}
	h.send(w, r, review)
	if m, ok := w.(*meteredWriter); ok {
		m.code = code
	}
}

func (h *handler) send(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", wire.MediaTypeJSON)
	if _, err := w.Write(body); err != nil { // the API server has closed the connection
		h.logger().WarnContext(r.Context(), "can't send the response", "path", r.URL.Path, "err", err)
	}
}

var errPanic = errors.New("the webhook panicked, see its log")

// safely calls the handler function and returns a panic as an error. The panic is only logged: its value may be secret.
func (h *handler) safely(w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.logger().ErrorContext(r.Context(), "panic", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			if m, ok := w.(*meteredWriter); ok {
				m.panicked = true
			}
			err = errPanic
		}
	}()
	return h.respond(r.Context(), r.Body, h.opts.Limits)
}
