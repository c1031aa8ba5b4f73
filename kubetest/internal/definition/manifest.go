// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// manifest has the fields of a definition that this package reads.
type manifest struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     manifestSpec      `json:"spec"`
	Status   manifestStatus    `json:"status"`
}

type manifestSpec struct {
	Group      string            `json:"group"`
	Scope      string            `json:"scope"`
	Names      names             `json:"names"`
	Versions   []manifestVersion `json:"versions"`
	Conversion struct {
		Strategy string `json:"strategy"`
	} `json:"conversion"`
}

type manifestVersion struct {
	Name               string  `json:"name"`
	Served             bool    `json:"served"`
	Storage            bool    `json:"storage"`
	Deprecated         bool    `json:"deprecated"`
	DeprecationWarning *string `json:"deprecationWarning"`
	Schema             struct {
		OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status *struct{} `json:"status"`
		Scale  *Scale    `json:"scale"`
	} `json:"subresources"`
	SelectableFields []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
}

// names are the names of a kind. The order of the fields and the tags are those of the API.
type names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

type manifestStatus struct {
	Conditions         []condition `json:"conditions"`
	AcceptedNames      names       `json:"acceptedNames"`
	StoredVersions     []string    `json:"storedVersions"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	ObservedGeneration int64       `json:"observedGeneration,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}

// read decodes a definition. It ignores unknown fields.
func read(crd *unstructured.Unstructured) (*manifest, error) {
	m := &manifest{}
	return m, runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, m)
}

// storage returns the name of the storage version, or "" without one.
func (s *manifestSpec) storage() string {
	for _, v := range s.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// isTrue reports whether a condition is true.
func (s *manifestStatus) isTrue(conditionType string) bool {
	c := s.find(conditionType)
	return c != nil && c.Status == "True"
}

func (s *manifestStatus) find(conditionType string) *condition {
	i := slices.IndexFunc(s.Conditions, func(c condition) bool { return c.Type == conditionType })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

// set replaces or adds a condition. The time of the last transition is now if the status changes.
func (s *manifestStatus) set(next condition) {
	next.LastTransitionTime = metav1.Now()
	old := s.find(next.Type)
	if old == nil {
		s.Conditions = append(s.Conditions, next)
		return
	}
	if old.Status == next.Status && !old.LastTransitionTime.IsZero() {
		next.LastTransitionTime = old.LastTransitionTime
	}
	*old = next
}

// write sets the status of a definition.
func (s *manifestStatus) write(crd *unstructured.Unstructured) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return err
	}
	crd.Object["status"] = content
	return nil
}
