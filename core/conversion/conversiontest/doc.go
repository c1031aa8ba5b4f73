// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest finds objects that a converter does not bring back as they were.
//
// Call it in the tests of a program that converts. It makes random objects of every version, converts each to every
// other version and back, and prints what is different:
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
// They follow from the Go types alone, unless [Options.Definition] is given: then values keep to the bounds, enums and
// formats of its schema. Times are whole seconds, as on the wire. What a program asks beyond that, such as that two
// fields fit together, [Options.Mend] sees to.
//
// The same options make the same objects. A failure names the seed of its object, and [Options.Seed] with one run is
// that object again.
package conversiontest
