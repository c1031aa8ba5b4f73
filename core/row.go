// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Row is an object as a row of a table, which the server makes for people: the cells that kubectl get prints, and the
// metadata of the object. See client.API.Rows, and
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
type Row struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Columns describe the cells. Those with a priority other than 0 are for wide tables.
	Columns []metav1.TableColumnDefinition `json:"columns"`

	// Cells has a value for each column: a string, int64, float64, bool, nil, or a list or map of them. Ages such as "5m"
	// are those at the time of the response.
	Cells []any `json:"cells"`
}
