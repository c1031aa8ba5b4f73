// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// workload is the owner of some pods.
type workload struct {
	kind       string // Deployment, StatefulSet, DaemonSet or Job
	namespace  string
	name       string
	hash       string
	uid        types.UID
	image      string
	digest     string
	registry   string
	sidecar    bool
	volumes    bool
	created    int
	port       int32
	memory     string
	logLevel   string
	annotation map[string]string
}

func newWorkload(w int) *workload {
	r := source(ofWorkload, w)
	app := pick(r, "web", "api", "worker", "billing", "search", "checkout", "catalog", "gateway", "indexer", "mailer")
	team := fmt.Sprintf("team-%03d", w/5)
	o := &workload{
		kind: pick(r, "Deployment", "Deployment", "Deployment", "Deployment", "Deployment", "Deployment", "Deployment",
			"StatefulSet", "StatefulSet", "DaemonSet", "Job"),
		namespace: team,
		name:      fmt.Sprintf("%s-%s", app, pick(r, "main", "canary", "eu", "us", "internal")+fmt.Sprint(w%5)),
		hash:      suffix(r, 10),
		uid:       uid(r),
		image:     fmt.Sprintf("%s/%s:%d.%d.%d", team, app, r.IntN(4), r.IntN(30), r.IntN(10)),
		digest:    hexadecimal(r, 64),
		registry:  "registry.example.com",
		sidecar:   r.IntN(10) < 3,
		volumes:   r.IntN(10) < 3,
		created:   epoch + r.IntN(5_000_000),
		port:      pick[int32](r, 8080, 8443, 9090, 3000),
		memory:    pick(r, "128Mi", "256Mi", "512Mi", "1Gi"),
		logLevel:  pick(r, "info", "debug", "warn"),
	}
	o.annotation = map[string]string{"prometheus.io/port": fmt.Sprint(o.port), "prometheus.io/scrape": "true"}
	if r.IntN(3) == 0 {
		o.annotation["kubectl.kubernetes.io/restartedAt"] = at(o.created).UTC().Format("2006-01-02T15:04:05Z07:00")
	}
	if r.IntN(3) == 0 {
		o.annotation["checksum/config"] = hexadecimal(r, 64)
	}
	return o
}

// Pod returns a pod.
func Pod(i int) *corev1.Pod {
	r, w := source(ofPod, i), newWorkload(i/replicas)
	node := r.IntN(Nodes)
	ip := fmt.Sprintf("10.%d.%d.%d", 100+node/100, node%100+16, 2+r.IntN(250))
	start := w.created + r.IntN(400_000)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: w.meta(i, r, start),
		Spec:       w.spec(i, node),
		Status:     w.status(r, node, ip, start),
	}
	pod.ManagedFields = managedFields(pod, w.uid)
	return pod
}

// meta returns the metadata without managedFields.
func (w *workload) meta(i int, r *rand.Rand, start int) metav1.ObjectMeta {
	owner, name, generate := w.kind, "", w.name+"-"
	labels := map[string]string{
		"app": w.name, "app.kubernetes.io/name": w.name, "app.kubernetes.io/part-of": w.namespace,
	}
	ownerName := w.name
	switch w.kind {
	case "Deployment":
		owner, ownerName = "ReplicaSet", w.name+"-"+w.hash
		generate = ownerName + "-"
		name = generate + suffix(r, 5)
		labels["pod-template-hash"] = w.hash
	case "StatefulSet":
		name = fmt.Sprintf("%s-%d", w.name, i%replicas)
		labels["apps.kubernetes.io/pod-index"] = fmt.Sprint(i % replicas)
		labels["controller-revision-hash"] = w.name + "-" + w.hash
		labels["statefulset.kubernetes.io/pod-name"] = name
	case "DaemonSet":
		name = generate + suffix(r, 5)
		labels["controller-revision-hash"] = w.hash
		labels["pod-template-generation"] = "3"
	case "Job":
		name = generate + suffix(r, 5)
		labels["batch.kubernetes.io/controller-uid"] = string(w.uid)
		labels["batch.kubernetes.io/job-name"] = w.name
	}
	api := "apps/v1"
	if owner == "Job" {
		api = "batch/v1"
	}
	return metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, GenerateName: generate, UID: uid(r), Generation: 1,
		ResourceVersion: resourceVersion(i, r), CreationTimestamp: at(start),
		Labels: labels, Annotations: maps.Clone(w.annotation),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: api, Kind: owner, Name: ownerName, UID: w.uid, Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
}

func (w *workload) spec(i, node int) corev1.PodSpec {
	main := corev1.Container{
		Name:  "main",
		Image: w.registry + "/" + w.image,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: w.port, Protocol: corev1.ProtocolTCP}},
		Env:   []corev1.EnvVar{{Name: "LOG_LEVEL", Value: w.logLevel}},
		Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(w.memory)},
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse(w.memory),
			},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/healthz", Port: intstr.FromInt32(w.port), Scheme: corev1.URISchemeHTTP,
			}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		},
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy:          corev1.PullIfNotPresent,
	}
	spec := corev1.PodSpec{
		Containers:                    []corev1.Container{main},
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: new(int64(30)),
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            w.name,
		DeprecatedServiceAccount:      w.name,
		NodeName:                      nodeName(node),
		SecurityContext:               &corev1.PodSecurityContext{},
		SchedulerName:                 corev1.DefaultSchedulerName,
		Tolerations: []corev1.Toleration{
			toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable"),
		},
		Priority:           new(int32(0)),
		EnableServiceLinks: new(true),
		PreemptionPolicy:   new(corev1.PreemptLowerPriority),
	}
	if w.sidecar {
		spec.Containers = append(spec.Containers, corev1.Container{
			Name:                     "proxy",
			Image:                    w.registry + "/mesh/proxy:1.22.0",
			Args:                     []string{fmt.Sprintf("--upstream=127.0.0.1:%d", w.port)},
			TerminationMessagePath:   corev1.TerminationMessagePathDefault,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			ImagePullPolicy:          corev1.PullIfNotPresent,
		})
	}
	if w.volumes {
		w.mount(&spec, i)
	}
	return spec
}

func toleration(key string) corev1.Toleration {
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300)),
	}
}

// mount adds the volume with the token of the service account, whose name is random as in real pods.
func (w *workload) mount(spec *corev1.PodSpec, i int) {
	name := "kube-api-access-" + suffix(source(ofPod, i), 5)
	spec.Volumes = []corev1.Volume{{Name: name, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(420)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		},
	}}}
	for c := range spec.Containers {
		spec.Containers[c].VolumeMounts = []corev1.VolumeMount{{
			Name: name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		}}
	}
}

func (w *workload) status(r *rand.Rand, node int, ip string, start int) corev1.PodStatus {
	ready := at(start + 5 + r.IntN(60))
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		HostIP:    nodeIP(node),
		HostIPs:   []corev1.HostIP{{IP: nodeIP(node)}},
		PodIP:     ip,
		PodIPs:    []corev1.PodIP{{IP: ip}},
		StartTime: new(at(start)),
		QOSClass:  corev1.PodQOSBurstable,
	}
	for _, c := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
		corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: c, Status: corev1.ConditionTrue, LastTransitionTime: ready,
		})
	}
	main := containerStatus(r, "main", w.registry+"/"+w.image, w.digest, start+3)
	status.ContainerStatuses = []corev1.ContainerStatus{main}
	if r.IntN(20) == 0 {
		c := &status.ContainerStatuses[0]
		c.RestartCount = 1 + r.Int32N(9)
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: pick[int32](r, 1, 2, 137), Reason: pick(r, "Error", "OOMKilled"),
			StartedAt: at(start), FinishedAt: at(start + r.IntN(90_000)), ContainerID: "containerd://" + hexadecimal(r, 64),
		}
	}
	if w.sidecar {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(
			r, "proxy", w.registry+"/mesh/proxy:1.22.0", strings.Repeat("4f6b1d2c9a7e3051", 4), start+4,
		))
	}
	return status
}

func containerStatus(r *rand.Rand, name, image, digest string, started int) corev1.ContainerStatus {
	repository, _, _ := strings.Cut(image, ":")
	return corev1.ContainerStatus{
		Name: name, Ready: true, Started: new(true), Image: image,
		ImageID:     repository + "@sha256:" + digest,
		ContainerID: "containerd://" + hexadecimal(r, 64),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(started)}},
	}
}

// managedFields returns what the controller and the kubelet own.
func managedFields(pod *corev1.Pod, owner types.UID) []metav1.ManagedFieldsEntry {
	containers := make([]string, len(pod.Spec.Containers))
	for i, c := range pod.Spec.Containers {
		containers[i] = fmt.Sprintf(`"k:{\"name\":\"%s\"}":{%s}`, c.Name, containerFields(&c))
	}
	spec := fmt.Sprintf(`{"f:metadata":{"f:annotations":{%s},"f:generateName":{},"f:labels":{%s},`+
		`"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:containers":{%s},"f:dnsPolicy":{},`+
		`"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},`+
		`"f:serviceAccount":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{}}}`,
		keys(pod.Annotations), keys(pod.Labels), owner, strings.Join(containers, ","))
	conditions := make([]string, len(pod.Status.Conditions))
	for i, c := range pod.Status.Conditions {
		conditions[i] = fmt.Sprintf(`"k:{\"type\":\"%s\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},`+
			`"f:status":{},"f:type":{}}`, c.Type)
	}
	status := fmt.Sprintf(`{"f:status":{"f:conditions":{%s},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},`+
		`"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"%s\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`,
		strings.Join(conditions, ","), pod.Status.PodIP)
	return []metav1.ManagedFieldsEntry{
		managedEntry("kube-controller-manager", "", pod.CreationTimestamp, spec),
		managedEntry("kubelet", "status", pod.Status.Conditions[0].LastTransitionTime, status),
	}
}

func managedEntry(manager, subresource string, when metav1.Time, fields string) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &when,
		FieldsType: "FieldsV1", Subresource: subresource, FieldsV1: &metav1.FieldsV1{},
	}
	e.FieldsV1.SetRawString(fields)
	return e
}

func keys(m map[string]string) string {
	fields := []string{`".":{}`}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, fmt.Sprintf(`"f:%s":{}`, k))
	}
	return strings.Join(fields, ",")
}

func containerFields(c *corev1.Container) string {
	fields := []string{`".":{}`}
	if len(c.Args) > 0 {
		fields = append(fields, `"f:args":{}`)
	}
	for _, e := range c.Env {
		fields = append(fields, fmt.Sprintf(
			`"f:env":{".":{},"k:{\"name\":\"%s\"}":{".":{},"f:name":{},"f:value":{}}}`, e.Name))
	}
	fields = append(fields, `"f:image":{}`, `"f:imagePullPolicy":{}`, `"f:name":{}`)
	for _, p := range c.Ports {
		fields = append(fields, fmt.Sprintf(`"f:ports":{".":{},"k:{\"containerPort\":%d,\"protocol\":\"TCP\"}":`+
			`{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}}`, p.ContainerPort))
	}
	if c.ReadinessProbe != nil {
		fields = append(fields, `"f:readinessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},`+
			`"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}}`,
			`"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}`)
	}
	return strings.Join(append(fields, `"f:terminationMessagePath":{}`, `"f:terminationMessagePolicy":{}`), ",")
}
