// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Options of the verbs that only some kinds have.
type (
	// EvictOptions are the options of an eviction, see [request.EvictOptions].
	EvictOptions = request.EvictOptions
	// TokenOptions are the options of asking for a service account's token, see [request.TokenOptions].
	TokenOptions = request.TokenOptions
	// BoundObject is what a token is bound to, see [request.BoundObject].
	BoundObject = request.BoundObject
	// ProxyOptions are the options of a request through the API server, see [request.ProxyOptions].
	ProxyOptions = request.ProxyOptions
)

// Scale is how many replicas of something there are to be, and are, see [core.Scale].
type (
	Scale       = core.Scale
	ScaleSpec   = core.ScaleSpec
	ScaleStatus = core.ScaleStatus
)

// How much of an object comes with its row of a table, for [ListOptions.IncludeObject].
const (
	IncludeNone     = request.IncludeNone
	IncludeMetadata = request.IncludeMetadata
	IncludeAll      = request.IncludeAll
)
