// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	theirs "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/kube-go/sdk/derive/validation"
)

// TestValidationOfRandomDefinitions checks that derive/validation and the API server's code return the same errors for
// definitions in which fields have been removed, added and exchanged at random.
func TestValidationOfRandomDefinitions(t *testing.T) {
	const tries = 5000
	m := newMixer(t, "../../derive/validation/testdata/definitions.jsonl")
	compared, good := 0, 0
	for range tries {
		def := m.next()
		body, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := serverSays(t, body)
		if !ok {
			continue
		}
		compared++
		if len(want) == 0 {
			good++
		}
		var got []metav1.StatusCause
		for _, p := range validation.Check(&unstructured.Unstructured{Object: def}) {
			if p.Reason != "" { // another kind or version, which the server's code does not check
				got = append(got, metav1.StatusCause{Type: p.Reason, Field: p.Field, Message: p.Message})
			}
		}
		if diff := gocmp.Diff(tidy(want), tidy(got)); diff != "" {
			t.Errorf("%s\n-server +ours:\n%s", body, diff)
		}
	}
	if compared < tries/2 || good < tries/20 {
		t.Errorf("%d definitions were compared, and %d of them are valid", compared, good)
	}
}

// serverSays returns the errors of the API server's code. It is not ok if the definition can't be decoded, or if the
// code panics, as it does for selectable fields of a schema that it can't parse.
func serverSays(t *testing.T, body []byte) (causes []metav1.StatusCause, ok bool) {
	t.Helper()
	in, out := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if strict, err := kjson.UnmarshalStrict(body, in); err != nil || len(strict) > 0 {
		return nil, false
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(in)
	if conv := in.Spec.Conversion; conv != nil && conv.Webhook != nil && conv.Webhook.ClientConfig != nil && conv.Webhook.ClientConfig.Service != nil {
		apiextensionsv1.SetDefaults_ServiceReference(conv.Webhook.ClientConfig.Service)
	}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(in, out, nil); err != nil {
		return nil, false
	}
	out.Status = apiextensions.CustomResourceDefinitionStatus{}
	if i := slices.IndexFunc(out.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Storage }); i >= 0 {
		out.Status.StoredVersions = []string{out.Spec.Versions[i].Name}
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	for _, err := range theirs.ValidateCustomResourceDefinition(t.Context(), out) {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(err.Type), Field: err.Field, Message: err.ErrorBody()})
	}
	return causes, true
}

// tidy removes known differences from messages: the servers' names of types, schemas and versions that are printed
// whole, users with their passwords, and the messages of decoders.
func tidy(causes []metav1.StatusCause) []metav1.StatusCause {
	selfType := regexp.MustCompile(`selfType\d*`)
	whole := regexp.MustCompile(`(?s)^Invalid value: [\[{].*?: (only \[|must contain|must have exactly|must only have|duplicate)`)
	password := regexp.MustCompile(`: "[^"]*": (user information)`)
	decoder := regexp.MustCompile(`(json: cannot|decode metadata: ).*`)
	for i := range causes {
		text := selfType.ReplaceAllString(causes[i].Message, "selfType")
		text = whole.ReplaceAllString(text, "Invalid value: $1")
		text = password.ReplaceAllString(text, ": $1")
		causes[i].Message = decoder.ReplaceAllString(text, "")
	}
	slices.SortFunc(causes, func(a, b metav1.StatusCause) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Message, b.Message))
	})
	return causes
}

// mixer makes definitions from the fields of other definitions.
type mixer struct {
	definitions []map[string]any
	parts       map[string][]any // by the name of their field
	names       []string
	random      *rand.Rand
}

func newMixer(t *testing.T, path string) *mixer {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &mixer{parts: map[string][]any{}, random: rand.New(rand.NewPCG(1, 2))}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var row struct {
			Definition map[string]any `json:"definition"`
			Differs    string         `json:"differs"`
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(row.Differs, "the server knows") {
			continue
		}
		m.definitions = append(m.definitions, row.Definition)
		for _, p := range placesOf(row.Definition) {
			m.parts[p.name] = append(m.parts[p.name], p.value)
		}
	}
	m.names = slices.Sorted(maps.Keys(m.parts))
	return m
}

// place is a value in a tree.
type place struct {
	name   string // the name of the field; empty in a list
	value  any
	set    func(any)
	remove func() // nil in a list
}

func placesOf(v any) []place {
	var places []place
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			places = append(places, place{name, v[name], func(x any) { v[name] = x }, func() { delete(v, name) }})
			places = append(places, placesOf(v[name])...)
		}
	case []any:
		for i := range v {
			places = append(places, place{"", v[i], func(x any) { v[i] = x }, nil})
			places = append(places, placesOf(v[i])...)
		}
	}
	return places
}

// next returns one of the known definitions, with up to three fields removed, exchanged or added.
func (m *mixer) next() map[string]any {
	def := runtime.DeepCopyJSON(m.definitions[m.random.IntN(len(m.definitions))])
	for range 1 + m.random.IntN(3) {
		places := placesOf(def)
		if len(places) == 0 {
			break
		}
		p := places[m.random.IntN(len(places))]
		obj, isObject := p.value.(map[string]any)
		switch how := m.random.IntN(4); {
		case how == 0 && p.remove != nil:
			p.remove()
		case how == 1:
			p.set(m.part(p.name))
		case isObject:
			if name := m.names[m.random.IntN(len(m.names))]; name != "" {
				obj[name] = m.part(name)
			}
		}
	}
	return def
}

func (m *mixer) part(name string) any {
	parts := m.parts[name]
	return runtime.DeepCopyJSONValue(parts[m.random.IntN(len(parts))])
}
