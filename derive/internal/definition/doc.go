// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition validates CustomResourceDefinitions, and returns the error messages of the API server.
//
// As in the server's responses, spec.validation is the schema of all versions if they have the same schema. The same
// applies to spec.subresources and spec.additionalPrinterColumns.
package definition
