// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/derive/generate"
)

func TestProgressIsToldToThoseWhoWait(t *testing.T) {
	for _, tt := range []struct {
		name       string
		live       bool
		load, rest time.Duration
		want       string
	}{
		{"a short run says nothing", false, 300 * time.Millisecond, 300 * time.Millisecond, ""},
		{"nor does it on a terminal", true, 300 * time.Millisecond, 300 * time.Millisecond, ""},
		{
			"a long one has a line for each step", false, 2500 * time.Millisecond, time.Second,
			"kube-derive: loaded 3 packages in 2.5 s\nkube-derive: 3 packages, 1 kind, 2 files in 3.5 s\n",
		},
		{
			"and one line in all on a terminal", true, 1500 * time.Millisecond, time.Second,
			"\r\x1b[Kkube-derive: loading packages, 1 s\r\x1b[Kkube-derive: describing 3 packages, 2 s\r\x1b[K" +
				"kube-derive: 3 packages, 1 kind, 2 files in 2.5 s\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := newProgress(streams{err: &out, patience: time.Second}, tt.live)
				time.Sleep(tt.load)
				p.loaded(3)
				time.Sleep(tt.rest)
				p.end()
				p.summary(&generate.Files{Files: make([]generate.File, 2), Packages: 3, Kinds: 1})
				if got := out.String(); got != tt.want {
					t.Errorf("progress = %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestFilesAndBuffersAreNoTerminals(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) || isTerminal(&bytes.Buffer{}) {
		t.Error("isTerminal = true")
	}
}
