// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package forms has enums that are made of constants, unions, and types that encode themselves.
package forms

import (
	"fmt"
)

// FormSpec is the spec.
//
//kube:resource group=forms.example.com version=v1 kind=Form
type FormSpec struct {
	Color    Color    `json:"color,omitempty"`
	Speed    Speed    `json:"speed,omitempty"`
	Source   Source   `json:"source,omitzero"`
	Target   Target   `json:"target,omitzero"`
	Schedule Schedule `json:"schedule,omitzero"`
	Window   Window   `json:"window,omitzero"`
	Rate     *Rate    `json:"rate,omitempty"`
}

// Color is one of the constants, in whichever file they are.
// +k8s:enum
type Color string

// The colors.
const (
	Red  Color = "Red"
	Blue Color = "Blue"
	// +k8s:enumExclude
	Secret Color = "Secret"
	Azure        = Blue // another name of one
)

// Speed is one of the numbers.
// +k8s:enum
type Speed int

// The speeds.
const (
	_ Speed = iota * 10
	Slow
	Fast
	limit = Fast + 1 // of its type, too
)

// Source is a union whose type says which member is there.
type Source struct {
	// +k8s:unionDiscriminator
	Type SourceType `json:"type"`

	// +k8s:unionMember
	Git *Git `json:"git,omitempty"`
	// +k8s:unionMember(memberName: "HTTP")
	Web *Web `json:"in-web,omitempty"`
}

// SourceType says which.
// +kubebuilder:validation:Enum=Git;HTTP;None
type SourceType string

// Git is a member.
type Git struct {
	URL string `json:"url"`
}

// Web is a member.
type Web struct {
	URL string `json:"url"`
}

// Target has two unions: of the one, exactly one member is there, of the other at most one.
type Target struct {
	// +k8s:unionMember(union: "place")
	Local *string `json:"local,omitempty"`
	// +k8s:unionMember(union: "place")
	Remote *string `json:"remote,omitempty"`

	// +k8s:zeroOrOneOfMember(union: "limit")
	Bytes *int64 `json:"bytes,omitempty"`
	// +k8s:zeroOrOneOfMember(union: "limit")
	Files *int32 `json:"files,omitempty"`
}

// Schedule is a union in the words of kubebuilder.
// +kubebuilder:validation:ExactlyOneOf=once;cron
type Schedule struct {
	Once *string `json:"once,omitempty"`
	Cron *string `json:"cron,omitempty"`
}

// Window encodes itself, as an object of the fields that it has in Go.
// +kubebuilder:validation:Type=object
type Window struct {
	// +kubebuilder:default=1
	Hours int `json:"hours,omitempty"`
}

// MarshalJSON leaves out what is the default.
func (w Window) MarshalJSON() ([]byte, error) {
	if w.Hours == 1 {
		return []byte("{}"), nil
	}
	return fmt.Appendf(nil, `{"hours":%d}`, w.Hours), nil
}

// Rate encodes itself, as a text.
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^[0-9]+/s$`
type Rate struct{ perSecond int }

// MarshalJSON writes it.
func (r Rate) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%d/s"`, r.perSecond), nil }
