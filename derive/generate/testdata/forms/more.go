// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package forms

// Green is a color, too.
const Green Color = "Green"
