// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/kube-go/sdk/kubetest/internal/journal"
)

// The authors of requests.
const (
	Story   = "story"
	Program = "program"
	Other   = "other" // another client
)

// Kind is a kind of fault.
type Kind int

// The faults. Each happens once in a run, at one request.
const (
	Crash    Kind = iota // the program ends after the write, without its response, and starts again
	Cut                  // all connections of the program are cut after the write, without its response
	Refusal              // the request has no effect, and the server responds with an internal error
	Conflict             // another client changes the object before the write
	Stale                // the watches of the program are held back for a minute, from before the write
	Outage               // the program ends before the write of the story, and starts again a minute later
)

// String returns what happens, as the beginning of a sentence that ends with a request.
func (k Kind) String() string {
	return [...]string{
		"crash after", "cut connections after", "error for", "another client before", "stale watches from", "outage at",
	}[k]
}

// Fault is a fault at a request.
type Fault struct {
	Kind
	journal.Request
}

// String describes the fault.
func (f Fault) String() string {
	text := f.Kind.String() + " "
	if f.Author != Program {
		text += f.Author + " "
	}
	text += f.Method + " " + f.Path
	if f.N > 1 {
		text += fmt.Sprint(" ", f.N)
	}
	return text
}

// Name returns the name of the test of the fault.
func (f Fault) Name() string { return TestName(f.String()) }

// TestName returns a text as the name of a subtest. It has no slashes, which would separate names, and no characters
// that have a meaning in the patterns of go test -run.
func TestName(text string) string {
	return strings.NewReplacer("/", " ", "*", "x", "[", " ", "]", "", "(", " ", ")", "").Replace(text)
}

// Operation is a request that had effects, or a read of the program.
type Operation struct {
	journal.Request

	Creates bool // it has created an object, which nobody can change before
}

// Plan returns the faults for the operations of a run. Of equal reads between two writes, only the first has a fault.
func Plan(operations []Operation) []Fault {
	var faults []Fault
	read := make(map[string]bool) // the paths since the last write
	add := func(r journal.Request, kinds ...Kind) {
		for _, kind := range kinds {
			faults = append(faults, Fault{kind, r})
		}
	}
	for _, o := range operations {
		r := o.Request
		if r.Method == http.MethodGet {
			if !read[r.Path] {
				add(r, Refusal)
			}
			read[r.Path] = true
			continue
		}
		clear(read)
		switch {
		case r.Author == Story:
			add(r, Stale, Outage)
		case r.Author == Other:
		case o.Creates, r.Method == http.MethodPost:
			add(r, Crash, Cut, Refusal, Stale)
		default:
			add(r, Crash, Cut, Refusal, Conflict, Stale)
		}
	}
	return faults
}
