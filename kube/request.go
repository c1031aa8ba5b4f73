// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Options of the verbs that only some kinds have.
type (
	// EvictOptions are the options of an eviction, see [request.EvictOptions].
	EvictOptions = request.EvictOptions
	// BindOptions are the options of binding a pod to a node, see [request.BindOptions].
	BindOptions = request.BindOptions
	// TokenOptions are the options of asking for a service account's token, see [request.TokenOptions].
	TokenOptions = request.TokenOptions
	// BoundObject is what a token is bound to, see [request.BoundObject].
	BoundObject = request.BoundObject
	// ProxyOptions are the options of a request through the API server, see [request.ProxyOptions].
	ProxyOptions = request.ProxyOptions
)

// The body of the scale subresource.
type (
	// Scale is how many replicas of something there are to be, and are, see [core.Scale].
	Scale = core.Scale
	// ScaleSpec is how many replicas there are to be, see [core.ScaleSpec].
	ScaleSpec = core.ScaleSpec
	// ScaleStatus is how many replicas there are, see [core.ScaleStatus].
	ScaleStatus = core.ScaleStatus
)

// How much of an object comes with its row of a table, for [ListOptions.IncludeObject].
const (
	IncludeNone     = request.IncludeNone
	IncludeMetadata = request.IncludeMetadata
	IncludeAll      = request.IncludeAll
)

// SetController makes owner the controller of an object that is about to be written, see [core.SetController].
func SetController(obj metav1.Object, owner Object) error { return core.SetController(obj, owner) }

// CauseOf returns the first cause of a type that the server gives for saying no, see [core.CauseOf].
func CauseOf(err error, t metav1.CauseType) (metav1.StatusCause, bool) { return core.CauseOf(err, t) }

// CompareVersions orders the versions of an API by how much one may rely on them, see [core.CompareVersions].
func CompareVersions(a, b string) int { return core.CompareVersions(a, b) }
