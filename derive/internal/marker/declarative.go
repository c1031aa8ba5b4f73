// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package marker

func declarativeMarkers() []definition { return nil }
