// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// names is a named slice.
type names []string

// shapes has the shapes that no kind of k8s.io/api has, and contains itself in all possible ways.
type shapes struct {
	metav1.TypeMeta `json:",inline"`

	Uint32   uint32            `json:"u32" protobuf:"varint,1,opt,name=u32"`
	Uint64   uint64            `json:"u64" protobuf:"varint,2,opt,name=u64"`
	Float32  float32           `json:"f32" protobuf:"fixed32,3,opt,name=f32"`
	Float64  *float64          `json:"f64" protobuf:"bytes,4,opt,name=f64"` // as in JSONSchemaProps, tagged as bytes
	Doubles  []float64         `json:"doubles" protobuf:"bytes,5,rep,name=doubles"`
	Child    *shapes           `json:"child" protobuf:"bytes,6,opt,name=child"`
	Children []shapes          `json:"children" protobuf:"bytes,7,rep,name=children"`
	Pointers []*shapes         `json:"pointers" protobuf:"bytes,8,rep,name=pointers"`
	ByName   map[string]shapes `json:"byName" protobuf:"bytes,9,rep,name=byName"`
	Message  names             `json:"message" protobuf:"bytes,10,opt,name=message"`
	Repeated names             `json:"repeated" protobuf:"bytes,11,rep,name=repeated"`
	Blobs    [][]byte          `json:"blobs" protobuf:"bytes,12,rep,name=blobs"`
	Far      bool              `json:"far" protobuf:"varint,2047,opt,name=far"`
	Hidden   func()            `json:"-"`
}

// field encodes a length-delimited field.
func field(num protowire.Number, value ...[]byte) []byte {
	b := protowire.AppendTag(nil, num, protowire.BytesType)
	return protowire.AppendBytes(b, bytes.Join(value, nil))
}

// TestShapesThatKubernetesDoesNotUseAreEncoded checks the bytes of shapes without generated code.
func TestShapesThatKubernetesDoesNotUseAreEncoded(t *testing.T) {
	zero := []byte{0x08, 0, 0x10, 0, 0x1d, 0, 0, 0, 0}
	far := []byte{0xf8, 0x7f, 0}
	empty := append(bytes.Clone(zero), far...)
	tests := []struct {
		name string
		in   shapes
		want []byte // between the fields zero and far
	}{
		{name: "a double", in: shapes{Float64: new(-1.5)}, want: []byte{0x21, 0, 0, 0, 0, 0, 0, 0xf8, 0xbf}},
		{
			name: "doubles", in: shapes{Doubles: []float64{0, math.Inf(1)}},
			want: []byte{0x29, 0, 0, 0, 0, 0, 0, 0, 0, 0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f},
		},
		{name: "itself", in: shapes{Child: &shapes{Child: &shapes{}}}, want: field(6, zero, field(6, empty), far)},
		{name: "a recursive list", in: shapes{Children: make([]shapes, 2)}, want: append(field(7, empty), field(7, empty)...)},
		{name: "pointers", in: shapes{Pointers: []*shapes{{}, {}}}, want: append(field(8, empty), field(8, empty)...)},
		{
			name: "a recursive map", in: shapes{ByName: map[string]shapes{"b": {}, "": {}}},
			want: append(field(9, field(1), field(2, empty)), field(9, field(1, []byte("b")), field(2, empty))...),
		},
		{name: "a named slice as a message", in: shapes{Message: names{"a", ""}}, want: field(10, field(1, []byte("a")), field(1))},
		{name: "an empty named slice as a message", in: shapes{Message: names{}}, want: field(10)},
		{name: "a named slice as a list", in: shapes{Repeated: names{"a"}}, want: field(11, []byte("a"))},
		{name: "byte slices", in: shapes{Blobs: [][]byte{{}, {1}}}, want: append(field(12), field(12, []byte{1})...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := protobuf.Append(nil, &tt.in)
			if want := append(append(bytes.Clone(zero), tt.want...), far...); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("Append = %x, %v, want %x", got, err, want)
			}
			var back shapes
			if err := protobuf.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, tt.in) {
				t.Errorf("Unmarshal (-want +got):\n%s", cmp.Diff(tt.in, back))
			}
		})
	}
	numbers := shapes{Uint32: math.MaxUint32, Uint64: math.MaxUint64, Float32: 0.5}
	data, err := protobuf.Append(nil, &numbers)
	var back shapes
	if err := errors.Join(err, protobuf.Unmarshal(data, &back)); err != nil || !reflect.DeepEqual(back, numbers) {
		t.Errorf("Unmarshal = %v, %v, want %v", back, err, numbers)
	}
}

func TestPackedNumbersAreDecoded(t *testing.T) {
	var got shapes
	data := field(5, make([]byte, 8), protowire.AppendFixed64(nil, math.Float64bits(2)))
	if err := protobuf.Unmarshal(data, &got); err != nil || !cmp.Equal(got.Doubles, []float64{0, 2}) {
		t.Errorf("Unmarshal = %v, %v", got.Doubles, err)
	}
}

func TestAppendFieldWritesTheMessageAsAField(t *testing.T) {
	pod, msg := realPod(t)
	got, err := protobuf.AppendField([]byte("before"), 300, pod)
	if want := append([]byte("before"), field(300, msg)...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("AppendField = %q, %v, want %q", got, err, want)
	}
}

func TestTypesThatWouldLoseDataAreNotSupported(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	tests := []struct {
		name string
		in   any
		want string
	}{
		{name: "nothing", in: nil, want: "<nil> is not a pointer to a struct"},
		{name: "a struct", in: shapes{}, want: "shapes is not a pointer to a struct"},
		{name: "a pointer to something else", in: new(names), want: "names is not a pointer to a struct"},
		{name: "a nil pointer", in: (*shapes)(nil), want: "shapes is nil"},
		{name: "a type without field numbers", in: new(metav1.Time), want: "is only supported as a field"},
		{name: "no tag", in: new(inner), want: "inner.Name: it has no protobuf field number"},
		{name: "no tag in a nested struct", in: new(struct {
			Inner []inner `protobuf:"bytes,1,rep,name=inner"`
		}), want: "Inner: inner.Name: it has no protobuf field number"},
		{name: "an unexported field", in: new(struct {
			name string `json:"-"`
		}), want: "name: it has no protobuf field number"},
		{name: "number 0", in: new(struct {
			Name string `protobuf:"bytes,0,opt"`
		}), want: `protobuf field number "0" is not between 1 and 2047`},
		{name: "a large number", in: new(struct {
			Name string `protobuf:"bytes,2048,opt"`
		}), want: `protobuf field number "2048" is not between 1 and 2047`},
		{name: "a duplicate number", in: new(struct {
			One string `protobuf:"bytes,1,opt,name=one"`
			Two bool   `protobuf:"bytes,1,opt,name=two"`
		}), want: "the same protobuf field number"},
		{name: "an interface", in: new(struct {
			Any any `protobuf:"bytes,1,opt"`
		}), want: "Any: type interface {} is not supported"},
		{name: "a small integer", in: new(struct {
			Port uint16 `protobuf:"varint,1,opt"`
		}), want: "Port: type uint16 is not supported"},
		{name: "a list of lists", in: new(struct {
			Lists [][]string `protobuf:"bytes,1,rep"`
		}), want: "Lists: type []string is not supported"},
		{name: "pointers to scalars in a list", in: new(struct {
			Refs []*string `protobuf:"bytes,1,rep"`
		}), want: "Refs: type []*string is not supported"},
		{name: "a pointer to a slice", in: new(struct {
			Ref *[]byte `protobuf:"bytes,1,opt"`
		}), want: "Ref: type *[]uint8 is not supported"},
		{name: "a map from numbers", in: new(struct {
			Map map[int32]string `protobuf:"bytes,1,rep"`
		}), want: "Map: keys of type int32 are not supported"},
		{name: "a map to numbers", in: new(struct {
			Map map[string]int32 `protobuf:"bytes,1,rep"`
		}), want: "Map: type map[string]int32 is not supported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if nilPointer := strings.HasSuffix(tt.want, "is nil"); protobuf.Supports(reflect.TypeOf(tt.in)) != nilPointer {
				t.Errorf("Supports = %v", !nilPointer)
			}
			if err := protobuf.Unmarshal(nil, tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Unmarshal = %v, want an error with %q", err, tt.want)
			}
			if got, err := protobuf.Append(nil, tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Append = %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestErrorsHaveThePathOfTheField(t *testing.T) {
	const specNum, containersNum, nameNum, resourcesNum, limitsNum = 2, 2, 1, 8, 1
	container := func(fields ...[]byte) []byte {
		return field(specNum, field(containersNum, field(nameNum)), field(containersNum, fields...))
	}
	limit := func(entry ...[]byte) []byte { return container(field(resourcesNum, field(limitsNum, entry...))) }
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{name: "wrong wire type", in: container([]byte{nameNum << 3, 1}), want: "spec.containers[1].name: wrong wire type 0, want 2"},
		{name: "truncated value", in: container([]byte{nameNum<<3 | 2, 3, 'a'}), want: "spec.containers[1].name: message ends early"},
		{name: "truncated tag", in: container([]byte{0x80}), want: "spec.containers[1]: message ends early"},
		{name: "endless tag", in: bytes.Repeat([]byte{0xff}, 11), want: "v1.Pod: varint of more than ten bytes"},
		{name: "field 0", in: []byte{0, 0}, want: "v1.Pod: invalid tag"},
		{name: "group without an end", in: protowire.AppendTag(nil, 99, protowire.StartGroupType), want: "v1.Pod: unknown field"},
		{
			name: "quantity", in: limit(field(1, []byte("cpu")), field(2, field(1, []byte("much")))),
			want: `spec.containers[1].resources.limits["cpu"]: quantities must match`,
		},
		{
			name: "quantity that takes hours to parse", in: limit(field(1, []byte("cpu")), field(2, field(1, []byte("1e-2147483647")))),
			want: `spec.containers[1].resources.limits["cpu"]: exponent of more than three digits`,
		},
		{
			name: "very long quantity", in: limit(field(1, []byte("cpu")), field(2, field(1, bytes.Repeat([]byte("9"), 101)))),
			want: `spec.containers[1].resources.limits["cpu"]: quantity of more than 100 characters`,
		},
		{name: "key of a wrong wire type", in: limit([]byte{1 << 3, 1}), want: "resources.limits: invalid map entry or quantity: wrong wire type"},
		{name: "truncated entry", in: limit([]byte{1<<3 | 2, 1}), want: "resources.limits: invalid map entry or quantity: message ends early"},
		{name: "time", in: field(1, field(8, []byte{1<<3 | 2, 0})), want: "metadata.creationTimestamp: proto: wrong wireType"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := protobuf.Unmarshal(tt.in, new(corev1.Pod))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Unmarshal = %v, want an error with %q", err, tt.want)
			}
			if strings.Contains(tt.want, "ends early") && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Unmarshal = %v, want an io.ErrUnexpectedEOF", err)
			}
		})
	}
	if _, err := protobuf.Append(nil, &shapes{Children: []shapes{{}, {Pointers: []*shapes{nil}}}}); err == nil ||
		!strings.Contains(err.Error(), "children[1].pointers[0]: nil element") {
		t.Errorf("Append = %v", err)
	}
}

// TestHostileDataIsRejected decodes data that is made to exhaust memory or the stack.
func TestHostileDataIsRejected(t *testing.T) {
	bomb := []byte{}
	for range 1000 {
		bomb = field(6, bomb)
	}
	cyclic := new(shapes)
	cyclic.Child = cyclic
	if _, err := protobuf.Append(nil, cyclic); err == nil || !strings.HasSuffix(err.Error(), "nest deeper than 100") {
		t.Errorf("Append of a cycle = %v", err)
	}
	lie := protowire.AppendVarint([]byte{1<<3 | 2}, math.MaxInt64)
	for _, tt := range []struct {
		name string
		in   []byte
		into any
		want string
	}{
		{name: "deep nesting", in: bomb, into: new(shapes), want: "nest deeper than 100"},
		{name: "a length that overflows", in: lie, into: new(corev1.Pod), want: "metadata: message ends early"},
		{name: "a length that overflows in a quantity", in: field(1, field(2, lie)), into: new(corev1.ResourceRequirements), want: `limits[""]: invalid map entry or quantity`},
		{name: "a length that overflows in packed numbers", in: []byte{5<<3 | 2, 1, 0}, into: new(shapes), want: "doubles: packed numbers do not end with their field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := protobuf.Unmarshal(tt.in, tt.into)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Unmarshal = %v, want an error with %q", err, tt.want)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10<<20 {
				t.Errorf("%d bytes allocated", allocated)
			}
		})
	}
}

func TestDeepestMessageSurvivesARoundTrip(t *testing.T) {
	in := new(shapes)
	for range 99 {
		in = &shapes{Child: in}
	}
	data, err := protobuf.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	var out shapes
	if err := protobuf.Unmarshal(data, &out); err != nil || !reflect.DeepEqual(&out, in) {
		t.Errorf("Unmarshal: %v", err)
	}
}

func TestOldValuesInTheCapacityOfASliceAreDropped(t *testing.T) {
	used := []corev1.Container{{Name: "used", Image: "used"}}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: used[:0]}}
	if err := protobuf.Unmarshal(field(2, field(2)), pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers; len(got) != 1 || got[0].Image != "" {
		t.Errorf("Unmarshal = %v", got)
	}
}

func TestAppendDoesNotChangeTheObject(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(1, resource.BinarySI)},
	}}}}}
	before := pod.DeepCopy()
	if _, err := protobuf.Append(nil, pod); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(pod, before) { // a quantity caches its string
		t.Errorf("Append changed the object (-before +after):\n%s", cmp.Diff(before, pod))
	}
}

// unencodable is an object without a JSON encoding.
type unencodable struct{ corev1.Pod }

func (*unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON") }

func TestObjectOfAnExtensionBecomesItsRawJSON(t *testing.T) {
	blue := &corev1.ConfigMap{Data: map[string]string{"color": "blue"}}
	for _, tt := range []struct {
		name string
		in   kuberuntime.RawExtension
		want []byte
	}{
		{"an object", kuberuntime.RawExtension{Object: blue}, []byte(`{"metadata":{},"data":{"color":"blue"}}`)},
		{"JSON", kuberuntime.RawExtension{Raw: []byte(`{"a":1}`)}, []byte(`{"a":1}`)},
		{"an object with its JSON", kuberuntime.RawExtension{Raw: []byte(`{"a":1}`), Object: blue}, []byte(`{"a":1}`)},
		{"nothing", kuberuntime.RawExtension{}, nil},
	} {
		revision := &appsv1.ControllerRevision{Data: tt.in}
		msg, err := protobuf.Append(nil, revision)
		got := new(appsv1.ControllerRevision)
		if err == nil {
			err = got.Unmarshal(msg)
		}
		if err != nil || !bytes.Equal(got.Data.Raw, tt.want) {
			t.Errorf("%s: Raw = %s, %v, want %s", tt.name, got.Data.Raw, err, tt.want)
		}
		if diff := cmp.Diff(tt.in, revision.Data); diff != "" {
			t.Errorf("%s: Append changed the object (-before +after):\n%s", tt.name, diff)
		}
	}
	_, err := protobuf.Append(nil, &appsv1.ControllerRevision{Data: kuberuntime.RawExtension{Object: &unencodable{}}})
	if err == nil || !strings.Contains(err.Error(), "ControllerRevision: data: json") {
		t.Errorf("Append of an object without a JSON encoding = %v, want an error that names the field", err)
	}
}

func TestDecodedObjectSharesNoMemoryWithTheData(t *testing.T) {
	_, msg := realPod(t)
	got := new(corev1.Pod)
	data := bytes.Clone(msg)
	if err := protobuf.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if back, err := protobuf.Append(nil, got); err != nil || !bytes.Equal(back, msg) {
		t.Errorf("the object changed with the data, %v", err)
	}
}

func TestValuesCountsAllThatIsDecoded(t *testing.T) {
	const message = protobuf.Scalars
	children := slices.Concat(field(7), field(7), field(7)) // three empty messages
	for _, tt := range []struct {
		name string
		data []byte
		want int
	}{
		{"strings", slices.Concat(field(11), field(11)), 2},
		{"a number", []byte{0x08, 0}, 1},
		{"messages", children, 3 * message},
		{"messages in a message", field(6, children), 4 * message},
		{"pointers to messages", slices.Concat(field(8), field(8, children)), 5 * message},
		{"messages in a map", field(9, field(1), field(2, children)), 4 * message},
		{"packed numbers", field(5, make([]byte, 16)), 1 + 16},
		{"unknown fields", field(99, children), 1},
		{"messages before an error", append(children, 0xff), 3 * message},
	} {
		if got := protobuf.Values(tt.data, &shapes{}); got != tt.want {
			t.Errorf("Values of %s = %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestConcurrentUseOfNewTypes(t *testing.T) {
	type fresh struct { // used by no other test, so it has no plan yet
		Pod corev1.Pod `protobuf:"bytes,1,opt,name=pod"`
	}
	pod, _ := realPod(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			data, err := protobuf.Append(nil, &fresh{Pod: *pod})
			var got fresh
			if err := errors.Join(err, protobuf.Unmarshal(data, &got)); err != nil || got.Pod.Name != pod.Name {
				t.Errorf("Unmarshal = %v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestCodecAllocatesNoMoreThanGeneratedCode(t *testing.T) {
	pod, msg := realPod(t)
	for _, tt := range []struct {
		name            string
		ours, generated func() error
	}{
		{
			name:      "Unmarshal",
			ours:      func() error { return protobuf.Unmarshal(msg, new(corev1.Pod)) },
			generated: func() error { return new(corev1.Pod).Unmarshal(msg) },
		},
		{
			name:      "Append",
			ours:      func() error { _, err := protobuf.Append(nil, pod); return err },
			generated: func() error { _, err := pod.Marshal(); return err },
		},
	} {
		count := func(f func() error) float64 {
			return testing.AllocsPerRun(100, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			})
		}
		if ours, generated := count(tt.ours), count(tt.generated); ours > generated {
			t.Errorf("%s allocates %v times, generated code %v times", tt.name, ours, generated)
		}
	}
}

func TestHasQuantitiesFindsNestedQuantities(t *testing.T) {
	for obj, want := range map[any]bool{
		new(corev1.Pod): true, new(corev1.Container): true, new(corev1.ResourceQuota): true,
		new(corev1.ConfigMap): false, new(metav1.ObjectMeta): false, new(struct{ A any }): false,
	} {
		if got := protobuf.HasQuantities(reflect.TypeOf(obj)); got != want {
			t.Errorf("HasQuantities(%T) = %t, want %t", obj, got, want)
		}
	}
}

func TestShortStringsShareMemory(t *testing.T) {
	meta := &metav1.ObjectMeta{}
	for i := range 100 {
		meta.Finalizers = append(meta.Finalizers, strings.Repeat("x", i%20))
	}
	msg, err := meta.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(10, func() {
		if err := protobuf.Unmarshal(msg, new(metav1.ObjectMeta)); err != nil {
			t.Error(err)
		}
	})
	if allocs > 20 {
		t.Errorf("decoding 100 short strings allocates %v times, want at most 20", allocs)
	}
}

// TestStringsOfAllLengthsSurvive changes the message after it was decoded.
func TestStringsOfAllLengthsSurvive(t *testing.T) {
	meta := &metav1.ObjectMeta{}
	for i := range 200 {
		meta.Finalizers = append(meta.Finalizers, strings.Repeat(string(rune('a'+i%26)), i*7%200))
	}
	msg, err := meta.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got := new(metav1.ObjectMeta)
	if err := protobuf.Unmarshal(msg, got); err != nil {
		t.Fatal(err)
	}
	clear(msg)
	if !slices.Equal(got.Finalizers, meta.Finalizers) {
		t.Errorf("the strings are %q, want %q", got.Finalizers, meta.Finalizers)
	}
}
