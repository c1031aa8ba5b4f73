// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kube-go/sdk/core/wire"
)

// TestPathFindsValues checks what paths lead to.
func TestPathFindsValues(t *testing.T) {
	const doc = `{
		"metadata": {"annotations": {"example.com/a": "dotted", "it's": "quoted"}},
		"spec": {"replicas": 1000000, "share": 0.5, "paused": false, "none": null, "": "empty"},
		"status": {"phase": "Running", "conditions": [
			{"type": "Ready", "status": "True", "n": 1, "at": {"node": "x"}},
			{"type": "Synced", "status": "True", "n": 2, "at": {"node": "y"}}]}}`
	var obj any
	if err := wire.UnmarshalJSON([]byte(doc), &obj); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"{.status.phase}":                              "[Running]",
		".status.phase":                                "[Running]",
		"status.phase":                                 "[Running]",
		" {$.status.phase} ":                           "[Running]",
		"{.status['phase']}":                           "[Running]",
		`{['status']["phase"]}`:                        "[Running]",
		`{.spec.replicas}`:                             "[1000000]",
		`{.spec.share}`:                                "[0.5]",
		`{.spec.paused}`:                               "[false]",
		`{.spec.none}`:                                 "[]",
		`{.spec.missing.deeper}`:                       "[]",
		`{.status.phase.deeper}`:                       "[]",
		`{.status.phase[0]}`:                           "[]",
		`{.status.conditions.type}`:                    "[]",
		`{.status.conditions[1].n}`:                    "[2]",
		`{.status.conditions[-1].n}`:                   "[2]",
		`{.status.conditions[-2].n}`:                   "[1]",
		`{.status.conditions[-3].n}`:                   "[]",
		`{.status.conditions[2].n}`:                    "[]",
		`{.metadata.annotations['it\'s']}`:             "[quoted]",
		`{.metadata.annotations.example\.com/a}`:       "[dotted]",
		`{.metadata.annotations["example.com/a"]}`:     "[dotted]",
		`{.status.conditions[?(@.type=="Ready")].n}`:   "[1]",
		`{.status.conditions[?(@.type!='Ready')].n}`:   "[2]",
		`{.status.conditions[?( @.n == 2 )].type}`:     "[Synced]",
		`{.status.conditions[?(@.at.node=="y")].n}`:    "[2]",
		`{.status.conditions[?(@.status=="True")].n}`:  "[1 2]",
		`{.status.conditions[?(@.missing=="True")].n}`: "[]",
		`{.status.conditions[?(@.missing!="True")].n}`: "[]",
		`{.status.conditions[?(@.type=="a]b)c")].n}`:   "[]",
		`{.status.conditions[?(@.n==1)].at.node}`:      "[x]",
		`{.status.conditions[?(@.n==1.0)].at.node}`:    "[x]",
		`{.status.conditions[?(@.n!=1.0)].n}`:          "[2]",
		`{.status.conditions[*].n}`:                    "[1 2]",
		`{.status.conditions.*.n}`:                     "[1 2]",
		`{.spec.*}`:                                    "[empty false 1000000 0.5]",
		`{.spec[*]}`:                                   "[]",
		`{.status.phase.*}`:                            "[]",
		`{.status.conditions[0:1].n}`:                  "[1]",
		`{.status.conditions[1:].n}`:                   "[2]",
		`{.status.conditions[:-1].n}`:                  "[1]",
		`{.status.conditions[-5:9].n}`:                 "[1 2]",
		`{.status.conditions[::2].n}`:                  "[1]",
		`{.status.conditions[1:0].n}`:                  "[]",
		`{.status.conditions[0,1].n}`:                  "[1 2]",
		`{.status.conditions[ -1 , 0:1 ].n}`:           "[2 1]",
		`{.status['phase',"missing"]}`:                 "[Running]",
		`{..node}`:                                     "[x y]",
		`{.status..node}`:                              "[x y]",
		`{..phase}`:                                    "[Running]",
		`{..conditions[0].n}`:                          "[1]",
		`{..['phase']}`:                                "[Running]",
		`{.status.conditions[0]..*}`:                   "[map[node:x] 1 True Ready x]",
		`{..[?(@.n<2)].type}`:                          "[Ready]",
		`{.status.conditions[?(@.n<=1)].n}`:            "[1]",
		`{.status.conditions[?(@.n>1.5)].n}`:           "[2]",
		`{.status.conditions[?(@.n>=1)].n}`:            "[1 2]",
		`{.status.conditions[?(@.n<"2")].n}`:           "[]",
		`{.status.conditions[?(@.type<"S")].n}`:        "[1]",
		`{.status.conditions[?(@.type<2)].n}`:          "[]",
		`{.status.conditions[?(@.at)].n}`:              "[1 2]",
		`{.status.conditions[?( @.at.missing )].n}`:    "[]",
	} {
		steps, err := parsePath(path)
		if err != nil {
			t.Errorf("parsePath(%q) = %v", path, err)
			continue
		}
		if got := fmt.Sprint(find(steps, obj, nil)); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}

func TestInvalidPathsAreErrors(t *testing.T) {
	for path, want := range map[string]string{
		"":                           "it has no field",
		"{}":                         "it has no field",
		"{.}":                        "the name of a field is empty",
		"{.status.phase":             "the closing } is missing",
		"{.status.phase}=Running":    "the closing } is missing",
		"{.a}{.b}":                   `want a dot or a bracket before "}{.b"`,
		"{.a[0}":                     "[0 is not supported",
		"{.a[0:2:0]}":                "[0:2:0] is not supported: want an index, a slice",
		"{.a[0:1:2:3]}":              "[0:1:2:3] is not supported",
		"{.a[0:b]}":                  "[0:b] is not supported",
		"{.a[]}":                     "[] is not supported",
		"{.a[0,]}":                   "] is not supported",
		"{..}":                       "the name of a field is empty",
		"{.a...b}":                   "it has .. more than once",
		"{..a..b}":                   "it has .. more than once",
		"{.a[?(@.b=1)]}":             "a filter must compare with ==, !=, <, <=, > or >=",
		"{.a['b}":                    "a closing quote is missing",
		"{.a['']}":                   "the name of a field is empty",
		"{.a['b'}":                   "a closing ] is missing",
		"{.a[?(.b=='c')]}":           "a filter must begin with @",
		"{.a[?(@.b==)]}":             "the value of a filter is missing",
		"{.a[?(@.b==c)]}":            "c, is neither a number nor a boolean: put a string in quotes",
		"{.a[?(@.b!=@.c)]}":          "@.c, is neither a number nor a boolean: put a string in quotes",
		"{.a[?(@.b<inf)]}":           "inf, is neither a number nor a boolean: put a string in quotes",
		"{.a[?(@.b=='c']}":           "a closing ) is missing",
		"{.a[?(@.b=='c')}":           "a closing ] is missing",
		"{.a b}":                     `want a dot or a bracket before " b"`,
		"{.a[99999999999999999999]}": "is not supported",
	} {
		steps, err := parsePath(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parsePath(%q) = %v, %v; want an error with %q", path, steps, err, want)
		}
	}
}

// FuzzPath checks that no path and no document lead to a panic, and that a path that the parser accepts finds nothing
// in null.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"{.a}", `{.a[?(@.b=="c")].d}`, "{.a[-1]['b']}", `a\.b`, "{[", "[?(@", "{..a[*]}", "{.a.*[0:1,2]}", "[?(@.d<=1)]"} {
		f.Add(path, `{"a": [{"b": "c", "d": 1}]}`)
	}
	f.Fuzz(func(t *testing.T, path, doc string) {
		steps, err := parsePath(path)
		if err != nil {
			return
		}
		if len(steps) == 0 || len(find(steps, nil, nil)) > 0 {
			t.Errorf("%q has %d steps and finds something in null", path, len(steps))
		}
		var obj any
		if wire.UnmarshalJSON([]byte(doc), &obj) == nil {
			find(steps, obj, nil)
		}
		if !declares[map[string]any](steps) && steps[0].name != "" {
			t.Errorf("a map declares no %q", path)
		}
	})
}
