// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kube-go/sdk/wasm/host"
)

// errDifferent is the error of a comparison that has found differences.
var errDifferent = errors.New("the module does not write what the recording has")

// compareFile compares what a module writes with a recording. It prints fields, but no values, and origins of other
// servers, but no paths: they may be secret.
func compareFile(ctx context.Context, args []string, stdout io.Writer) error {
	return withRecording("compare", args, func(binary []byte, recording io.Reader) error {
		found, err := host.Compare(ctx, binary, recording, nil)
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, d := range found.Differences {
			fmt.Fprintf(&b, "%s: %s\n", printable(withoutPath(d.Subject)), printable(difference(d)))
		}
		fmt.Fprintf(&b, "%d calls, %d writes are the same, %d differ\n", found.Calls, found.Same, len(found.Differences))
		if _, err := io.WriteString(stdout, b.String()); err != nil {
			return err
		}
		if len(found.Differences) > 0 {
			return errDifferent
		}
		return nil
	})
}

// withoutPath returns a subject with the beginning of a hash in place of what follows the origin of another server.
func withoutPath(subject string) string {
	method, target, _ := strings.Cut(subject, " ")
	scheme, rest, found := strings.Cut(target, "://")
	if !found || strings.HasPrefix(target, "/") {
		return subject
	}
	host, path := rest, ""
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		host, path = rest[:n], rest[n:]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	return fmt.Sprintf("%s %s://%s/… (%.4x)", method, scheme, host, sha256.Sum256([]byte(path)))
}

// difference returns what is different.
func difference(d host.Difference) string {
	switch {
	case d.Now == nil:
		return "only in the recording"
	case d.Recorded == nil:
		return "not in the recording"
	}
	var recorded, now any
	if json.Unmarshal(d.Recorded, &recorded) != nil || json.Unmarshal(d.Now, &now) != nil {
		return "another body"
	}
	return "other values of " + strings.Join(fieldsThatDiffer("", recorded, now), ", ")
}

// fieldsThatDiffer returns the paths of the fields in which two JSON values differ.
func fieldsThatDiffer(path string, a, b any) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	x, ok1 := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return []string{path}
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, fieldsThatDiffer(path+"."+name, x[name], y[name])...)
	}
	return all
}
