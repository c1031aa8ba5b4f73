// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"slices"

	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// CheckFormat reports a format that servers know of another type than that of the value, "" being any, and one that looks
// like a misspelling of one that they know. All others are documentation, which servers keep and don't check.
func CheckFormat(format, typ string) error {
	about := map[string][]string{
		"string": {
			"bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email", "hexcolor", "hostname",
			"ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn",
			"uri", "uuid", "uuid3", "uuid4", "uuid5",
		},
		"integer": {"int32", "int64"},
		"number":  {"float", "double", "int32", "int64"},
	}
	if typ == "" || slices.Contains(about[typ], format) {
		return nil
	}
	for _, other := range []string{"string", "number"} {
		if slices.Contains(about[other], format) {
			return fmt.Errorf("%s is a format of %s; this is %s", format, plural(other), structural.Article(typ))
		}
	}
	if near := suggest.Nearest(format, about[typ]); near != "" {
		return fmt.Errorf("servers know no format %q; did you mean %q?", format, near)
	}
	return nil
}
