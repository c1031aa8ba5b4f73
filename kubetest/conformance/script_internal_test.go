// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScriptsAreWrittenAsTheyAreRead checks all scripts, and that each step has a recorded response.
func TestScriptsAreWrittenAsTheyAreRead(t *testing.T) {
	err := fs.WalkDir(scripts, "scripts", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(scripts, path)
		if err != nil {
			return err
		}
		s, err := parseScript(path, string(text))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(string(text), s.String()); diff != "" {
			t.Errorf("%s (-read +written):\n%s", path, diff)
		}
		names := map[string]bool{}
		for _, part := range append([]section{s.setup}, s.cases...) {
			if names[part.name()] {
				t.Errorf("%s: two cases have the name %q", path, part.name())
			}
			names[part.name()] = true
			for _, st := range part.steps {
				if st.verb != "" && len(st.response) == 0 {
					t.Errorf("%s:%d: the step has no response", path, st.line)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestParseScriptReportsInvalidSteps(t *testing.T) {
	for in, want := range map[string]string{
		"WATCH secrets":               "x.txt:1: WATCH has 1 arguments instead of 2",
		"== A\n\nGET a\n\nEVENTS w":   "x.txt:5: EVENTS has 1 arguments instead of 2",
		"# Only a comment\n\nGET a b": "",
	} {
		_, err := parseScript("x.txt", in)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("parseScript(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBodiesAreRendered(t *testing.T) {
	const uid = "11111111-2222-3333-4444-555555555555"
	for _, tt := range []struct {
		name string
		in   string
		show []string
		want string
	}{
		{
			"equal versions have one name",
			`{"metadata":{"resourceVersion":"7","uid":"` + uid + `"},"a":{"resourceVersion":"7"}}`, nil,
			"a.resourceVersion: $rv1\nmetadata.resourceVersion: $rv1\nmetadata.uid: $uid1",
		},
		{
			"strings that look like other values have quotes",
			`{"a":"1","b":1,"c":"true","d":"x y","e":"","f":{},"g":[1.0,null]}`, nil,
			"a: \"1\"\nb: 1\nc: \"true\"\nd: x y\ne: \"\"\nf: {}\ng[0]: 1.0\ng[1]: null",
		},
		{"only prefixes that end with a name are shown", `{"ab":1,"a":{"b":2},"c":3}`, []string{"a"}, "a.b: 2"},
		{
			"a list shows the names of its items",
			`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"x"}}]}`, nil,
			"metadata.resourceVersion: $list1\nitems: x",
		},
		{
			"a list shows the selected fields of its items", `{"items":[{"a":1,"b":2},{"a":3}]}`,
			[]string{"a"},
			"- a: 1\n- a: 3",
		},
		{"a body that is not an object is shown as it is", "404 page not found\n", nil, "404 page not found"},
		{
			"managers are sorted and have no times",
			`{"metadata":{"managedFields":[{"manager":"b","time":"x"},{"manager":"a","fieldsV1":{"f:x":{}}}]}}`,
			[]string{"metadata"},
			"metadata.managedFields: a {\"f:x\":{}}\nmetadata.managedFields: b",
		},
	} {
		r := renderer{names: newNames(map[string]string{"$ns": "kt-1"}), show: tt.show}
		if diff := cmp.Diff(tt.want, strings.Join(r.body([]byte(tt.in)), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestErrorsAreRendered(t *testing.T) {
	in := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Invalid","code":422,
		"message":"X \"kt-1\" is invalid: [b: Bad: 1, a: Bad: 2]","details":{"name":"kt-1","causes":[
		{"reason":"R","field":"b","message":"Bad: 1"},{"reason":"R","field":"a","message":"Bad: 2"},
		{"reason":"R","field":"b","message":"Bad: 1"}]}}`
	r := renderer{names: newNames(map[string]string{"$ns": "kt-1"})}
	first, lines, ok := r.status(422, []byte(in))
	want := "422 Invalid\nmessage: X \"$ns\" is invalid: [<causes>]\ndetails.name: $ns\n" +
		"cause: R | a | Bad: 2\ncause: R | b | Bad: 1"
	if diff := cmp.Diff(want, first+"\n"+strings.Join(lines, "\n")); diff != "" || !ok {
		t.Errorf("status = %v (-want +got):\n%s", ok, diff)
	}
	if _, _, ok := r.status(400, []byte(in)); ok {
		t.Error("a status with another code than the response is an error")
	}
}

func TestNamesAreExpanded(t *testing.T) {
	n := newNames(map[string]string{"$ns": "kt-1"})
	n.name("$rv", "7")
	if got, want := n.expand("$ns/$rv1/$rv2/$patch"), "kt-1/7/$rv2/$patch"; got != want {
		t.Errorf("expand = %q, want %q", got, want)
	}
	got, want := n.shorten("kt-1: ResourceVersion in record (7), 7"), "$ns: ResourceVersion in record ($rv1), 7"
	if got != want {
		t.Errorf("shorten = %q, want %q", got, want)
	}
}
