// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// ofControllerGen returns the error for an argument of controller-gen, with its equivalent, or "" for other arguments.
func ofControllerGen(arg string) string {
	name, value, hasValue := strings.Cut(arg, "=")
	name, _, hasOptions := strings.Cut(name, ":")
	what, remedy := fmt.Sprintf("%q is an argument of controller-gen", arg), ""
	switch equivalent := equivalents()[name]; {
	case name == "paths" && hasValue:
		separates := func(r rune) bool { return strings.ContainsRune("{},;\" ", r) }
		remedy = "write " + strings.Join(strings.FieldsFunc(value, separates), " ")
	case name == "output" && hasOptions && hasValue:
		remedy = "write -out " + value
	case equivalent != "" && (hasOptions || name != equivalent):
		remedy = "the command is kube-derive " + equivalent
	default:
		return ""
	}
	return what + ": " + remedy + `; see "Moving from controller-gen" in the documentation of kube-derive`
}

// equivalents returns the commands that do what the generators of controller-gen do.
func equivalents() map[string]string {
	return map[string]string{
		"crd": "crd", "object": "deepcopy", "rbac": "rbac", "webhook": "webhook", "applyconfiguration": "apply",
	}
}
