// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// stableKinds returns the stable kinds of k8s.io/api with samples for a namespace. The samples have no effect in a
// cluster.
func stableKinds(t *testing.T, namespace string) []kind {
	t.Helper()
	labels := map[string]string{"app": "e2e"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: samplePod()}
	quantities := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1500Mi")}
	return []kind{
		kindOf[corev1.Binding](nil),
		kindOf[corev1.ComponentStatus](nil),
		kindOf(&corev1.ConfigMap{Data: map[string]string{"k": "ü"}, BinaryData: map[string][]byte{"b": {0, 255}}}),
		kindOf(&corev1.Endpoints{Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // deprecated, but served
			Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: []corev1.EndpointPort{{Port: 80}},
		}}}),
		kindOf(&corev1.Event{Reason: "Sample", FirstTimestamp: metav1.Now(), InvolvedObject: corev1.ObjectReference{Namespace: namespace}}),
		kindOf(&corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePersistentVolumeClaim, Max: quantities}}}}),
		kindOf[corev1.Namespace](nil),
		kindOf(&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true, PodCIDR: "192.0.2.0/24"}}),
		kindOf(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
			Capacity: quantities, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: "none",
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "192.0.2.1", Path: "/"}},
		}}),
		kindOf(&corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("none"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}),
		kindOf(&corev1.Pod{Spec: samplePod()}),
		kindOf(&corev1.PodTemplate{Template: template}),
		kindOf(&corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Replicas: new(int32(0)), Selector: labels, Template: &template}}),
		kindOf(&corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/leases.coordination.k8s.io": resource.MustParse("1k")}}}),
		kindOf(&corev1.Secret{Data: map[string][]byte{"b": {0, 1, 254, 255}}}),
		kindOf(&corev1.Service{Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}}}}),
		kindOf(&corev1.ServiceAccount{AutomountServiceAccountToken: new(false)}),

		kindOf[admissionregistrationv1.MutatingAdmissionPolicy](nil),
		kindOf[admissionregistrationv1.MutatingAdmissionPolicyBinding](nil),
		kindOf(&admissionregistrationv1.MutatingWebhookConfiguration{}),
		kindOf(&admissionregistrationv1.ValidatingAdmissionPolicy{Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"none.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"nones"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "true"}},
		}}),
		kindOf(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "none", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn},
		}}),
		kindOf(&admissionregistrationv1.ValidatingWebhookConfiguration{}),

		kindOf(&appsv1.ControllerRevision{Revision: 3, Data: runtime.RawExtension{Raw: []byte(`{"a":[1,"b"]}`)}}),
		kindOf(&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}),
		kindOf(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: selector, Template: template}}),
		kindOf(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Selector: selector, Template: template}}),
		kindOf(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0)), Selector: selector, Template: template, ServiceName: "sample"}}),

		kindOf[authenticationv1.SelfSubjectReview](nil),
		kindOf[authenticationv1.TokenReview](nil),
		kindOf[authorizationv1.LocalSubjectAccessReview](nil),
		kindOf[authorizationv1.SelfSubjectAccessReview](nil),
		kindOf[authorizationv1.SelfSubjectRulesReview](nil),
		kindOf[authorizationv1.SubjectAccessReview](nil),

		kindOf(&autoscalingv1.HorizontalPodAutoscaler{Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			MaxReplicas: 2, ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "none", APIVersion: "apps/v1"},
		}}),
		kindOf[autoscalingv2.HorizontalPodAutoscaler](nil), // the same objects as in autoscaling/v1
		kindOf(&batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", Suspend: new(true), JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: finite(template)}}}}),
		kindOf(&batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true), Template: finite(template)}}),
		kindOf(&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: certificateRequest(t), SignerName: "example.com/nobody", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		}}),
		kindOf(&certificatesv1.ClusterTrustBundle{Spec: certificatesv1.ClusterTrustBundleSpec{TrustBundle: authority(t)}}),
		kindOf[certificatesv1.PodCertificateRequest](nil), // for a key of a kubelet
		kindOf(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("me"), RenewTime: &metav1.MicroTime{Time: time.Now()}}}),
		kindOf(&discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}}}),
		kindOf[eventsv1.Event](nil), // the same objects as in the core group
		kindOf[flowcontrolv1.FlowSchema](nil),
		kindOf[flowcontrolv1.PriorityLevelConfiguration](nil),

		kindOf(&networkingv1.Ingress{Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "none", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}}),
		kindOf(&networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: "example.com/nobody"}}),
		kindOf[networkingv1.IPAddress](nil),
		kindOf(&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PodSelector: *selector}}),
		kindOf[networkingv1.ServiceCIDR](nil),
		kindOf(&nodev1.RuntimeClass{Handler: "none"}),
		kindOf(&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromString("50%")), Selector: selector}}),
		kindOf(&rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/none"}, Verbs: []string{"get"}}}}),
		kindOf(&rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "none"}}),
		kindOf(&rbacv1.Role{Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}),
		kindOf(&rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "none"}}),
		kindOf(&resourcev1.DeviceClass{}),
		kindOf(&resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: new("none.example.com")},
			Taint:          resourcev1.DeviceTaint{Key: "example.com/broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		}}),
		kindOf(&resourcev1.ResourceClaim{}),
		kindOf(&resourcev1.ResourceClaimTemplate{}),
		kindOf(&resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
			Driver: "none.example.com", Pool: resourcev1.ResourcePool{Name: "none", ResourceSliceCount: 1}, AllNodes: new(true),
		}}),
		kindOf(&schedulingv1.PriorityClass{Value: -7, Description: "nobody's"}),
		kindOf(&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}),
		kindOf(&storagev1.CSINode{}),
		kindOf(&storagev1.CSIStorageCapacity{StorageClassName: "none", Capacity: new(resource.MustParse("0.5Gi"))}),
		kindOf(&storagev1.StorageClass{Provisioner: "example.com/nobody", Parameters: map[string]string{"a": "b"}}),
		kindOf(&storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "example.com", NodeName: "none", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("none")},
		}}),
		kindOf(&storagev1.VolumeAttributesClass{DriverName: "none.example.com", Parameters: map[string]string{"a": "b"}}),
	}
}

// samplePod returns the spec of a pod that no node can run, with fields of many types.
func samplePod() corev1.PodSpec {
	return corev1.PodSpec{
		NodeSelector:                  map[string]string{"example.com/no": "node"},
		TerminationGracePeriodSeconds: new(int64(5)),
		Tolerations:                   []corev1.Toleration{{Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(3)), Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{
			Name: "main", Image: "none", Args: []string{"-a", ""},
			Env: []corev1.EnvVar{
				{Name: "EMPTY"},
				{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			},
			Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.25"), corev1.ResourceMemory: resource.MustParse("1e3")}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080), HTTPHeaders: []corev1.HTTPHeader{{Name: "A", Value: "b"}}},
			}},
			SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1000)), ReadOnlyRootFilesystem: new(true)},
			VolumeMounts:    []corev1.VolumeMount{{Name: "all", MountPath: "/all"}},
		}},
		Volumes: []corev1.Volume{{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: new(true)}}},
		}}}},
	}
}

// finite returns a template of pods that are not restarted, as jobs require.
func finite(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return template
}

// certificateRequest returns a certificate request in PEM.
func certificateRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// authority returns the certificate of an authority that signs nothing.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nobody"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
