// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"maps"
	"strings"
)

// volume returns the rule of a volume of a pod.
func volume() rule {
	return all(
		emptyDir,
		within("image", imagePullPolicy("pullPolicy", "reference")),
		within("secret", unset("defaultMode", 0o644)),
		within("configMap", unset("defaultMode", 0o644)),
		within("downwardAPI", unset("defaultMode", 0o644), within("items[].fieldRef", fieldRef())),
		within("projected",
			unset("defaultMode", 0o644),
			within("sources[]",
				within("downwardAPI.items[].fieldRef", fieldRef()),
				within("serviceAccountToken", unset("expirationSeconds", 3600)),
			),
		),
		within("ephemeral.volumeClaimTemplate", ensure("spec", claimSpec())),
		volumeSource(),
	)
}

// emptyDir makes a volume without a source an emptyDir.
func emptyDir(volume map[string]any) {
	for name, value := range volume {
		if name != "name" && value != nil {
			return
		}
	}
	volume["emptyDir"] = map[string]any{}
}

// volumeSource returns the rule of the sources that volumes of pods and persistent volumes have.
func volumeSource() rule {
	return all(
		within("hostPath", unset("type", "")),
		within("iscsi", zero("iscsiInterface", "default")),
		within("rbd", zero("pool", "rbd"), zero("user", "admin"), zero("keyring", "/etc/ceph/keyring")),
		within("azureDisk",
			unset("cachingMode", "ReadWrite"), unset("fsType", "ext4"), unset("readOnly", false), unset("kind", "Shared"),
		),
		within("scaleIO", zero("storageMode", "ThinProvisioned"), zero("fsType", "xfs")),
	)
}

// claim returns the rule of a persistent volume claim, or of a template of a StatefulSet.
func claim() rule {
	return all(
		ensure("spec", claimSpec()),
		ensure("status", zero("phase", "Pending"), rounded("capacity", "allocatedResources")),
	)
}

func claimSpec() rule {
	return all(unset("volumeMode", "Filesystem"), within("resources", rounded("limits", "requests")))
}

func persistentVolume() rule {
	return all(
		ensure("spec",
			zero("persistentVolumeReclaimPolicy", "Retain"),
			unset("volumeMode", "Filesystem"),
			volumeSpec(),
		),
		ensure("status", zero("phase", "Pending")),
	)
}

// volumeSpec returns the rule of the spec of a persistent volume, also of one that is part of a VolumeAttachment.
func volumeSpec() rule { return all(rounded("capacity"), volumeSource()) }

// dataSources makes dataSource and dataSourceRef of a new claim equal. A dataSource of another kind than those that it
// was made for is ignored.
func dataSources(spec map[string]any) {
	source, ref := object(spec, "dataSource"), object(spec, "dataSourceRef")
	if source != nil && ref == nil && !isClassic(source) {
		delete(spec, "dataSource")
		return
	}
	switch {
	case source != nil && ref == nil:
		spec["dataSourceRef"] = maps.Clone(source)
	case ref != nil && source == nil && text(ref, "namespace") == "":
		source = maps.Clone(ref)
		delete(source, "namespace")
		spec["dataSource"] = source
	}
}

func isClassic(source map[string]any) bool {
	kind := strings.TrimSuffix(text(source, "kind")+"."+text(source, "apiGroup"), ".")
	return kind == "PersistentVolumeClaim" || kind == "VolumeSnapshot.snapshot.storage.k8s.io"
}
