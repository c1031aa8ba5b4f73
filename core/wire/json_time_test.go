// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
)

// FuzzTimesAreDecodedByTheirRules compares times with those that their own methods decode.
func FuzzTimesAreDecodedByTheirRules(f *testing.F) {
	for _, seed := range []string{
		`null`, `""`, `1`, `{}`, `[]`, `true`, `"`, `"x"`,
		`"2026-11-23T14:18:41Z"`, `"2026-11-23T14:18:41+01:00"`, `"2026-11-23T14:18:41-23:59"`, `"2026-11-23t14:18:41z"`,
		`"2026-11-23T14:18:41.5Z"`, `"2026-11-23T14:18:41,5Z"`, `"2026-11-23T1:18:41Z"`, `"2026-11-23T14:18:60Z"`,
		`"2026-11-23T14:18:41.123456Z"`, `"2026-11-23T14:18:41.123456+01:00"`, `"2026-11-23T14:18:41.1234567Z"`,
		`"2026-11-23T14:18:41.123456"`, `"2026-11-23T14:18:41.12345Z"`, `"2026-11-23T14:18:41,123456Z"`,
		`"2026-02-30T00:00:00Z"`, `"2026-11-23T24:00:00.000000Z"`, `"0000-01-01T00:00:00Z"`, `"2026-11-23T14:18:41+24:00"`,
		`"2026-11-23T14:18:41+01:60"`, `"\u0032026-11-23T14:18:41Z"`, `"2026-11-23T14:18:41Z "`, ` "2026-11-23T14:18:41Z"`,
	} {
		f.Add([]byte(seed))
	}
	type times struct {
		Time  metav1.Time      `json:"time"`
		Micro metav1.MicroTime `json:"micro"`
		Ptr   *metav1.Time     `json:"ptr"`
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if !json.Valid(value) {
			return
		}
		for _, field := range []string{"time", "micro", "ptr"} {
			data := []byte(`{"` + field + `":` + string(value) + `}`)
			old := times{Time: metav1.Unix(1, 2), Micro: metav1.NewMicroTime(metav1.Unix(3, 4).Time)}
			got, want := old, old
			gotErr, wantErr := wire.UnmarshalJSON(data, &got), json.Unmarshal(data, &want)
			if (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s: error %v, want %v", data, gotErr, wantErr)
			}
			if gotErr == nil && (got.Time != want.Time || got.Micro != want.Micro || (got.Ptr == nil) != (want.Ptr == nil) ||
				got.Ptr != nil && *got.Ptr != *want.Ptr) {
				t.Errorf("%s: %v, want %v", data, got, want)
			}
		}
	})
}
