// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import "k8s.io/apimachinery/pkg/version"

// CompareVersions orders the versions of an API by how much one may rely on them, as servers do: v2 after v1, both
// after v2beta1 and v1beta3, these after v9alpha1, and that after every name of another form, such as "foo10". Names of
// another form are in the reverse order of the alphabet: "foo1" is preferred to "foo10". It returns a positive number
// when a is to be preferred to b, so that slices.MaxFunc finds the best. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority.
func CompareVersions(a, b string) int { return version.CompareKubeAwareVersionStrings(a, b) }
