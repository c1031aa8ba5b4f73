// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
)

// release matches the version of a Kubernetes module, whose second number is the minor version of Kubernetes.
var release = regexp.MustCompile(`^v0\.([0-9]+)\.`)

// Link returns the address of the documentation of a type of another module: in the reference of its Kubernetes
// release, or on pkg.go.dev.
func Link(pkgPath, moduleVersion, name string) string {
	name, _, _ = strings.Cut(name, "[")
	if m := release.FindStringSubmatch(moduleVersion); m != nil {
		if place := referencePlace(pkgPath); place != "" {
			return "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1." + m[1] + "/#" + strings.ToLower(name) + "-" + place
		}
	}
	return "https://pkg.go.dev/" + pkgPath + "#" + name
}

// referencePlace returns the suffix of anchors in the Kubernetes reference for a package, or "" if the reference does
// not have the package.
func referencePlace(pkgPath string) string {
	if pkgPath == "k8s.io/apimachinery/pkg/apis/meta/v1" {
		return "v1-meta"
	}
	rest, ok := strings.CutPrefix(pkgPath, "k8s.io/api/")
	group, version, two := strings.Cut(rest, "/")
	if !ok || !two {
		return ""
	}
	switch group {
	case "core", "apps", "batch", "autoscaling", "policy":
		return version + "-" + group
	case "rbac":
		group = "rbac.authorization"
	case "flowcontrol":
		group = "flowcontrol.apiserver"
	case "apiserverinternal":
		group = "internal.apiserver"
	}
	return version + "-" + strings.ReplaceAll(group, ".", "-") + "-k8s-io"
}
