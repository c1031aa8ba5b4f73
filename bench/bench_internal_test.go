// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain runs a case if the program was started as a child process of a test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-trial" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
			panic(err) // the parent sees it in the error output
		}
		return
	}
	m.Run()
}

// tiny is a size at which each case takes a fraction of a second.
func tiny() size { return size{objects: 50, time: 5 * time.Millisecond} }

// TestEachCaseWorks runs each case in this process, with few objects.
func TestEachCaseWorks(t *testing.T) {
	all, err := collections(tiny().objects)
	if err != nil {
		t.Fatal(err)
	}
	got := results{}
	for _, trial := range trialsOf(figures()) {
		server, url, stop, err := serve(trial, tiny(), all)
		if err != nil {
			t.Fatal(err)
		}
		e := &env{size: tiny(), url: url, control: server, profile: func() error { return nil }}
		v, err := trial.run(t.Context(), e)
		stop()
		if err != nil {
			t.Fatalf("case %s: %v", trial.name, err)
		}
		got[trial.name] = []values{v}
	}
	for _, f := range figures() {
		for _, v := range append([]value{f.ours}, f.peers...) {
			if _, ok := got[v.trial.name][0][v.name]; !ok {
				t.Errorf("figure %q: case %s has no value %s, but %v", f.name, v.trial.name, v.name, got[v.trial.name][0])
			}
		}
	}
	if ours, theirs := got["read/ours"][0]["pods"], got["read/informer"][0]["pods"]; ours != theirs || ours == 0 {
		t.Errorf("the SDK finds %v pods of a node, and client-go %v", ours, theirs)
	}
	if n := got["watches/controller-runtime"][0]["watches"]; n != 3 {
		t.Errorf("controller-runtime has %v watches, want 3", n)
	}
}

func TestCommandRunsCasesInChildProcesses(t *testing.T) {
	var out bytes.Buffer
	const figures = "^heap per pod$|watches|server to the reconcile with its object, p50"
	args := []string{"-n", "50", "-repeat", "2", "-time", "1ms", "-run", figures}
	if err := run(t.Context(), args, nil, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.HasPrefix(lines[2], "FIGURE") || !strings.HasPrefix(lines[3], "heap per pod") {
		t.Errorf("the command has printed\n%s\nwant a heading and a table with 3 figures", out.String())
	}
}

func TestCommandRejectsInvalidArguments(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-run [", "-run: error parsing regexp"},
		{"-run xyz", "matches no figure"},
		{"-n 0", "must be positive"},
		{"heap", `"heap" is not a flag`},
		{"-trial nothing", `case "nothing" does not exist`},
	} {
		err := run(t.Context(), strings.Fields(tt.args), nil, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("bench %s: %v, want an error with %q", tt.args, err, tt.want)
		}
	}
}

func TestFiguresAreComparedWithTheirBars(t *testing.T) {
	ours, slow, fast := &trial{name: "ours"}, &trial{name: "slow"}, &trial{name: "fast"}
	peers := []value{{"slow", slow, "v"}, {"fast", fast, "v"}}
	for _, tt := range []struct {
		name       string
		bar        bar
		ours       []float64
		slow, fast float64
		pass       bool
	}{
		{"the best peer counts", bar{ratio: 0.5}, []float64{4}, 20, 6, false},
		{"the ratio may be reached exactly", bar{ratio: 0.5}, []float64{3}, 20, 6, true},
		{"the median counts", bar{limit: 5}, []float64{9, 4, 4}, 1, 1, true},
		{"the limit is absolute", bar{limit: 5}, []float64{6}, 100, 100, false},
		{"both bounds must be met", bar{limit: 5, ratio: 0.5}, []float64{4}, 1, 1, false},
		{"a rate must be high", bar{ratio: 2, atLeast: true}, []float64{20}, 5, 11, false},
		{"a rate is high", bar{ratio: 2, atLeast: true}, []float64{22}, 5, 11, true},
		{"a difference is too large", bar{more: 3}, []float64{9.5}, 20, 6, false},
		{"a difference is small", bar{more: 4}, []float64{9.5}, 20, 6, true},
		{"no bar is always met", bar{}, []float64{99}, 1, 1, true},
	} {
		f := &figure{name: tt.name, unit: inCount, ours: value{"", ours, "v"}, peers: peers, bar: tt.bar}
		r := results{"slow": {{"v": tt.slow}}, "fast": {{"v": tt.fast}}}
		for _, v := range tt.ours {
			r["ours"] = append(r["ours"], values{"v": v})
		}
		if got := f.row(r).passed; got != tt.pass {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.pass)
		}
	}
}

func TestRatioComparesValuesOfTheSameRound(t *testing.T) {
	ours, peer := value{"", &trial{name: "ours"}, "v"}, value{"peer", &trial{name: "peer"}, "v"}
	r := results{"ours": {{"v": 1}, {"v": 20}, {"v": 3}}, "peer": {{"v": 2}, {"v": 40}, {"v": 3}}}
	f := &figure{unit: inCount, ours: ours, peers: []value{peer}}
	if got := f.row(r).ratio; got != 0.5 {
		t.Errorf("the ratio is %v, want 0.5, as in two of three rounds", got)
	}
}

func TestNamesOfFiguresAndCasesAreUnique(t *testing.T) {
	names, trials := map[string]bool{}, map[string]*trial{}
	for _, f := range figures() {
		if names[f.name] {
			t.Errorf("two figures have the name %q", f.name)
		}
		names[f.name] = true
	}
	for _, f := range selected(regexp.MustCompile("")) {
		for _, v := range append([]value{f.ours}, f.peers...) {
			if before := trials[v.trial.name]; before != nil && (before.limit != v.trial.limit || before.fixed != v.trial.fixed) {
				t.Errorf("two cases have the name %q", v.trial.name)
			}
			trials[v.trial.name] = v.trial
		}
	}
}
