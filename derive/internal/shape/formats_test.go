// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package shape_test

import (
	"testing"

	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/value"
)

func TestCheckFormat(t *testing.T) {
	for _, tt := range []struct {
		name   string
		format string
		typ    string
		want   string // the error, or empty
	}{
		{"a format of strings", "date-time", "string", ""},
		{"a format of integers", "int64", "integer", ""},
		{"a format of numbers", "double", "number", ""},
		{"an unknown format", "semantic-version", "string", ""},
		{"any type", "email", "", ""},
		{"a string format for an integer", "email", "integer", "format email applies to strings, but the type is an integer"},
		{"a string format for an array", "email", "array", "format email applies to strings, but the type is an array"},
		{"a number format for a string", "int32", "string", "format int32 applies to numbers, but the type is a string"},
		{"a floating-point format for an integer", "double", "integer", "format double applies to numbers, but the type is an integer"},
		{"a misspelling", "datetme", "string", `unknown format "datetme"; did you mean "datetime"?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := shape.CheckFormat(tt.format, tt.typ); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("CheckFormat(%q, %q) = %q, want %q", tt.format, tt.typ, got, tt.want)
			}
		})
	}
}

// TestKnownFormatsMatchServer checks that CheckFormat and package value know the same formats. The tests of package
// value compare its formats with an API server.
func TestKnownFormatsMatchServer(t *testing.T) {
	for format, typ := range map[string]string{
		"bsonobjectid": "string", "byte": "string", "cidr": "string", "creditcard": "string", "date": "string", "date-time": "string",
		"duration": "string", "email": "string", "hexcolor": "string", "hostname": "string", "ipv4": "string", "ipv6": "string",
		"isbn": "string", "isbn10": "string", "isbn13": "string", "k8s-long-name": "string", "k8s-short-name": "string",
		"mac": "string", "password": "string", "rgbcolor": "string", "ssn": "string", "uri": "string", "uuid": "string",
		"uuid3": "string", "uuid4": "string", "uuid5": "string", "datetime": "string",
		"int32": "integer", "int64": "integer", "float": "number", "double": "number",
	} {
		if !value.KnownFormat(&openapi.Schema{Type: typ, Format: format}) {
			t.Errorf("KnownFormat(%s, %s) = false, want true", typ, format)
		}
		if err := shape.CheckFormat(format, typ); err != nil {
			t.Error(err)
		}
		if err := shape.CheckFormat(format, "boolean"); err == nil {
			t.Errorf("CheckFormat(%q, boolean) = nil, want an error", format)
		}
	}
}
