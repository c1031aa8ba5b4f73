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

// The files of testdata were written by a server: tests/e2e runs the same rows against one, and writes what it answers
// when it is run with -record.

// definitionRow is a definition with what the server says of it.
type definitionRow struct {
	Name       string         `json:"name"`
	Definition map[string]any `json:"definition"`
	Answer     answer         `json:"answer"`
	Differs    string         `json:"differs"`
}

// objectRow is an object, or a change of one, with what the server says of it; or the definition of those that follow.
type objectRow struct {
	Definition map[string]any `json:"definition"`
	Verb       string         `json:"verb"`
	Object     map[string]any `json:"object"`
	Old        map[string]any `json:"old"`
	Answer     answer         `json:"answer"`
	Differs    string         `json:"differs"`
}

type answer struct {
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

// said returns an answer in a form that can be compared: without the texts where they are known to differ.
func said(reason metav1.StatusReason, causes []metav1.StatusCause, texts bool) answer {
	a := answer{Reason: reason}
	for _, c := range causes {
		c.Message = regexp.MustCompile(`selfType\d*`).ReplaceAllString(c.Message, "selfType")
		if !texts {
			c.Message = ""
		}
		a.Causes = append(a.Causes, c)
	}
	slices.SortFunc(a.Causes, func(x, y metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Message, y.Message))
	})
	return a
}

// TestDefinitionsAsRecorded promises the server's verdict, and its causes, for all definitions of which it is known.
func TestDefinitionsAsRecorded(t *testing.T) {
	rows := readRows[definitionRow](t, "definitions.jsonl")
	if len(rows) < 200 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			problems := validation.Check(&unstructured.Unstructured{Object: row.Definition})
			if row.Answer.Reason == "" || row.Answer.Reason == metav1.StatusReasonBadRequest {
				if (len(problems) == 0) != (row.Answer.Reason == "") {
					t.Fatalf("Check = %v, the server says %q", problems, row.Answer.Reason)
				}
				return
			}
			var causes []metav1.StatusCause
			for _, p := range problems {
				causes = append(causes, metav1.StatusCause{Type: p.Reason, Field: p.Field, Message: p.Message})
			}
			want := said(metav1.StatusReasonInvalid, row.Answer.Causes, row.Differs == "")
			if diff := gocmp.Diff(want, said(metav1.StatusReasonInvalid, causes, row.Differs == "")); diff != "" {
				t.Errorf("-server +Check:\n%s", diff)
			}
		})
	}
}

// TestObjectsAsRecorded promises the server's verdict, and its causes, for all objects of which it is known.
func TestObjectsAsRecorded(t *testing.T) {
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
		err := row.ask(v)
		if row.Answer.Reason == "" {
			if err != nil {
				t.Errorf("row %d: %s of %v = %v, the server says nothing", i, row.Verb, row.Object, err)
			}
			continue
		}
		status, ok := errors.AsType[*core.StatusError](err)
		if !ok {
			t.Errorf("row %d: %s of %v = %v, the server says %v", i, row.Verb, row.Object, err, row.Answer)
			continue
		}
		want := said(row.Answer.Reason, row.Answer.Causes, row.Differs == "")
		if diff := gocmp.Diff(want, said(status.Status.Reason, status.Causes(), row.Differs == "")); diff != "" {
			t.Errorf("row %d: %s of %v: -server +validator:\n%s", i, row.Verb, row.Object, diff)
		}
		if row.Answer.Text != "" && row.Answer.Text != status.Status.Message {
			t.Errorf("row %d: message = %q, the server says %q", i, status.Status.Message, row.Answer.Text)
		}
	}
}

func (r objectRow) ask(v *validation.Validator) error {
	switch r.Verb {
	case "update":
		return v.Update(r.Object, r.Old)
	case "status":
		return v.UpdateStatus(r.Object, r.Old)
	}
	return v.Create(r.Object)
}
