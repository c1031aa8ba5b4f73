// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// format returns the format of a schema if the server validates it for the schema's type, or "".
func (c *Checker) format(s *openapi.Schema) string {
	if s.Format == "" || c.literal {
		return s.Format
	}
	types := c.types(s)
	typ := ""
	if len(types) == 1 {
		typ = types[0]
	}
	ok := false
	switch typ {
	case "", "string":
		ok = knownString(s.Format)
	case "integer":
		ok = s.Format == "int32" || s.Format == "int64"
	case "number":
		ok = s.Format == "float" || s.Format == "double"
	}
	if !ok {
		return ""
	}
	return s.Format
}

// KnownFormat reports whether servers validate the format for the schema's type.
func KnownFormat(s *openapi.Schema) bool {
	return s.Format == "" || (&Checker{}).format(s) != ""
}

// knownString reports whether a format is one of the string formats that servers validate. Dashes are ignored. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation.
func knownString(format string) bool {
	switch strings.ReplaceAll(format, "-", "") {
	case "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
		"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration",
		"datetime", "k8sshortname", "k8slongname":
		return true
	}
	return false
}

func known(format string) bool { return format != "" && strfmt.Default.ContainsName(format) }

func checkFormat(format, v, path string) result {
	if strfmt.Default.Validates(format, v) {
		return result{}
	}
	text := fmt.Sprintf("%s in body must be of type %s: %q", path, format, v)
	return failed(problemOf(path, field.ErrorTypeTypeInvalid, v, text))
}
