// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package install installs the CustomResourceDefinitions that a program needs.
//
// Use it in controllers that bring their own definitions, and in tests. Programs whose definitions are deployed by
// other means do not need it.
//
//	crd, err := core.CRD[v1.Document]()
//	if err != nil {
//		return err
//	}
//	if err := install.CRDs(ctx, c, []*unstructured.Unstructured{crd}, nil); err != nil {
//		return err
//	}
//
// When [CRDs] returns without an error, the kinds can be read, written and watched. Kinds with a conversion webhook
// need the webhook to run, too.
//
// # Downgrades
//
// An old program that starts beside a new one must not remove the new one's fields: the server would drop their values
// from every object that is written afterwards. So a definition that lacks parts of the installed one is rejected
// before any definition is written. The [*DowngradeError] lists what would be lost: versions, fields, enum values,
// subresources, selectable fields, and conversion. It also lists an object with a schema where the installed definition
// preserves unknown fields, since the server drops those that the schema does not have. Set [Options.AllowDowngrade] if
// these were removed on purpose.
//
// Servers refuse a definition without a version that status.storedVersions of the installed one has, so it is rejected
// also with AllowDowngrade. First write all objects again in another version, for which an empty patch is enough, and
// then remove the old version from status.storedVersions. The comment of command kube-derive describes these steps
// under "Moving the storage version".
//
// During the rollout of a new version of a program, the old one may be restarted. It can continue with the newer
// definition, which normally has all fields that it knows:
//
//	err := install.CRDs(ctx, c, crds, nil)
//	if _, newer := errors.AsType[*install.DowngradeError](err); err != nil && !newer {
//		return err
//	}
//
// # Permissions
//
// The program needs the verbs get, list, watch, create and patch for customresourcedefinitions of apiextensions.k8s.io,
// and list and watch for the kinds that they define.
//
// # Concurrency
//
// [CRDs] may be called concurrently by many goroutines and programs: a definition is applied only on top of the
// installed one that it was compared with.
package install
