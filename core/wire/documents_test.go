// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core/wire"
)

// readDocuments returns each object as "INDEX:LINE KIND json", and the error that ended the stream.
func readDocuments(r io.Reader, limits *wire.Limits) (objects []string, err error) {
	for d, err := range wire.Documents(r, limits) {
		if err != nil {
			return objects, err
		}
		text := strings.ReplaceAll(string(d.Object.Bytes()), "\n", "")
		text = strings.TrimPrefix(text, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, d.Kind.GroupVersion(), d.Kind.Kind))
		objects = append(objects, fmt.Sprintf("%d:%d %s {%s", d.Index, d.Line, d.Kind.Kind, text))
	}
	return objects, nil
}

// as returns the start of a document of a kind.
func as(kind string) string { return "apiVersion: v1\nkind: " + kind + "\n" }

func TestDocumentsYieldsEveryObject(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string
	}{
		{"nothing", "", nil},
		{"only comments", "# a\n---\n# b\n---\n\n", nil},
		{"an explicit null", "---\nnull\n---\n~\n", nil},
		{"one document", as("A") + "a: 1\n", []string{`1:1 A {"a":1}`}},
		{"several documents", "---\n" + as("A") + "a: 1\n---\n" + as("B") + "b: 2\n", []string{`1:2 A {"a":1}`, `2:6 B {"b":2}`}},
		{"empty documents between", as("A") + "a: 1\n---\n# nothing\n---\n" + as("B") + "b: 2\n...\n", []string{`1:1 A {"a":1}`, `3:7 B {"b":2}`}},
		{"a comment beside the separator", "--- # first\n" + as("A") + "a: 1\n", []string{`1:2 A {"a":1}`}},
		{"a separator in a block", as("A") + "a: |\n  x\n  ---\n  y\n", []string{`1:1 A {"a":"x\n---\ny\n"}`}},
		{"CRLF", "apiVersion: v1\r\nkind: A\r\na: 1\r\n---\r\napiVersion: v1\r\nkind: B\r\nb: x\r\n", []string{`1:1 A {"a":1}`, `2:5 B {"b":"x"}`}},
		{"a byte order mark", "\ufeff" + as("A") + "a: 1\n", []string{`1:1 A {"a":1}`}},
		{"a version directive", "%YAML 1.1\n---\n" + as("A") + "a: 1\n", []string{`1:3 A {"a":1}`}},
		{"JSON", `{"apiVersion":"v1","kind":"A","a":1}`, []string{`1:1 A {"a":1}`}},
		{
			"JSON after JSON", "{\"apiVersion\":\"v1\",\"kind\":\"A\",\n\"a\":1}\n\n{\"apiVersion\":\"v1\",\"kind\":\"B\",\"b\":\"\\ud83d\\ude00\"}",
			[]string{`1:1 A {"a":1}`, `2:4 B {"b":"\ud83d\ude00"}`},
		},
		{"YAML after JSON", "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"a\":1}\n---\n" + as("B") + "b: 2\n", []string{`1:1 A {"a":1}`, `2:3 B {"b":2}`}},
		{"JSON with tabs", "{\n\t\"apiVersion\":\"v1\",\"kind\":\"A\",\t\"a\":1}", []string{`1:1 A {{` + "\t" + `"apiVersion":"v1","kind":"A",` + "\t" + `"a":1}`}},
		{"YAML that looks like JSON", "{apiVersion: v1, kind: A, a: 1}", []string{`1:1 A {"a":1}`}},
		{"a list", as("List") + "items:\n- " + indent(as("A")+"a: 1") + "\n- " + indent(as("B")+"b: 2") + "\n", []string{`1:4 A {"a":1}`, `1:7 B {"b":2}`}},
		{"a list of one kind", as("PodList") + "items:\n- metadata: {name: a}\n- {}\n", []string{`1:4 Pod {"metadata":{"name":"a"}}`, `1:5 Pod {{"apiVersion":"v1","kind":"Pod"}`}},
		{"a list of a kind that Go and JSON quote differently", `{"apiVersion":"v1\u0007","kind":"A\u007fList","items":[{"a":1}]}`, []string{"1:1 A\x7f {{" + `"apiVersion":"v1\u0007","kind":"A` + "\x7f" + `","a":1}`}},
		{"an empty list", as("List") + "items: []\n---\n" + as("PodList") + "items:\n", nil},
		{"a list in a list", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"AList","items":[{"a":1}]}]}`, []string{`1:1 A {"a":1}`}},
		{
			"lists over several lines",
			"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n" +
				"{\"apiVersion\":\"v1\",\"kind\":\"AList\",\"items\":[\n\n{\"a\":1},\n{\"a\":2}]},\n{\"apiVersion\":\"v1\",\"kind\":\"B\",\"b\":3}]}",
			[]string{`1:4 A {"a":1}`, `1:5 A {"a":2}`, `1:6 B {"b":3}`},
		},
		{"a kind that ends in List but is not a list", as("AllowList") + "a: 1\n", []string{`1:1 AllowList {"a":1}`}},
		{"a group", "apiVersion: apps/v1\nkind: Deployment\na: 1\n", []string{`1:1 Deployment {"a":1}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := readDocuments(r, nil)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

func TestDocumentsAreReadLikeKubectl(t *testing.T) {
	for _, in := range []string{
		"y", "N", "yes", "No", "on", "OFF", "true", "False", "y\n", "'y'", "\"on\"", "null", "~", "", "Null", "nil",
		"1", "-1", "+1", "0", "0777", "-0777", "0o17", "0x1F", "0b101", "-0b11", "1_000", "1__0", "_1", "12e3", "1e3", "1E-3", "1.", ".5", "-.5", "+.5",
		"1.0", "1.5e+3", "9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "1:30", "12:30:45",
		"2001-01-01", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43", "0x", "1e", "e1", ".", "-", "- 1", "+", "1.2.3", "08", "09.5", "0.1e", "1e400x", "inf", "-inf", "nan",
		"!!str 1", "!!int '3'", "!!float 3", "!!bool 'yes'", "!!binary aGk=", "!!null ''", "!!str", "!!timestamp 2001-01-01",
		"|\n  a\n  b\n", ">-\n  a\n  b\n", "'it''s'", "\"a\\u00e9\\n\"", "a b", "a: b", "0999", "-08", "09_9", "[1, a, {b: on}]", "{a: [], b: {}}", "&x [1]", "[&x a, *x]",
		"{1: a, 2.5: b, on: c, 'x': d}", "{<<: {a: 1}, b: 2}", "{<<: [{a: 1}, {a: 2, c: 3}], b: 2}",
	} {
		want, err := yaml.YAMLToJSON([]byte("v: " + indent(in)))
		if err != nil {
			want = []byte("error")
		}
		got := "error"
		for d, err := range wire.Documents(strings.NewReader("apiVersion: v1\nkind: A\nv: "+indent(in)), nil) {
			if err == nil {
				var object map[string]json.RawMessage
				if err := json.Unmarshal(d.Object.Bytes(), &object); err != nil {
					t.Fatalf("%q: %v in %s", in, err, d.Object.Bytes())
				}
				got = `{"v":` + strings.ReplaceAll(string(object["v"]), "\n", "") + `}`
			}
		}
		if !sameJSON(t, got, string(want)) {
			t.Errorf("v: %s\nis %s, want %s", in, got, want)
		}
	}
}

// sameJSON reports whether two JSON texts are equal except for the order of names.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	if a == "error" || b == "error" {
		return a == b
	}
	var x, y any
	for s, v := range map[string]*any{a: &x, b: &y} {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(v); err != nil {
			t.Fatalf("%v in %s", err, s)
		}
		if a == b {
			return true
		}
	}
	return cmp.Equal(x, y)
}

func TestDocumentsRejectsInvalidInput(t *testing.T) {
	deep := strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 10) + strings.Repeat("]}", 10)
	var bomb strings.Builder
	bomb.WriteString(as("A") + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	long := as("A") + "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ", 100), ", ") + "]\n"
	tests := []struct {
		name, in  string
		doc, line int
		want      string
	}{
		{"a duplicate name", as("A") + "a: 1\nb: 2\na: 3\n", 1, 5, "a is in line 3 already"},
		{"a duplicate name in JSON", "{\"apiVersion\":\"v1\",\n\"kind\":\"A\",\n\"kind\":\"B\"}", 1, 3, "kind is there twice: remove one"},
		{"a duplicate name in text that is valid only as JSON", "{\"a\":\"\\/\",\n\"a\":[{}]}", 1, 2, "a is there twice: remove one"},
		{"a duplicate name, once as a number", as("A") + "v: {1: a, '1': b}", 1, 3, `1 is in line 3 already`},
		{"an integer too large", as("A") + "a: 18446744073709551616\n", 1, 3, "does not fit 64 bits; put it in quotes"},
		{"a number too large", as("A") + "a: 1e400\n", 1, 3, "does not fit 64 bits"},
		{"infinity", as("A") + "\na: -.inf\n", 1, 4, "not finite"},
		{"not a number", as("A") + "a: .NaN\n", 1, 3, "not finite"},
		{"no kind", as("A") + "---\n\napiVersion: v1\n", 2, 5, "apiVersion and kind must be set"},
		{"no apiVersion", "kind: A", 1, 1, "apiVersion and kind must be set"},
		{"a kind that is not a string", "apiVersion: v1\nkind: 7\n", 1, 1, "apiVersion and kind must be set"},
		{"an invalid apiVersion", "apiVersion: a/b/c\nkind: A\n", 1, 1, "VERSION or GROUP/VERSION"},
		{"a string", "hello", 1, 1, "want an object"},
		{"an array", "[1]", 1, 1, "want an object"},
		{"an array in JSON after an object", `{"apiVersion":"v1","kind":"A"}` + "\n[1]", 2, 2, "want an object"},
		{"a syntax error", as("A") + "a: b\n c: d\n", 1, 4, "yaml: "},
		{"a syntax error in JSON", `{"apiVersion":"v1","kind":"A" "a":1}`, 1, 1, "yaml: did not find expected"},
		{"a tab", as("A") + "a:\n\tb: c\n", 1, 4, "yaml: "},
		{"an item that is not an object", as("List") + "items:\n- 1\n", 1, 4, "want an object as item"},
		{"an item without a kind", as("List") + "items:\n- apiVersion: v1\n", 1, 4, "apiVersion and kind must be set"},
		{"lists nested deeply", deep, 1, 1, "nested more than 8 deep"},
		{"a complex name", as("A") + "? [a]\n: b\n", 1, 3, "a name must be a string"},
		{"a null name", as("A") + "~: b\n", 1, 3, "a name must be a string, not null"},
		{"a tag that does not fit", as("A") + "a: !!int x\n", 1, 3, "the value is not a valid !!int"},
		{"an unknown tag", as("A") + "a: !secret x\n", 1, 3, "the tag !secret is unknown: remove it"},
		{"a binary that is not text", as("A") + "a: !!binary gIE=\n", 1, 3, "!!binary takes text in base64"},
		{"a merge of a string", as("A") + "<<: b\n", 1, 3, "<< takes a mapping"},
		{"an unknown anchor", as("A") + "a: *b\n", 1, 0, "a value that begins with * is not the name of an anchor: put it in quotes"},
		{"an anchor within itself", as("A") + "a: &a [*a]\n", 1, 3, "within its own anchor"},
		{"a merge within itself", as("A") + "a: &a {<<: *a}\n", 1, 3, "within its own anchor"},
		{"an expansion of aliases", bomb.String(), 1, 8, "aliases stand for more than"},
		{"an expansion of long strings", long, 1, 4, "larger than the limit of 16777216 bytes"},
		{"deep nesting", as("A") + "a: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), 1, 3, "nest deeper than 1000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readDocuments(strings.NewReader(tt.in), nil)
			doc, ok := errors.AsType[*wire.DocumentError](err)
			if !ok || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Documents = %v, want a DocumentError with %q", err, tt.want)
			}
			if doc.Index != tt.doc || doc.Line != tt.line {
				t.Errorf("the error is in document %d, line %d; want %d, %d: %v", doc.Index, doc.Line, tt.doc, tt.line, err)
			}
		})
	}
}

func TestDocumentsReturnsTheErrorOfTheReader(t *testing.T) {
	for _, in := range []string{"", as("A"), as("A") + "---\n", `{"apiVersion":"v1"`, `{"apiVersion":"v1","kind":"A"}`} {
		_, err := readDocuments(io.MultiReader(strings.NewReader(in), failingReader{}), nil)
		if !errors.Is(err, errBroken) {
			t.Errorf("Documents of %q and a broken stream = %v, want %v", in, err, errBroken)
		}
	}
}

func TestSizeOfADocumentIsBounded(t *testing.T) {
	for name, start := range map[string]string{
		"YAML": as("A") + "a: ", "JSON": `{"a":"`, "a comment": "# ", "a key": "", "YAML after JSON": `{"apiVersion":"v1","kind":"A"}` + "\n---\na: ",
	} {
		body := &endless{start: start}
		before := allocated()
		_, err := readDocuments(body, &wire.Limits{ObjectBytes: 1 << 16})
		if _, ok := errors.AsType[*wire.TooLargeError](err); !ok {
			t.Errorf("%s: %v, want a TooLargeError", name, err)
		}
		if used := allocated() - before; used > 4<<20 || body.read > 1<<18 {
			t.Errorf("%s: %d bytes read and %d allocated under a limit of 65536", name, body.read, used)
		}
	}
	var many strings.Builder
	for range 5000 { // the limit is for each document
		many.WriteString("---\n" + as("A") + "a: 0123456789\n")
	}
	if got, err := readDocuments(strings.NewReader(many.String()), &wire.Limits{ObjectBytes: 200}); err != nil || len(got) != 5000 {
		t.Errorf("%d of 5000 small documents, %v", len(got), err)
	}
}

func TestDocumentsEndsAtBreak(t *testing.T) {
	n := 0
	for _, err := range wire.Documents(strings.NewReader(as("List")+"items: [{apiVersion: v1, kind: A}, {apiVersion: v1, kind: B}]\n---\n:"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d documents before the break, want 1", n)
	}
}

func TestDecodedDocumentHasItsFields(t *testing.T) {
	in := "# a pod\n" + as("Pod") + `metadata:
  name: web
  labels: {app: web, }
spec:
  containers:
  - name: c
    image: nginx
    imagePullPolcy: Always
  Volumes: []
  priority: 5
`
	for d, err := range wire.Documents(strings.NewReader(in), nil) {
		if err != nil {
			t.Fatal(err)
		}
		pod := new(corev1.Pod)
		if err := d.Decode(pod); err != nil || pod.Spec.Containers[0].Image != "nginx" || pod.Kind != "Pod" {
			t.Errorf("Decode = %v with %+v", err, pod)
		}
		pod = new(corev1.Pod)
		err := d.DecodeStrict(pod)
		want := "document 1, line 11: line 11: spec.containers[0].imagePullPolcy: unknown field; " +
			"line 12: spec.Volumes: miscased field, want volumes"
		if err == nil || err.Error() != want {
			t.Errorf("DecodeStrict = %v\nwant %s", err, want)
		}
		if *pod.Spec.Priority != 5 {
			t.Error("DecodeStrict did not decode the object")
		}
		if err := d.DecodeStrict(new(unstructured.Unstructured)); err != nil {
			t.Errorf("DecodeStrict of an object of any kind = %v", err)
		}
	}
}

func TestDecodeErrorOfADocumentHasTheLine(t *testing.T) {
	in := as("List") + "items:\n- apiVersion: v1\n  kind: Pod\n  spec:\n    priority: high\n"
	for d, err := range wire.Documents(strings.NewReader(in), nil) {
		if err != nil {
			t.Fatal(err)
		}
		const want = "document 1, line 7: decode json: spec.priority: want an int32, not a string"
		for _, decode := range []func() error{
			func() error { return d.Decode(new(corev1.Pod)) }, func() error { return d.DecodeStrict(new(corev1.Pod)) },
		} {
			if err := decode(); err == nil || err.Error() != want {
				t.Errorf("Decode = %v, want %s", err, want)
			}
		}
	}
}

// nonSpecificTag matches the tag !, which the YAML library of this package does not report.
var nonSpecificTag = regexp.MustCompile(`!([\s,\]}]|$)`)

// Documents must be read like sigs.k8s.io/yaml reads them, unless that would lose data.
func FuzzDocuments(f *testing.F) {
	for _, s := range []string{
		as("A") + "a: [on, 0777, 1e3, '1', 2001-01-01, 08, 1_0, .5, ~]\n---\n" + as("B"), `{"apiVersion":"v1","kind":"A","a":{"b":[1,2.5]}}`,
		as("List") + "items:\n- &a {apiVersion: v1, kind: A}\n- {<<: *a, b: 1}\n", as("A") + "a: |\n  x\nb: !!binary aGk=\n? x\n: y\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := &wire.Limits{ObjectBytes: 1 << 16}
		documents := map[int]int{}
		var first wire.Document
		for d, err := range wire.Documents(strings.NewReader(string(data)), limits) {
			if err != nil {
				doc, ok := errors.AsType[*wire.DocumentError](err)
				if !ok || doc.Index < 1 || doc.Line < 0 || strings.Contains(err.Error(), "line 0") {
					t.Fatalf("Documents = %#v, want a DocumentError", err)
				}
				return
			}
			if d.Line < 1 || d.Kind.Kind == "" || d.Kind.Version == "" || !json.Valid(d.Object.Bytes()) {
				t.Fatalf("document %+v is %s", d, d.Object.Bytes())
			}
			if err := d.Decode(new(unstructured.Unstructured)); err != nil {
				if !strings.Contains(err.Error(), "does not fit a float64") {
					t.Fatal(err)
				}
				return
			}
			if documents[d.Index]++; len(documents) == 1 {
				first = d
			}
		}
		if len(documents) != 1 || documents[1] != 1 || json.Valid(data) || strings.Contains(string(data), "<<") ||
			nonSpecificTag.Match(data) {
			return // sigs.k8s.io/yaml reads one document, and merges in another order
		}
		theirs, err := yaml.YAMLToJSONStrict(data)
		if err != nil {
			return
		}
		var want, got any
		if json.Unmarshal(theirs, &want) != nil || json.Unmarshal(first.Object.Bytes(), &got) != nil {
			return
		}
		if m, ok := want.(map[string]any); ok && m["items"] == nil && !cmp.Equal(got, want) {
			t.Errorf("%q (-sigs.k8s.io/yaml +wire):\n%s", data, cmp.Diff(want, got))
		}
	})
}

// TestScalarsAreReadLikeKubectl compares plain scalars with sigs.k8s.io/yaml.
func TestScalarsAreReadLikeKubectl(t *testing.T) {
	scalars := strings.Fields(`0x1F_F -0b101 0b_1 1_0.5e+3 0xFFFFFFFFFFFFFFFF 18446744073709551615 -9223372036854775808 0o17 -0o17
		2001-01-01 2001-01-01T00:00:00Z 12:30:45 0999 01.5 +.5 -.5e-3 inf NaN 1e3 1E3 1e 9007199254740993.0 1_ _1 0_ 0x 0b 0_7
		yes y Off oN nULL << =`)
	scalars = append(scalars, "!!int '5'", "!!float 3", "!!str 5", "!!bool yes", "!!bool 'true'", "!!null ''", "!!binary aGk=")
	const alphabet = "0189_xob.eE+-fnITa~<=y:"
	for _, a := range alphabet {
		scalars = append(scalars, string(a))
		for _, b := range alphabet {
			scalars = append(scalars, string(a)+string(b))
		}
	}
	for _, scalar := range scalars {
		in := "a: " + scalar + "\n"
		inJSON, err := yaml.YAMLToJSONStrict([]byte(in))
		if err != nil {
			continue
		}
		var want, got any
		if err := json.Unmarshal(inJSON, &want); err != nil {
			t.Fatal(err)
		}
		for d, err := range wire.RawDocuments(strings.NewReader(in), nil) {
			if err != nil {
				t.Errorf("%s: %v", scalar, err)
			} else if err := json.Unmarshal(d.JSON, &got); err != nil {
				t.Errorf("%s: %v", scalar, err)
			}
		}
		if !cmp.Equal(want, got) {
			t.Errorf("%s is %v, want %v", scalar, got, want)
		}
	}
}

// k8s.io/api has test data of every kind, and of earlier versions, in YAML and in JSON. Both must decode to the same
// objects.
func TestYAMLOfEveryKindEqualsItsJSON(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "testdata", "*", "*.yaml"))
	if err != nil || len(files) < 500 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	seen := map[string]bool{} // most objects are the same in several versions
	for _, file := range files {
		if strings.HasSuffix(file, ".WatchEvent.yaml") {
			continue // not an object
		}
		inYAML, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inJSON, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		both := string(inYAML) + string(inJSON)
		if seen[both] {
			continue
		}
		seen[both] = true
		var objects [2]unstructured.Unstructured
		for i, data := range [][]byte{inJSON, inYAML} {
			n := 0
			for d, err := range wire.Documents(bytes.NewReader(data), nil) {
				if err == nil {
					err = d.Decode(&objects[i])
				}
				if n++; err != nil || n > 1 || d.Kind != objects[i].GroupVersionKind() {
					t.Errorf("%s: document %d of kind %v: %v", file, n, d.Kind, err)
				}
			}
		}
		if !cmp.Equal(objects[0].Object, objects[1].Object) || objects[0].Object == nil {
			t.Errorf("%s (-json +yaml):\n%s", file, cmp.Diff(objects[0].Object, objects[1].Object))
		}
	}
}

func TestRawDocumentsYieldsAnyValue(t *testing.T) {
	const stream = "[1]\n---\n# nothing\n---\na: yes\nb:\n- text\n---\n'x'\n"
	var got []string
	for doc, err := range wire.RawDocuments(strings.NewReader(stream), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d:%d %s", doc.Index, doc.Line, strings.ReplaceAll(string(doc.JSON), "\n", "")))
	}
	want := []string{"1:1 [1]", `3:5 {"a":true,"b":["text"]}`, `4:9 "x"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RawDocuments (-want +got):\n%s", diff)
	}
	for doc, err := range wire.RawDocuments(strings.NewReader(stream), nil) {
		if doc.Index != 1 || err != nil {
			t.Errorf("the first document = %+v, %v", doc, err)
		}
		break // the remaining documents are not needed
	}
	for _, err := range wire.RawDocuments(strings.NewReader("a: 1\n---\nb: *secret\n"), nil) {
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error reveals a value: %v", err)
		}
	}
}
