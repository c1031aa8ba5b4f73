// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package evolution finds incompatible changes between two releases of a CustomResourceDefinition.
//
// Use it, or the command kube-derive diff, to check a definition before its release:
//
//	changes, err := evolution.Compare(before, after)
//	if err != nil {
//		return err
//	}
//	for _, c := range changes {
//		if c.Severity > evolution.Compatible {
//			fmt.Println(c)
//		}
//	}
//
// prints one line per change:
//
//	breaking documents.docs.example.com/v1.spec.title:maxLength: 80 → 40: writes with invalid values are rejected; …
//
// # What is compared
//
// Everything that affects the server's behavior: names and scope; versions, their served and storage flags, conversion,
// subresources, columns and selectable fields; and for each version every field of the schema with its type, bounds,
// patterns, enums, defaults, validation rules and merge strategy. Descriptions are not compared. A property that is
// unchanged is never reported, even if it is bad practice.
//
// # Severity
//
// After a [Breaking] change, requests that succeeded fail, or data is lost. After a [Risky] change, requests succeed
// with other results: a changed default, a list that apply merges differently, a column that a script may parse. All
// other changes are [Compatible]; they are listed for changelogs. The field Why describes the effect on stored objects,
// writers or readers.
//
// Since Kubernetes 1.30, an API server accepts a stored value that violates a stricter schema until the value changes.
// This is called ratcheting. The value is the one that the keyword applies to: required and oneOf apply to the whole
// object, and keywords inside a list without keys to the whole list. Rules with oldSelf are always checked. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting.
//
// # Intended changes
//
// [Accept] removes intended changes from a list. A pattern without a match is an error, so that lists of accepted
// changes do not become outdated.
//
// # Concurrency
//
// Functions are safe for concurrent use.
package evolution
