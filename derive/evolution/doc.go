// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package evolution tells what a new CustomResourceDefinition breaks that its predecessor has allowed.
//
// Use it, or the command kube-derive diff that is made of it, to look at a definition before it is released:
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
// prints, one line a change:
//
//	breaking documents.docs.example.com/v1.spec.title:maxLength: was 80, is 40: writers of other values are refused; …
//
// # What is compared
//
// Everything that decides what the server does: names and scope; versions, which of them are served and stored, their
// conversion, subresources, columns and selectable fields; and for each version every field of the schema with its type,
// bounds, patterns, enums, defaults, rules, and how apply merges it. Documentation is not looked at. A definition that
// two releases share is never a change, whatever one may think of it.
//
// # Severity
//
// [Breaking] is what makes a request fail that worked, or loses data. [Risky] is what goes on working, but in another way:
// a changed default, a list that apply merges differently, a column that a script may look for. [Compatible] is the rest,
// listed for changelogs. Why says whom it concerns: stored objects, those who write, or those who read.
//
// From Kubernetes 1.30 on, servers let a stored value pass that does not fit a tighter schema, until somebody changes it;
// this is called ratcheting. The value that counts is the one that the rule is about: for required and oneOf, that is the whole
// object, and for what is in a list without keys, it is the list. Rules with oldSelf always hold. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting.
//
// # Changes on purpose
//
// [Accept] removes the changes that are meant from a list. A pattern that matches none is an error, so that lists of
// accepted changes don't outlive their reason.
//
// # Concurrency
//
// Functions may be called from many goroutines at once.
package evolution
