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
		want   string // the error, "" for none
	}{
		{"a format of texts", "date-time", "string", ""},
		{"a format of whole numbers", "int64", "integer", ""},
		{"a format of numbers", "double", "number", ""},
		{"a format that is documentation", "semantic-version", "string", ""},
		{"any value", "email", "", ""},
		{"a text format for a number", "email", "integer", "email is a format of texts; this is an integer"},
		{"a text format for a list", "email", "array", "email is a format of texts; this is an array"},
		{"a number format for a text", "int32", "string", "int32 is a format of numbers; this is a string"},
		{"a fraction for a whole number", "double", "integer", "double is a format of numbers; this is an integer"},
		{"a misspelling", "datetme", "string", `servers know no format "datetme"; did you mean "datetime"?`},
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

// What CheckFormat takes for known is what package value, which is held to real servers, checks values against.
func TestKnownFormatsAreThoseOfServers(t *testing.T) {
	for format, typ := range map[string]string{
		"bsonobjectid": "string", "byte": "string", "cidr": "string", "creditcard": "string", "date": "string", "date-time": "string",
		"duration": "string", "email": "string", "hexcolor": "string", "hostname": "string", "ipv4": "string", "ipv6": "string",
		"isbn": "string", "isbn10": "string", "isbn13": "string", "k8s-long-name": "string", "k8s-short-name": "string",
		"mac": "string", "password": "string", "rgbcolor": "string", "ssn": "string", "uri": "string", "uuid": "string",
		"uuid3": "string", "uuid4": "string", "uuid5": "string", "datetime": "string",
		"int32": "integer", "int64": "integer", "float": "number", "double": "number",
	} {
		if !value.KnownFormat(&openapi.Schema{Type: typ, Format: format}) {
			t.Errorf("servers don't check %s against %s", typ, format)
		}
		if err := shape.CheckFormat(format, typ); err != nil {
			t.Error(err)
		}
		if err := shape.CheckFormat(format, "boolean"); err == nil {
			t.Errorf("%s is not known", format)
		}
	}
}
