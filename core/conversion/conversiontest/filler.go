// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// filler makes random values. They depend on its random numbers only.
type filler struct {
	rand   *rand.Rand
	field  string          // the current one, by its name in [coverage]
	gaveUp map[string]bool // fields that it could not fill
}

// maxDepth limits the depth of recursive types.
const maxDepth = 8

// itemTries limits the number of random items of a list, of which those with the key of another are left out.
const itemTries = 100

// fill sets random fields of an object to random values. It does not set the type of the object.
func (f *filler) fill(obj core.Object, s *schema) error {
	return f.value(reflect.ValueOf(obj).Elem(), s, maxDepth)
}

// value sets v. Types with a special encoding get values that survive a round trip over the wire.
func (f *filler) value(v reflect.Value, s *schema, depth int) error {
	if s != nil && len(s.Enum) > 0 {
		return set(v, s.Enum[f.rand.IntN(len(s.Enum))])
	}
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return nil
	case *metav1.ObjectMeta:
		*p = f.objectMeta()
		return nil
	case *metav1.Time:
		*p = metav1.NewTime(f.time())
		return nil
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(f.time().Add(time.Duration(f.rand.IntN(1_000_000)) * time.Microsecond))
		return nil
	case *time.Time:
		*p = f.time()
		return nil
	case *metav1.Duration:
		p.Duration = time.Duration(f.rand.IntN(100_000)) * time.Second
		return nil
	case *intstr.IntOrString:
		*p = intstr.FromInt32(f.rand.Int32N(100))
		if f.rand.IntN(2) == 0 {
			*p = intstr.FromString(strconv.Itoa(f.rand.IntN(100)) + "%")
		}
		return nil
	case *resource.Quantity:
		*p = resource.MustParse(strconv.Itoa(f.rand.IntN(1000)) + []string{"", "m", "Mi", "k"}[f.rand.IntN(4)])
		return nil
	case *runtime.RawExtension:
		p.Raw = []byte(`{"raw":"` + f.word() + `"}`)
		return nil
	case json.Unmarshaler: // its encoding is unknown
		f.giveUp()
		return nil
	case encoding.TextUnmarshaler:
		f.decode(v, s)
		return nil
	}
	return f.plain(v, s, depth)
}

// plain sets a value of a type without a special encoding, by its reflect.Kind.
func (f *filler) plain(v reflect.Value, s *schema, depth int) error {
	switch v.Kind() {
	case reflect.Struct:
		return f.fields(v, s, depth)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.value(v.Elem(), s, depth-1)
	case reflect.Slice:
		return f.slice(v, s, depth)
	case reflect.Array:
		for i := range v.Len() {
			if err := f.value(v.Index(i), s.items(), depth-1); err != nil {
				return err
			}
		}
	case reflect.Map:
		return f.fillMap(v, s, depth)
	case reflect.String:
		return f.text(v, s)
	case reflect.Bool:
		v.SetBool(f.rand.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		half := math.Exp2(float64(v.Type().Bits() - 1))
		v.SetInt(int64(f.number(s, -half, half)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.number(s, 0, math.Exp2(float64(v.Type().Bits())))))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.number(s, math.Inf(-1), math.Inf(1)))
	default: // such as interfaces, whose type JSON does not preserve
		f.giveUp()
	}
	return nil
}

// decode sets a value that decodes itself from a string. The value stays empty if it can't decode the random string.
func (f *filler) decode(v reflect.Value, s *schema) {
	text, ok := f.word(), true
	if s != nil {
		text, ok = f.string(s)
	}
	decoded := reflect.New(v.Type())
	if !ok || decoded.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) != nil {
		f.giveUp()
		return
	}
	v.Set(decoded.Elem())
}

// giveUp records that the current field can't be filled: see [Options.MakeValid].
func (f *filler) giveUp() { f.gaveUp[f.field] = true }

// fields sets the JSON fields of a struct.
func (f *filler) fields(v reflect.Value, s *schema, depth int) error {
	outer := f.field
	defer func() { f.field = outer }()
	for i := range v.NumField() {
		f.field = outer
		field := v.Type().Field(i)
		name, omits, ok := jsonField(field)
		inside := s
		switch {
		case !ok:
			continue
		case !field.IsExported(): // the exported fields of an unexported embedded struct are encoded
			if err := f.fields(v.Field(i), s, depth); err != nil {
				return err
			}
			continue
		case name != "":
			inside = s.property(name)
			if !s.requires(name) && f.leaveOut(v.Field(i), inside, omits, depth) {
				continue
			}
			f.field = fieldName(v.Type(), name)
		}
		if err := f.value(v.Field(i), inside, depth); err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
	}
	return nil
}

// leaveOut decides whether an optional field stays empty: at random, or at the maximum depth. A field with a default is
// never empty, because a server sets it.
func (f *filler) leaveOut(v reflect.Value, s *schema, omits bool, depth int) bool {
	switch {
	case s != nil && s.Default != nil:
		return false
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return depth <= 0 || f.rand.IntN(4) == 0
	}
	return (omits || s == nil) && f.rand.IntN(4) == 0
}

func (f *filler) slice(v reflect.Value, s *schema, depth int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes([]byte(f.word()))
		return nil
	}
	least, most := 1, 3
	if s != nil {
		least, most = within(s.MinItems, s.MaxItems, least, most)
	}
	n := least + f.rand.IntN(most-least+1)
	if n == 0 {
		return nil // most encodings do not distinguish an empty list from a missing one
	}
	used := map[string]bool{} // the keys of the items
	for tries := 0; v.Len() < n && tries < itemTries; tries++ {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := f.value(item, s.items(), depth-1); err != nil {
			return err
		}
		key, err := s.key(item.Addr().Interface())
		switch {
		case err != nil:
			return err
		case key == "" || !used[key]:
			used[key] = true
			v.Set(reflect.Append(v, item))
		}
	}
	return nil
}

func (f *filler) fillMap(v reflect.Value, s *schema, depth int) error {
	if v.Type().Key().Kind() != reflect.String {
		f.giveUp() // custom resources have no such maps
		return nil
	}
	least, most := 1, 3
	if s != nil {
		least, most = within(s.MinProperties, s.MaxProperties, least, most)
	}
	n := least + f.rand.IntN(most-least+1)
	if n == 0 {
		return nil
	}
	v.Set(reflect.MakeMap(v.Type()))
	for v.Len() < n {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := f.value(item, s.values(), depth-1); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(f.word()+strconv.Itoa(v.Len())).Convert(v.Type().Key()), item)
	}
	return nil
}

// text sets a string.
func (f *filler) text(v reflect.Value, s *schema) error {
	if s == nil {
		if f.rand.IntN(8) > 0 {
			v.SetString(f.word())
		}
		return nil
	}
	switch text, ok := f.string(s); {
	case ok:
		v.SetString(text)
	case s.Default != nil:
		return set(v, s.Default)
	default:
		f.giveUp()
	}
	return nil
}

// string returns a string that satisfies a schema, and whether it has found one.
func (f *filler) string(s *schema) (string, bool) {
	format := strings.ReplaceAll(s.Format, "-", "") // as servers do
	text, ok := f.formatted(format)
	switch {
	case ok && (s.Pattern == nil || s.Pattern.MatchString(text)):
		return text, true
	case s.Pattern != nil:
		return f.matching(s)
	case slices.Contains([]string{"isbn", "isbn10", "isbn13", "creditcard"}, format): // these have check digits
		return "", false
	}
	least, most := within(s.MinLength, s.MaxLength, 1, 8)
	b := make([]byte, least+f.rand.IntN(most-least+1))
	for i := range b {
		b[i] = byte('a' + f.rand.IntN(26))
	}
	return string(b), true
}

// formatted returns a string of one of the formats that servers check. The name of the format has no dashes.
func (f *filler) formatted(format string) (string, bool) {
	number := func() int { return f.rand.IntN(256) }
	switch format {
	case "datetime":
		return f.time().Format(time.RFC3339), true
	case "date":
		return f.time().Format(time.DateOnly), true
	case "duration":
		return (time.Duration(f.rand.IntN(1000)) * time.Second).String(), true
	case "ipv4":
		return fmt.Sprintf("10.0.%d.%d", number(), number()), true
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+f.rand.IntN(0xffff)), true
	case "cidr":
		return fmt.Sprintf("10.%d.%d.0/24", number(), number()), true
	case "mac":
		return fmt.Sprintf("00:00:5e:00:%02x:%02x", number(), number()), true
	case "uri":
		return "https://example.com/" + f.word(), true
	case "email":
		return f.word() + "@example.com", true
	case "hostname", "k8slongname":
		return f.word() + ".example.com", true
	case "k8sshortname":
		return f.word(), true
	case "uuid", "uuid4":
		return string(f.uid()), true
	case "uuid3", "uuid5":
		return strings.Replace(string(f.uid()), "-4000-", "-"+format[4:]+"000-", 1), true
	case "bsonobjectid":
		return fmt.Sprintf("%08x%016x", f.rand.Uint32(), f.rand.Uint64()), true
	case "ssn":
		return fmt.Sprintf("%03d-%02d-%04d", f.rand.IntN(1000), f.rand.IntN(100), f.rand.IntN(10_000)), true
	case "hexcolor":
		return fmt.Sprintf("#%02x%02x%02x", number(), number(), number()), true
	case "rgbcolor":
		return fmt.Sprintf("rgb(%d,%d,%d)", number(), number(), number()), true
	case "byte":
		return fmt.Sprintf("%08x", f.rand.Uint32()), true // all of these characters are in the alphabet of base64
	}
	return "", false
}

// number returns a number of a type whose values are at least low and less than high. Without a schema it is small, so
// that a type of another version can hold it.
func (f *filler) number(s *schema, low, high float64) float64 {
	least, most, step := max(-1000, low), min(1000, math.Ceil(high/2)-1), 1.0
	if s != nil {
		if s.MultipleOf != nil && *s.MultipleOf > 0 {
			step = *s.MultipleOf
		}
		if s.Minimum != nil {
			least = *s.Minimum
			if s.ExclusiveMinimum {
				least += step
			}
			most = max(most, least+100)
		}
		if s.Maximum != nil {
			most = *s.Maximum
			if s.ExclusiveMaximum {
				most -= step
			}
			if s.Minimum == nil {
				least = min(least, most)
			}
		}
	}
	least, most = max(least, low), min(most, high-1, math.Nextafter(high, low)) // high-1 may be rounded to high
	first, last := math.Ceil(least/step), math.Floor(most/step)
	return (first + math.Floor(f.rand.Float64()*(max(last-first, 0)+1))) * step
}

// within returns the bounds of the schema, or else the usual bounds.
func within(least, most *int, usualLeast, usualMost int) (int, int) {
	low, high := usualLeast, usualMost
	if least != nil {
		low = *least
		high = max(high, low)
	}
	if most != nil {
		high = *most
		low = min(low, high)
	}
	return low, min(high, low+1000)
}

// objectMeta returns metadata that every version preserves, with fields of the server and of the user.
func (f *filler) objectMeta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Name: f.word(), Namespace: f.word(), UID: f.uid(), ResourceVersion: strconv.Itoa(1 + f.rand.IntN(1000)),
		Generation: int64(1 + f.rand.IntN(9)), CreationTimestamp: metav1.NewTime(f.time()),
	}
	if f.rand.IntN(2) == 0 {
		meta.Labels = map[string]string{f.word(): f.word()}
	}
	if f.rand.IntN(2) == 0 {
		meta.Annotations = map[string]string{f.word(): f.word()}
	}
	if f.rand.IntN(2) == 0 {
		meta.Finalizers = []string{"example.com/" + f.word()}
	}
	return meta
}

func (f *filler) word() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 1+f.rand.IntN(8))
	for i := range b {
		b[i] = letters[f.rand.IntN(len(letters))]
	}
	return string(b)
}

func (f *filler) uid() types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", f.rand.Uint32(), f.rand.Uint64()>>16))
}

func (f *filler) time() time.Time {
	return time.Unix(1_500_000_000+f.rand.Int64N(500_000_000), 0).UTC()
}

// set sets v to a value from a schema.
func set(v reflect.Value, value any) error {
	data, err := wire.MarshalJSON(value)
	if err != nil {
		return err
	}
	return wire.UnmarshalJSON(data, v.Addr().Interface())
}
