// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unmarshalTime decodes a time as its own method does, which takes five times as long.
func unmarshalTime(dec *jsontext.Decoder, t *metav1.Time) error {
	raw, err := dec.ReadValue()
	if err != nil || parseTime(raw, &t.Time) {
		return err
	}
	return t.UnmarshalJSON(raw)
}

// unmarshalMicroTime is unmarshalTime for times with six digits after the point.
func unmarshalMicroTime(dec *jsontext.Decoder, t *metav1.MicroTime) error {
	raw, err := dec.ReadValue()
	if err != nil || isMicro(raw) && parseTime(raw, &t.Time) {
		return err
	}
	return t.UnmarshalJSON(raw)
}

// parseTime parses a string in RFC 3339, and reports whether it is one.
func parseTime(raw []byte, t *time.Time) bool {
	var parsed time.Time
	if raw[0] != '"' || parsed.UnmarshalText(raw[1:len(raw)-1]) != nil {
		return false
	}
	*t = parsed.Local()
	return true
}

// isMicro reports whether the fraction of a time in RFC 3339 has six digits.
func isMicro(raw []byte) bool {
	const point, zone = len(`"2006-01-02T15:04:05`), len(`"2006-01-02T15:04:05.000000`)
	return len(raw) > zone && raw[point] == '.' && (raw[zone] == 'Z' || raw[zone] == '+' || raw[zone] == '-')
}
