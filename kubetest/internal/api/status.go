// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
)

// unsupported returns the error for a request that a real server supports and this one does not.
func unsupported(what string) error {
	return &core.StatusError{Status: metav1.Status{
		Code: http.StatusNotImplemented, Reason: metav1.StatusReasonUnknown,
		Message: "kubetest does not support " + what + ": use a real cluster",
	}}
}

// errNoGroup is the error for a version of a group that the server does not have. It is sent as text.
var errNoGroup = errors.New("404 page not found")

// noPath returns the error for a path that the server does not have.
func noPath() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "", 0, false)
}

// notAllowed returns the error for a method that a path does not have.
func notAllowed() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}

// failure returns the error that a server sends for an error that has no reason.
func failure(text string) error {
	return &core.StatusError{Status: metav1.Status{Code: http.StatusInternalServerError, Message: text}}
}

// statusOf returns the Status of an error.
func statusOf(err error) *metav1.Status {
	var status metav1.Status
	if e, ok := errors.AsType[*core.StatusError](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[*apierrors.StatusError](err); ok {
		status = e.ErrStatus
	} else {
		status = metav1.Status{Code: http.StatusInternalServerError, Message: err.Error()}
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status = metav1.StatusFailure
	return &status
}

// RespondError sends an error.
func RespondError(w http.ResponseWriter, err error) {
	if errors.Is(err, errNoGroup) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	respond(w, int(status.Code), status)
}

// respond sends a body in JSON.
func respond(w http.ResponseWriter, code int, body any) { respondAs(w, code, body, "application/json") }

// respondAs sends a body in JSON with a media type. An error of the connection needs no handling, since the client sees
// it, too.
func respondAs(w http.ResponseWriter, code int, body any, mediaType string) {
	data, err := json.Marshal(body)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
