// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// statusError returns the response of the server to an error: an error without a status is an internal one.
func statusError(err error) error {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		result := &core.StatusError{Status: status.ErrStatus}
		// The order of the managers of conflicts is random.
		slices.SortStableFunc(result.Causes(), func(a, b metav1.StatusCause) int {
			return cmp.Compare(a.Message, b.Message)
		})
		return result
	}
	return &core.StatusError{Status: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: err.Error(),
	}}
}

func badRequest(message string) error {
	return statusError(apierrors.NewBadRequest(message))
}
