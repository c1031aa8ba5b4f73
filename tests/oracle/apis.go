// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build apis

package oracle

// The modules whose types are compared. The build tag is never set; the file keeps the modules required.
import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	_ "github.com/envoyproxy/gateway/api/v1alpha1"
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/kustomize-controller/api/v1"
	_ "github.com/fluxcd/notification-controller/api/v1"
	_ "github.com/fluxcd/source-controller/api/v1"
	_ "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	_ "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	_ "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	_ "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	_ "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	_ "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	_ "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	_ "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	_ "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	_ "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	_ "sigs.k8s.io/gateway-api/apis/v1"
	_ "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	_ "sigs.k8s.io/network-policy-api/apis/v1alpha1"
)
