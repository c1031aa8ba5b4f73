// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook calls the webhooks of a server: those that review requests, and those that convert objects. All of
// them are paths of one HTTP handler in the same process. [Check] finds errors in their configurations. See
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers and
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning.
package webhook
