// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command testreport reads the output of `go test -json` and prints the output of `go test`. It also prints the tests
// that were skipped, with their reasons. Run it in a pipe with pipefail, so that the exit status of go test is kept.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := report(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// event is an event as described by `go doc test2json` and `go help buildjson`.
type event struct {
	Action, Package, Test, Output string
}

// test identifies a running test, or a package if the name is empty.
type test struct{ pkg, name string }

func report(in io.Reader, out io.Writer) error {
	printed := map[test]string{} // the output of running tests
	skipped := map[string][]test{}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "output", Output: line} // a message of the go command
			}
			e.report(out, printed, skipped)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(out, "NOT RUN: %s\n", why)
		for _, t := range skipped[why] {
			fmt.Fprintf(out, "         %s %s\n", t.pkg, t.name)
		}
	}
	return nil
}

// report prints the output of packages immediately, and the output of a test if it fails.
func (e event) report(out io.Writer, printed map[test]string, skipped map[string][]test) {
	this := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "output":
		switch {
		case e.Test != "":
			printed[this] += e.Output
		case strings.HasPrefix(e.Output, "FAIL"): // the package has ended, and with it all running tests
			for _, t := range slices.SortedFunc(maps.Keys(printed), func(a, b test) int { return strings.Compare(a.name, b.name) }) {
				if t.pkg == e.Package {
					fmt.Fprint(out, printed[t])
					delete(printed, t)
				}
			}
			fmt.Fprint(out, e.Output)
		case e.Output != "PASS\n":
			fmt.Fprint(out, e.Output)
		}
	case "fail":
		fmt.Fprint(out, printed[this])
		delete(printed, this)
	case "skip":
		if e.Test != "" { // otherwise the package has no tests, and its output has the reason
			why := reason(printed[this])
			skipped[why] = append(skipped[why], this)
		}
		delete(printed, this)
	case "pass":
		delete(printed, this)
	}
}

// noise matches the output of a skipped test other than its reason. It is never changed.
var noise = regexp.MustCompile(`(?m)^(=== .*|\s*--- SKIP: .*)$|^\s+[^ :]+\.go:\d+: `)

func reason(printed string) string {
	why := strings.Join(strings.Fields(noise.ReplaceAllString(printed, "")), " ")
	return cmp.Or(strings.TrimPrefix(why, "not run: "), "no reason is given")
}
