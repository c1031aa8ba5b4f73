// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/validation"
)

// The files in testdata contain responses of an API server. tests/e2e sends the same requests to a server, and updates
// the files if it runs with -record.

// definitionRow is a definition with the server's response.
type definitionRow struct {
	Name       string         `json:"name"`
	Definition map[string]any `json:"definition"`
	Response   response       `json:"answer"`
	Differs    string         `json:"differs"`
}

// objectRow is a create or update of an object with the server's response, or the definition for the rows that follow.
type objectRow struct {
	Definition map[string]any `json:"definition"`
	Verb       string         `json:"verb"`
	Object     map[string]any `json:"object"`
	Old        map[string]any `json:"old"`
	Response   response       `json:"answer"`
	Differs    string         `json:"differs"`
}

type response struct {
	Reason metav1.StatusReason  `json:"reason"`
	Causes []metav1.StatusCause `json:"causes"`
	Text   string               `json:"text"`
}

// readRows reads a file of testdata.
func readRows[T any](tb testing.TB, name string) []T {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	var rows []T
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			tb.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// normalized returns a response for comparison: with sorted causes, and with messages only if messages is set.
func normalized(reason metav1.StatusReason, causes []metav1.StatusCause, messages bool) response {
	r := response{Reason: reason}
	for _, c := range causes {
		c.Message = regexp.MustCompile(`selfType\d*`).ReplaceAllString(c.Message, "selfType")
		if !messages {
			c.Message = ""
		}
		r.Causes = append(r.Causes, c)
	}
	slices.SortFunc(r.Causes, func(x, y metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
	return r
}

// TestCheckMatchesServer compares the problems of all recorded definitions with the server's responses.
func TestCheckMatchesServer(t *testing.T) {
	rows := readRows[definitionRow](t, "definitions.jsonl")
	if len(rows) < 200 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			problems := validation.Check(&unstructured.Unstructured{Object: row.Definition})
			if row.Response.Reason == "" || row.Response.Reason == metav1.StatusReasonBadRequest {
				if (len(problems) == 0) != (row.Response.Reason == "") {
					t.Fatalf("Check = %v, server's reason is %q", problems, row.Response.Reason)
				}
				return
			}
			var causes []metav1.StatusCause
			for _, p := range problems {
				causes = append(causes, metav1.StatusCause{Type: p.Reason, Field: p.Field, Message: p.Message})
			}
			want := normalized(metav1.StatusReasonInvalid, row.Response.Causes, row.Differs == "")
			if diff := gocmp.Diff(want, normalized(metav1.StatusReasonInvalid, causes, row.Differs == "")); diff != "" {
				t.Errorf("-server +Check:\n%s", diff)
			}
		})
	}
}

// TestValidatorMatchesServer compares the errors of all recorded objects with the server's responses.
func TestValidatorMatchesServer(t *testing.T) {
	rows := readRows[objectRow](t, "objects.jsonl")
	if len(rows) < 300 {
		t.Fatalf("only %d rows", len(rows))
	}
	var v *validation.Validator
	for i, row := range rows {
		if row.Definition != nil {
			var err error
			if v, err = validation.New(&unstructured.Unstructured{Object: row.Definition}, "v1", nil); err != nil {
				t.Fatal(err)
			}
			continue
		}
		err := row.validate(v)
		if row.Response.Reason == "" {
			if err != nil {
				t.Errorf("row %d: %s of %v = %v, want no error", i, row.Verb, row.Object, err)
			}
			continue
		}
		status, ok := errors.AsType[*core.StatusError](err)
		if !ok {
			t.Errorf("row %d: %s of %v = %v, want %v", i, row.Verb, row.Object, err, row.Response)
			continue
		}
		want := normalized(row.Response.Reason, row.Response.Causes, row.Differs == "")
		if diff := gocmp.Diff(want, normalized(status.Status.Reason, status.Causes(), row.Differs == "")); diff != "" {
			t.Errorf("row %d: %s of %v: -server +validator:\n%s", i, row.Verb, row.Object, diff)
		}
		if row.Response.Text != "" && row.Response.Text != status.Status.Message {
			t.Errorf("row %d: message = %q, want %q", i, status.Status.Message, row.Response.Text)
		}
	}
}

func (r objectRow) validate(v *validation.Validator) error {
	switch r.Verb {
	case "update":
		return v.Update(r.Object, r.Old)
	case "status":
		return v.UpdateStatus(r.Object, r.Old)
	}
	return v.Create(r.Object)
}
