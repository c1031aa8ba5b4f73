// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest finds objects that a converter does not convert back to the same object.
//
// Use it in the tests of a conversion webhook. It makes random objects of every version, converts each to every other
// version and back, and reports the differences:
//
//	func TestConversions(t *testing.T) {
//		converter, err := widgets.Converter()
//		if err != nil {
//			t.Fatal(err)
//		}
//		conversiontest.RoundTrip(t, converter, nil)
//	}
//
//	func FuzzConversions(f *testing.F) {
//		…
//		conversiontest.Fuzz(f, converter, nil)
//	}
//
// # Objects
//
// Objects are derived from the Go types. If [Options.Definition] is set, values also satisfy the bounds, enums, formats
// and patterns of its schema, the items of sets and of lists with keys differ, and each version of an object gets the
// defaults of the schema, as from a server. Times are whole seconds, as on the wire. Use [Options.MakeValid] for
// constraints beyond the schema, such as fields that depend on each other.
//
// Some fields can't be filled: those of a type with its own UnmarshalJSON, except for common types such as metav1.Time,
// those of a type whose UnmarshalText refuses the random strings, those of an interface or of a map whose keys are not
// strings, those with the format creditcard, isbn, isbn10 or isbn13, and those for whose pattern no string is found.
// [RoundTrip] fails if MakeValid sets such a field in no object, since the conversion may lose it unnoticed. [Fuzz]
// does not check this.
//
// Equal options make equal objects. A failure names the seed of its object; to reproduce it, set [Options.Seed] to the
// seed and [Options.Runs] to 1.
package conversiontest
