// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import "fmt"

// added notes a new version. Where nothing converts, it is compared with the version in which objects are stored.
func (d *comparison) added(before, after *definition, v *version) {
	d.version = v.Name
	d.add("", finding{Compatible, "version", "", text(v.Name), "a version is new"})
	stored := before.storage()
	if after.converts() || stored == nil || !v.Served {
		return
	}
	between := &comparison{definition: d.definition, version: v.Name}
	between.schema(stored.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema)
	for _, c := range between.changes {
		if c.Severity == Breaking {
			c.Why = fmt.Sprintf("compared with %s, in which objects are stored and from which nothing converts them: %s", stored.Name, c.Why)
			d.changes = append(d.changes, c)
		}
	}
}

// unstored notes fields of a version that are lost when it is written, since the version in which objects are stored does not
// have them and nothing converts. What was so before is no change.
func (d *comparison) unstored(before, after *definition) {
	old := unstoredFields(before)
	for i := range after.Spec.Versions {
		v := &after.Spec.Versions[i]
		known := map[string]bool{}
		for _, c := range old[v.Name] {
			known[c.Path] = true
		}
		d.version = v.Name
		for _, c := range unstoredFields(after)[v.Name] {
			if !known[c.Path] {
				d.add(place(c.Path), finding{
					Risky, "conversion", "", c.Old,
					"what is written here is dropped: " + after.storage().Name + ", in which objects are stored, does not have it, and nothing converts",
				})
			}
		}
	}
}

// unstoredFields returns, by version, what the version has and the one in which objects are stored has not, as the removals
// that it would take to come from one to the other.
func unstoredFields(def *definition) map[string][]Change {
	stored := def.storage()
	if def.converts() || stored == nil {
		return nil
	}
	fields := map[string][]Change{}
	for i := range def.Spec.Versions {
		v := &def.Spec.Versions[i]
		if !v.Served {
			continue
		}
		between := &comparison{}
		between.schema(v.Schema.OpenAPIV3Schema, stored.Schema.OpenAPIV3Schema)
		for _, c := range between.changes {
			if c.Rule == "field" && c.Severity == Breaking {
				fields[v.Name] = append(fields[v.Name], c)
			}
		}
	}
	return fields
}
