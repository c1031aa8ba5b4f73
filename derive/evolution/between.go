// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution

import "fmt"

// added reports a new version.
func (d *comparison) added(before, after *definition, v *version) {
	d.version = v.Name
	d.add("", finding{Compatible, "version", "", text(v.Name), "new version"})
	d.unconverted(before, after, v)
}

// unconverted compares a version that was not served with the storage version, if no webhook converts between them.
func (d *comparison) unconverted(before, after *definition, v *version) {
	stored := before.storage()
	if after.converts() || stored == nil || !v.Served {
		return
	}
	between := &comparison{definition: d.definition, version: v.Name}
	between.schema(stored.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema)
	for _, c := range between.changes {
		if c.Severity == Breaking {
			c.Why = fmt.Sprintf("compared with the storage version %s, without a conversion webhook: %s", stored.Name, c.Why)
			d.changes = append(d.changes, c)
		}
	}
}

// unstored reports fields of a version that are lost on write, because the storage version does not have them and the
// definition has no conversion webhook. Fields that were lost before are not reported.
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
					"without a conversion webhook, the field is dropped on write: the storage version " + after.storage().Name + " does not have it",
				})
			}
		}
	}
}

// unstoredFields returns, by version, the fields that a version has and the storage version does not have, as removals.
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
