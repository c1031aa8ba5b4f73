// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core"
)

// UnknownResourceError says that a name fits nothing the server has.
type UnknownResourceError struct {
	Name   string
	Nearby []string // names that come near
	Stale  []string // group versions whose server did not answer, one of which may have it
}

// Error names the name, and where else to look.
func (e *UnknownResourceError) Error() string {
	msg := fmt.Sprintf("the server has no resource %q", e.Name)
	if len(e.Stale) > 0 {
		msg += ", as far as it knows: " + strings.Join(e.Stale, ", ") + " did not answer it"
	}
	if len(e.Nearby) > 0 {
		return msg + "; did you mean " + strings.Join(e.Nearby, " or ") + "?"
	}
	return msg + "; a resource that a CustomResourceDefinition defines must be installed first"
}

// Resolve finds a resource by its plural, singular or short name or its kind, in any case, alone or followed by a group
// or by a version with a group: deploy, Deployment, deployments.apps, deployments.v1.apps. Of several the one that
// the server prefers is taken.
//
// Errors: [*UnknownResourceError].
func (d *Discovery) Resolve(name string) (core.Resource, error) {
	lower := strings.ToLower(name)
	for _, match := range []func(core.Resource, string) bool{hasPlural, hasOtherName} {
		for _, r := range d.resources {
			if matches(r, lower, match) {
				return r, nil
			}
		}
	}
	return core.Resource{}, &UnknownResourceError{Name: name, Nearby: d.nearby(lower), Stale: d.Stale()}
}

// matches tries the name as a whole, then as name.group, then as name.version.group.
func matches(r core.Resource, name string, match func(core.Resource, string) bool) bool {
	if match(r, name) {
		return true
	}
	short, rest, ok := strings.Cut(name, ".")
	return ok && match(r, short) && (rest == r.Group || rest == r.Version+"."+r.Group || r.Group == "" && rest == r.Version)
}

func hasPlural(r core.Resource, name string) bool { return r.Plural == name }

func hasOtherName(r core.Resource, name string) bool {
	if name == "" { // as some resources' singular is
		return false
	}
	return r.Singular == name || strings.ToLower(r.Kind) == name || slices.Contains(r.ShortNames, name)
}

// nearby returns up to three plural names that differ from name in a few letters.
func (d *Discovery) nearby(name string) []string {
	name, _, _ = strings.Cut(name, ".")
	type candidate struct {
		plural string
		far    int
	}
	var found []candidate
	for _, r := range d.resources {
		far := distance(name, r.Plural)
		if r.Singular != "" {
			far = min(far, distance(name, r.Singular))
		}
		if far <= max(1, len(name)/3) {
			found = append(found, candidate{r.String(), far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.plural, b.plural))
	})
	var names []string
	for _, c := range slices.Compact(found) {
		names = append(names, c.plural)
	}
	return names[:min(len(names), 3)]
}

// distance is how many letters must be inserted, removed or replaced to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
