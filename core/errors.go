// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of error responses. A [*StatusError] matches exactly one of them through errors.Is, or none if neither
// its reason nor its code is a standard one.
// See https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/.
var (
	ErrBadRequest           = errors.New("bad request")
	ErrUnauthorized         = errors.New("unauthorized")
	ErrForbidden            = errors.New("forbidden")
	ErrNotFound             = errors.New("not found")
	ErrMethodNotAllowed     = errors.New("method not allowed")
	ErrNotAcceptable        = errors.New("not acceptable")
	ErrAlreadyExists        = errors.New("already exists")
	ErrConflict             = errors.New("conflict")
	ErrGone                 = errors.New("gone")
	ErrExpired              = errors.New("expired") // the resource version or continue token is too old
	ErrTooLarge             = errors.New("request too large")
	ErrUnsupportedMediaType = errors.New("unsupported media type")
	ErrInvalid              = errors.New("invalid")
	ErrTooManyRequests      = errors.New("too many requests")
	ErrInternal             = errors.New("internal error")
	ErrServerTimeout        = errors.New("server timeout")
	ErrTimeout              = errors.New("timeout")
	ErrUnavailable          = errors.New("service unavailable")
	ErrStoreRead            = errors.New("storage read error")
)

// StatusError is an error response of the server. The client wraps it in an error that has the verb and the object.
type StatusError struct {
	// Status is the server's response. For a response that is not a Status object, Code is the HTTP status code and
	// Message the start of the body, in one line; Reason is AlreadyExists for a 409 to a create, and empty otherwise.
	Status metav1.Status

	// Body is the body of a response that is not a Status object, or its start, such as a health report or the response
	// of a pod through a proxy. The client keeps at most 64 KiB. No text of the error contains it.
	Body []byte `json:"-"`

	// RetryAfter is the delay that the server requests, or zero.
	RetryAfter time.Duration
}

// Error returns the reason and at most 16 KiB of the server's message, without control characters.
func (e *StatusError) Error() string {
	reason := fmt.Sprintf("status %d", e.Status.Code)
	if s := e.sentinel(); s != nil {
		reason = s.Error()
	}
	msg := strings.TrimSpace(strings.Map(printable, e.Status.Message))
	switch {
	case msg == "":
		return reason
	case len(msg) > longestMessage:
		msg = strings.ToValidUTF8(msg[:longestMessage], "") + "..."
	}
	return reason + ": server said: " + msg
}

// A message about hundreds of invalid fields is shorter. The Status keeps the whole message.
const longestMessage = 16 << 10

// printable removes control characters, except for line breaks and tabs.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// Causes returns the causes in the server's response, such as each invalid field of an object. The slice belongs to the
// Status.
func (e *StatusError) Causes() []metav1.StatusCause {
	if e.Status.Details == nil {
		return nil
	}
	return e.Status.Details.Causes
}

// Is makes errors.Is match the sentinel of the server's reason.
func (e *StatusError) Is(target error) bool {
	s := e.sentinel()
	return s != nil && s == target
}

// sentinel returns the sentinel of the reason, or of the code if the reason is unknown.
func (e *StatusError) sentinel() error {
	switch e.Status.Reason {
	case metav1.StatusReasonBadRequest:
		return ErrBadRequest
	case metav1.StatusReasonUnauthorized:
		return ErrUnauthorized
	case metav1.StatusReasonForbidden:
		return ErrForbidden
	case metav1.StatusReasonNotFound:
		return ErrNotFound
	case metav1.StatusReasonMethodNotAllowed:
		return ErrMethodNotAllowed
	case metav1.StatusReasonNotAcceptable:
		return ErrNotAcceptable
	case metav1.StatusReasonAlreadyExists:
		return ErrAlreadyExists
	case metav1.StatusReasonConflict:
		return ErrConflict
	case metav1.StatusReasonGone:
		return ErrGone
	case metav1.StatusReasonExpired:
		return ErrExpired
	case metav1.StatusReasonRequestEntityTooLarge:
		return ErrTooLarge
	case metav1.StatusReasonUnsupportedMediaType:
		return ErrUnsupportedMediaType
	case metav1.StatusReasonInvalid:
		return ErrInvalid
	case metav1.StatusReasonTooManyRequests:
		return ErrTooManyRequests
	case metav1.StatusReasonInternalError:
		return ErrInternal
	case metav1.StatusReasonServerTimeout:
		return ErrServerTimeout
	case metav1.StatusReasonTimeout:
		return ErrTimeout
	case metav1.StatusReasonServiceUnavailable:
		return ErrUnavailable
	case metav1.StatusReasonStoreReadError:
		return ErrStoreRead
	default:
		return sentinelOfCode(e.Status.Code)
	}
}

func sentinelOfCode(code int32) error {
	switch code {
	case 400:
		return ErrBadRequest
	case 401:
		return ErrUnauthorized
	case 403:
		return ErrForbidden
	case 404:
		return ErrNotFound
	case 405:
		return ErrMethodNotAllowed
	case 406:
		return ErrNotAcceptable
	case 409:
		return ErrConflict
	case 410:
		return ErrExpired
	case 413:
		return ErrTooLarge
	case 415:
		return ErrUnsupportedMediaType
	case 422:
		return ErrInvalid
	case 429:
		return ErrTooManyRequests
	case 500:
		return ErrInternal
	case 503:
		return ErrUnavailable
	case 504:
		return ErrTimeout
	}
	return nil
}

// CauseOf returns the first cause of a type in the server's response, such as metav1.CauseTypeResourceVersionTooLarge,
// or "NamespaceTerminating" for a create in a namespace that is being deleted.
func CauseOf(err error, t metav1.CauseType) (metav1.StatusCause, bool) {
	se, ok := errors.AsType[*StatusError](err)
	if !ok {
		return metav1.StatusCause{}, false
	}
	for _, cause := range se.Causes() {
		if cause.Type == t {
			return cause, true
		}
	}
	return metav1.StatusCause{}, false
}

// RetryAfter returns how long to wait before the request is sent again, if the server requests a delay. It is at most
// five minutes, so that one wrong response does not stop a program; the [StatusError] has the original value.
func RetryAfter(err error) (time.Duration, bool) {
	se, ok := errors.AsType[*StatusError](err)
	if !ok {
		return 0, false
	}
	asked := se.RetryAfter
	if d := se.Status.Details; asked <= 0 && d != nil {
		asked = time.Duration(d.RetryAfterSeconds) * time.Second
	}
	if asked <= 0 {
		return 0, false
	}
	return min(asked, longestRetryAfter), true
}

// A busy API server requests a few seconds. A proxy under maintenance may request more.
const longestRetryAfter = 5 * time.Minute

// IsRetryable reports whether the same request may succeed if it is sent again later. This is the case for a connection
// that can't be made or is broken, also by a timeout, and for these responses:
//
//   - [ErrTooManyRequests], [ErrInternal], [ErrServerTimeout], [ErrTimeout] and [ErrUnavailable];
//   - responses that match no sentinel, with code 408 or a code of 500 or more except 501.
//
// All other responses, such as 401, 403, 404, 409, 413 and 422, stay the same until the request, the object or the
// permissions change. They are not retryable even with a Retry-After; see [RetryAfter] for its value. After a conflict,
// read the object again first. The end of the request's context is not retryable. IsRetryable does not consider whether
// sending the request twice does harm.
func IsRetryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || deadlinePassed(err) {
		return false
	}
	if se, ok := errors.AsType[*StatusError](err); ok {
		switch se.sentinel() {
		case ErrTooManyRequests, ErrInternal, ErrServerTimeout, ErrTimeout, ErrUnavailable:
			return true
		case nil: // mostly from a proxy, such as 502, or 408 when the request took too long to arrive
			return se.Status.Code >= 500 && se.Status.Code != 501 || se.Status.Code == 408
		}
		return false
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return true
	}
	return isNetworkError(err)
}

// deadlinePassed reports whether the tree of an error contains [context.DeadlineExceeded] itself. The timeouts of net
// and net/http, such as that of a dial, match it in errors.Is although the deadline of the context has not passed.
func deadlinePassed(err error) bool {
	if err == context.DeadlineExceeded {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // walks the tree like errors.Is
	case interface{ Unwrap() error }:
		return deadlinePassed(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), deadlinePassed)
	}
	return false
}

// isNetworkError recognizes *net.OpError and similar errors by their methods, since this package must not import net.
// The errors of files, and of programs that can't be started, have the same methods and are not network errors.
func isNetworkError(err error) bool {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // it has the methods whatever it wraps
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok || isAlert(err) {
		return false
	}
	_, ok := errors.AsType[interface {
		error
		Temporary() bool
		Timeout() bool
	}](err)
	return ok
}

// isAlert recognizes the alert by which a peer ends a TLS handshake, for example because it refuses the client's
// certificate. It is wrapped in a *net.OpError, but is not temporary. Package crypto/tls has two types for it, and
// exports one.
func isAlert(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if t := reflect.TypeOf(err); t.PkgPath() == "crypto/tls" && t.Kind() == reflect.Uint8 {
			return true
		}
	}
	return false
}
