// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/machine"
)

// DatabaseSpec is the database that a user needs.
//
//kube:resource group=db.example.com version=v1 kind=Database shortName=db
//kube:description A Database is a PostgreSQL server with replicas, backups and upgrades.
//kube:subresource status
//kube:printcolumn name=State jsonPath=.status.fsm.state
//kube:printcolumn name=Version jsonPath=.status.version
//kube:printcolumn name=Available jsonPath=.status.available type=integer
//kube:printcolumn name=Backup jsonPath=.status.lastBackup type=date
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
type DatabaseSpec struct {
	// Version is the tag of the image, such as "17". A version that does not start is rolled back, and tried again after
	// any change of the spec.
	// +kubebuilder:validation:MinLength=1
	Version string `json:"version"`

	// Replicas is the number of servers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +kubebuilder:default=1
	Replicas int32 `json:"replicas,omitempty"`

	// BackupInterval is the time between two backups.
	// +kubebuilder:default="24h"
	BackupInterval metav1.Duration `json:"backupInterval,omitzero"`

	// KeepBackups is whether a deleted database gets a final backup, and leaves all its backups. Otherwise they are
	// deleted. If its namespace is deleted, there is no final backup.
	// +kubebuilder:default=true
	KeepBackups *bool `json:"keepBackups,omitempty"`

	// DrainTime is how long the clients of a replica have to finish before it is upgraded.
	// +kubebuilder:default="5s"
	DrainTime metav1.Duration `json:"drainTime,omitzero"`

	// Timeout is how long a backup, or the start of an upgraded replica, may take.
	// +kubebuilder:default="5m"
	Timeout metav1.Duration `json:"timeout,omitzero"`
}

// DatabaseStatus is the state of a database.
type DatabaseStatus struct {
	machine.Status `json:",inline"`

	// Version is the version that all replicas had when the database was last complete. It is empty before.
	// +optional
	Version string `json:"version,omitempty"`

	// FailedVersion is the version of an upgrade that was rolled back.
	// +optional
	FailedVersion string `json:"failedVersion,omitempty"`

	// FailedReason is why the upgrade to the failed version was rolled back.
	// +optional
	FailedReason string `json:"failedReason,omitempty"`

	// Available is the number of replicas that serve.
	// +optional
	Available int32 `json:"available,omitempty"`

	// LastBackup is when the last backup was due.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`
}
