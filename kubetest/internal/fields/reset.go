// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// resetFields returns the filter of fields that a request for a subresource of a kind can change, or nil if it can
// change all fields. These are the rules of GetResetFields in the strategies of Kubernetes. The strategies of the
// subresources resize and ephemeralcontainers have rules too, but the server does not use them.
func resetFields(kind schema.GroupKind, subresource string, custom *Custom) fieldpath.Filter {
	if custom != nil {
		return customResetFields(subresource, custom)
	}
	switch subresource {
	case "":
		return mainResetFields(kind)
	case "status":
		return statusResetFields(kind)
	case "approval":
		return except(path("spec"), path("status", "certificate"))
	case "finalize":
		return except(path("status"))
	default:
		return nil
	}
}

func customResetFields(subresource string, custom *Custom) fieldpath.Filter {
	switch {
	case subresource == "" && custom.Status:
		return except(path("status"))
	case subresource == "status":
		return except(path("metadata"), path("spec"))
	default:
		return nil
	}
}

func mainResetFields(kind schema.GroupKind) fieldpath.Filter {
	switch kind {
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return except(path("spec"), path("status"))
	default:
		return except(path("status")) // kinds without a status have no such field
	}
}

func statusResetFields(kind schema.GroupKind) fieldpath.Filter {
	switch kind.Group + "/" + kind.Kind {
	case "/Pod":
		return except(path("spec"), path("metadata", "deletionTimestamp"), path("metadata", "ownerReferences"))
	case "apps/Deployment":
		return except(path("spec"), path("metadata", "labels"))
	case "certificates.k8s.io/CertificateSigningRequest":
		return except(path("spec"), path("status", "conditions"))
	case "admissionregistration.k8s.io/ValidatingAdmissionPolicy", "apiregistration.k8s.io/APIService",
		"certificates.k8s.io/PodCertificateRequest",
		"flowcontrol.apiserver.k8s.io/FlowSchema", "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
		"internal.apiserver.k8s.io/StorageVersion", "networking.k8s.io/ServiceCIDR",
		"resource.k8s.io/DeviceTaintRule", "resource.k8s.io/ResourceClaim",
		"resource.k8s.io/ResourcePoolStatusRequest", "scheduling.k8s.io/PodGroup",
		"storage.k8s.io/CSINode", "storage.k8s.io/VolumeAttachment", "storagemigration.k8s.io/StorageVersionMigration":
		return except(path("metadata"), path("spec"))
	default:
		return except(path("spec"))
	}
}

func except(paths ...fieldpath.Path) fieldpath.Filter {
	return fieldpath.NewExcludeSetFilter(fieldpath.NewSet(paths...))
}

func path(fields ...any) fieldpath.Path {
	return fieldpath.MakePathOrDie(fields...)
}
