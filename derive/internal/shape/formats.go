// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// CheckFormat returns an error for a format that applies to a type other than typ, and for a probable misspelling of a
// known format. An empty typ means any type. Unknown formats are valid; servers do not check them.
func CheckFormat(format, typ string) error {
	formats := map[string][]string{
		"string": {
			"bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email", "hexcolor", "hostname",
			"ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name", "mac", "password", "rgbcolor", "ssn",
			"uri", "uuid", "uuid3", "uuid4", "uuid5",
		},
		"integer": {"int32", "int64"},
		"number":  {"float", "double", "int32", "int64"},
	}
	if typ == "" || slices.Contains(formats[typ], format) {
		return nil
	}
	for _, other := range []string{"string", "number"} {
		if slices.Contains(formats[other], format) {
			return fmt.Errorf("format %s applies to %s, but the type is %s", format, plural(other), structural.Article(typ))
		}
	}
	if near := suggest.Nearest(format, formats[typ]); near != "" {
		return fmt.Errorf("unknown format %q; did you mean %q?", format, near)
	}
	return nil
}

// CheckBound returns an error for a bound of numbers that servers can't convert to the format of the values: they read
// bounds as floating-point numbers, and reject every value if the conversion fails.
func CheckBound(n json.Number, typ, format string) error {
	bound, err := n.Float64()
	text := strconv.FormatFloat(bound, 'f', -1, 64)
	switch {
	case err != nil:
	case typ == "integer" && format == "int32":
		_, err = strconv.ParseInt(text, 10, 32)
	case typ == "integer":
		format = cmp.Or(format, "int64")
		_, err = strconv.ParseInt(text, 10, 64)
	case typ == "number" && format == "float":
		_, err = strconv.ParseFloat(text, 32)
	}
	if err == nil {
		return nil
	}
	read := n.String() + " is"
	if text != n.String() {
		read = fmt.Sprintf("servers read %s as %s, which is", n, text)
	}
	return fmt.Errorf("%s outside of the format %s, so servers reject every value: remove it, or use a bound within the "+
		"format", read, cmp.Or(format, "double"))
}
