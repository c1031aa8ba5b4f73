// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"github.com/kube-go/sdk/derive/internal/marker"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// Rule converts the arguments of a marker.
func Rule(args marker.Args) structural.Rule {
	r := structural.Rule{
		Rule:              args.String("rule"),
		Message:           args.String("message"),
		MessageExpression: args.String("messageExpression"),
		Reason:            args.String("reason"),
		FieldPath:         args.String("fieldPath"),
	}
	if args.Has("optionalOldSelf") {
		r.OptionalOldSelf = new(args.Bool("optionalOldSelf", false))
	}
	return r
}
