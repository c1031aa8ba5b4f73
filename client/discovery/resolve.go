// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/internal/spelling"
	"github.com/kube-go/sdk/core"
)

// UnknownResourceError is the error for a name that matches no resource of the server. It does not wrap
// [core.ErrNotFound]. A verb on a kind that was removed fails with a client.NotServedError, which does.
type UnknownResourceError struct {
	Name       string
	IsCategory bool          // the name is a category of resources
	Nearby     []string      // similar names
	Failed     []*GroupError // group versions that could not be discovered, which may contain the resource
}

// Error returns the name, with similar names and the group versions that could not be discovered.
func (e *UnknownResourceError) Error() string {
	if e.IsCategory {
		return fmt.Sprintf("%q is a category of resources, not a resource: name one of them, or resolve it as a category",
			e.Name)
	}
	msg := fmt.Sprintf("the server has no resource %q%s", e.Name, asFarAsKnown(e.Failed))
	if len(e.Nearby) > 0 {
		return msg + "; did you mean " + strings.Join(e.Nearby, " or ") + "?"
	}
	switch {
	case e.Name == "":
		return msg + "; the name is empty"
	case strings.Contains(e.Name, "/"):
		return msg + "; leave out the slash and what follows it"
	}
	return msg + "; a resource that a CustomResourceDefinition defines must be installed first"
}

// asFarAsKnown returns the part of an error that names the group versions that could not be discovered.
func asFarAsKnown(failed []*GroupError) string {
	if len(failed) == 0 {
		return ""
	}
	var names []string
	for _, f := range failed {
		names = append(names, f.GroupVersion.String())
	}
	return ", but " + strings.Join(slices.Compact(names), ", ") + " could not be discovered"
}

// UnknownCategoryError is the error for a category without resources.
type UnknownCategoryError struct {
	Name   string
	Known  []string      // all categories
	Failed []*GroupError // group versions that could not be discovered
}

// Error returns the category, with the categories that exist.
func (e *UnknownCategoryError) Error() string {
	msg := fmt.Sprintf("the server has no category %q%s", e.Name, asFarAsKnown(e.Failed))
	if len(e.Known) == 0 {
		return msg + "; it has no categories"
	}
	return msg + "; it has " + strings.Join(e.Known, ", ")
}

// Resolve finds a resource by its plural, singular or short name or its kind, in any case, alone or followed by a group
// or by a version and a group: deploy, Deployment, deployments.apps, deployments.v1.apps. If several resources match,
// it returns the first of [Discovery.Matches].
//
// Errors: [*UnknownResourceError].
func (d *Discovery) Resolve(name string) (core.Resource, error) {
	if found := d.Matches(name); len(found) > 0 {
		return found[0], nil
	}
	err := d.unknown(name, inGroupOf(name))
	err.IsCategory = slices.Contains(d.Categories(), strings.ToLower(name))
	return core.Resource{}, err
}

// Matches returns all resources that match a name, see [Discovery.Resolve], in this order: matches of the plural, of
// the singular, of the kind, of a short name, and for each of these in the server's order of preference. Resources that
// [Discovery.ForKind] does not return for their kind follow the other matches of a singular or kind. Each resource is
// returned once, in the version that the server prefers among those that match. If there are several, the name is
// ambiguous; adding the group makes it unique, unless both are resources of one kind.
func (d *Discovery) Matches(name string) []core.Resource {
	name = strings.ToLower(name)
	var found []core.Resource
	seen := map[schema.GroupResource]bool{}
	for _, match := range []func(core.Resource, string) bool{
		hasPlural, d.isFirst(hasSingular), d.isFirst(hasKind), hasSingular, hasKind, hasShort,
	} {
		for _, r := range d.served {
			if id := r.GroupVersionResource().GroupResource(); !seen[id] && fits(r.Resource, name, match) {
				seen[id] = true
				found = append(found, r.Resource)
			}
		}
	}
	return found
}

// ResolveCategory returns the resources of a category, such as all, each in the version that the server prefers. The
// caller must not change the contents of their slices.
//
// Errors: [*UnknownCategoryError].
func (d *Discovery) ResolveCategory(name string) ([]core.Resource, error) {
	name = strings.ToLower(name)
	all := slices.DeleteFunc(d.Preferred(), func(r core.Resource) bool { return !slices.Contains(r.Categories, name) })
	if len(all) == 0 {
		return nil, &UnknownCategoryError{Name: name, Known: d.Categories(), Failed: d.Failed()}
	}
	return all, nil
}

// Categories returns all categories in alphabetical order.
func (d *Discovery) Categories() []string {
	all := map[string]bool{}
	for _, r := range d.served {
		for _, c := range r.Categories {
			all[c] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// isFirst limits a match to the resources that ForKind returns.
func (d *Discovery) isFirst(match func(core.Resource, string) bool) func(core.Resource, string) bool {
	return func(r core.Resource, name string) bool {
		return match(r, name) && d.served[d.byKind[r.GroupVersionKind()]].Plural == r.Plural
	}
}

// fits matches the whole name, then name.group, then name.version.group.
func fits(r core.Resource, name string, match func(core.Resource, string) bool) bool {
	if name == "" { // the singular of some resources is empty
		return false
	}
	if match(r, name) {
		return true
	}
	short, rest, ok := strings.Cut(name, ".")
	return ok && short != "" && match(r, short) &&
		(rest == r.Group || rest == r.Version+"."+r.Group || r.Group == "" && rest == r.Version)
}

func hasPlural(r core.Resource, name string) bool { return r.Plural == name }

// hasSingular uses the kind of a resource without a singular, such as those of servers before Kubernetes 1.27.
func hasSingular(r core.Resource, name string) bool {
	return r.Singular == name || r.Singular == "" && hasKind(r, name)
}

func hasKind(r core.Resource, name string) bool { return strings.ToLower(r.Kind) == name }

func hasShort(r core.Resource, name string) bool { return slices.Contains(r.ShortNames, name) }

// unknown returns the error for a name that matches no resource. It contains only the failures of group versions that
// may contain the resource.
func (d *Discovery) unknown(name string, mayContain func(schema.GroupVersion) bool) *UnknownResourceError {
	failed := slices.DeleteFunc(d.Failed(), func(f *GroupError) bool { return !mayContain(f.GroupVersion) })
	return &UnknownResourceError{Name: name, Nearby: d.nearby(strings.ToLower(name)), Failed: failed}
}

// inGroup returns a function that reports whether a group version belongs to a group.
func inGroup(group string) func(schema.GroupVersion) bool {
	return func(gv schema.GroupVersion) bool { return gv.Group == group }
}

// inGroupOf returns a function that reports whether the group of a group version may be that of a name, see
// [Discovery.Resolve]. Without a dot, the name may be that of a resource in any group.
func inGroupOf(name string) func(schema.GroupVersion) bool {
	_, rest, ok := strings.Cut(strings.ToLower(name), ".")
	_, last, _ := strings.Cut(rest, ".")
	return func(gv schema.GroupVersion) bool {
		if gv.Group == "" { // the name must contain its version
			return !ok || strings.TrimSuffix(rest, ".") == gv.Version
		}
		return !ok || rest == gv.Group || last == gv.Group
	}
}

// nearby returns up to three names of resources that differ from name in a few letters. If name has a version that the
// server does not have, they have those that it has.
func (d *Discovery) nearby(name string) []string {
	name, rest, _ := strings.Cut(name, ".")
	_, group, _ := strings.Cut(rest, ".")
	if len(name) > maxNameBytes {
		return nil
	}
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	limit := max(1, len(name)/3)
	for _, r := range d.served {
		far := limit + 1
		for _, other := range append([]string{r.Plural, r.Singular, strings.ToLower(r.Kind)}, r.ShortNames...) {
			if len(other) < minNearBytes {
				continue
			}
			// The distance is at least the difference of the lengths. A server may send very long names.
			if max(len(other)-len(name), len(name)-len(other)) <= limit {
				far = min(far, spelling.Distance(name, other))
			}
		}
		switch {
		case far == 0 && group != "" && group == r.Group:
			found = append(found, candidate{fullName(r.Plural, r.Version, r.Group), far})
		case far <= limit:
			found = append(found, candidate{r.String(), far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range slices.Compact(found) {
		names = append(names, c.name)
	}
	return names[:min(len(names), 3)]
}

// minNearBytes is the minimum length of a name that may be similar to another one: shorter ones are similar to many.
const minNearBytes = 3

// maxNameBytes is the maximum length of a resource's name, which is a DNS label.
const maxNameBytes = 63
