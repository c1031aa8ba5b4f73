// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons a server gives for saying no. A [*StatusError] matches exactly one of them through errors.Is, or none
// when its reason is not a standard one and its code says nothing either.
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

// StatusError is an answer of the server that is not a success. It says what the server said; whatever the client adds
// (the verb, the object) is wrapped around it.
type StatusError struct {
	// Status is the server's response. For a response that is not a Status object, Code is the HTTP status code and
	// Message the start of the body, in one line; Reason is AlreadyExists for a 409 to a create, and empty otherwise.
	Status metav1.Status

	// Body is an answer that was not a Status object, or its start: such as a report on health, or what a pod answers
	// through a proxy. The client keeps at most 64 KiB. It is in no text of the error.
	Body []byte `json:"-"`

	// RetryAfter is how long the server asks to wait, zero when it does not ask.
	RetryAfter time.Duration
}

// Error returns the reason with the server's message, at most 16 KiB of it, without what could drive a terminal.
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

// A server that finds hundreds of fields wrong says so in less; all of what it says stays in the Status.
const longestMessage = 16 << 10

// printable drops control characters but for line breaks and tabs.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// Causes returns the causes that the server gives, such as each field of an object that is invalid. They belong to the
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

// sentinel follows the rule that the reason decides, and the code only when the reason is not a known one.
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

// CauseOf returns the first cause of a type that the server gives for its answer, such as
// metav1.CauseTypeResourceVersionTooLarge, or "NamespaceTerminating" when something is to be created in a namespace that
// is about to go.
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

// RetryAfter returns how long to wait before the request is tried again, if the server asked for a wait. It is at most
// five minutes, whatever was asked, so that one wrong answer holds nobody up for good; what was asked stays in the
// [StatusError].
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

// An API server that is busy asks for a second or some; this leaves room for a proxy that is being worked on.
const longestRetryAfter = 5 * time.Minute

// IsRetryable reports whether the same request may succeed when it is sent again later. That is so when the connection
// broke, and for these responses:
//
//   - [ErrTooManyRequests], [ErrInternal], [ErrServerTimeout], [ErrTimeout] and [ErrUnavailable];
//   - of those that match no sentinel, code 408 and the codes from 500 on except 501.
//
// All other responses, such as 401, 403, 404, 409, 413 and 422, repeat until the request, the object or the rights
// change. They are not retryable even when they carry a Retry-After; see [RetryAfter] for its value. After a
// conflict, read the object again first. IsRetryable does not know whether sending the request twice does harm.
func IsRetryable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
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

// isNetworkError recognises *net.OpError and its relatives by their shape, since this package knows no sockets.
func isNetworkError(err error) bool {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // it has the shape whatever it wraps
	}
	if isAlert(err) {
		return false
	}
	_, ok := errors.AsType[interface {
		error
		Temporary() bool
		Timeout() bool
	}](err)
	return ok
}

// isAlert recognises the alert by which a peer ends a TLS handshake, as when it does not like the client's certificate. It
// comes in a *net.OpError, but will come again. Package crypto/tls has two types for it, and exports one.
func isAlert(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if t := reflect.TypeOf(err); t.PkgPath() == "crypto/tls" && t.Kind() == reflect.Uint8 {
			return true
		}
	}
	return false
}
