// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/kube"
)

// Memory stores the statuses of [Pod] objects in place of an API server: it is the transport of the machine's client.
// The zero value is ready for use. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex                 // guards statuses
	statuses map[string]json.RawMessage // by namespace, name and UID
}

// Client returns the client for [New].
func (m *Memory) Client(ctx context.Context) (*kube.Client, error) {
	return kube.NewClient(ctx, &kube.ClientOptions{Config: &kube.Config{Server: "https://memory.invalid"}, Transport: m})
}

// RoundTrip stores the status in an apply. Other requests, such as the removal of the finalizer, find no object.
func (m *Memory) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	code := http.StatusOK
	if !strings.HasSuffix(r.URL.Path, "/status") {
		code = http.StatusNotFound
		body = fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,`+
			`"details":{"kind":"pods","name":%q}}`, path.Base(r.URL.Path))
	} else if err := m.store(body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// store stores the status in an apply.
func (m *Memory) store(body []byte) error {
	var written struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Status   json.RawMessage   `json:"status"`
	}
	if err := json.Unmarshal(body, &written); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.statuses == nil {
		m.statuses = make(map[string]json.RawMessage)
	}
	m.statuses[keyOf(&written.Metadata)] = written.Status
	return nil
}

func keyOf(meta *metav1.ObjectMeta) string { return key(meta.Namespace, meta.Name, string(meta.UID)) }

func key(namespace, name, uid string) string { return namespace + "/" + name + "/" + uid }

// Forget removes the status of a pod, whatever its UID.
func (m *Memory) Forget(pod kube.ObjectRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.statuses {
		if strings.HasPrefix(k, key(pod.Namespace, pod.Name, "")) {
			delete(m.statuses, k)
		}
	}
}

// Of returns a pod of the API as the machine sees it. The status of a pod that is not in the memory is that in the API.
func (m *Memory) Of(pod *corev1.Pod) (*Pod, error) {
	own := &Pod{ObjectMeta: *pod.ObjectMeta.DeepCopy(), Spec: *pod.Spec.DeepCopy()}
	own.Finalizers, own.ManagedFields = []string{Name}, nil // so the machine adds no finalizer
	m.mu.Lock()
	stored := m.statuses[keyOf(&pod.ObjectMeta)]
	m.mu.Unlock()
	if stored == nil {
		pod.Status.DeepCopyInto(&own.Status.Pod)
		return own, nil
	}
	if err := json.Unmarshal(stored, &own.Status); err != nil {
		return nil, fmt.Errorf("the stored status can't be read: %w", err)
	}
	own.Status.Pod.Conditions = merge(pod.Status.Conditions, own.Status.Pod.Conditions)
	return own, nil
}

// Patch returns the strategic merge patch that makes the status of a pod in the API that of the machine. It is empty if
// they are equal. It has only the conditions that the node writes: those of others may have fields that this program
// does not know. The server refuses it if the pod has changed.
func Patch(pod *corev1.Pod, want *corev1.PodStatus) (map[string]any, error) {
	s := pod.Status.DeepCopy()
	s.ObservedGeneration, s.Phase, s.Reason, s.Message = want.ObservedGeneration, want.Phase, want.Reason, want.Message
	s.HostIP, s.HostIPs, s.StartTime = want.HostIP, want.HostIPs, want.StartTime
	s.ContainerStatuses = want.ContainerStatuses
	status, err := patch.DiffMerge(&pod.Status, s, nil)
	if err != nil {
		return nil, err
	}
	if ips, ok := status["hostIPs"].([]any); ok { // otherwise, the server would keep the former ones
		status["hostIPs"] = append(ips, map[string]any{"$patch": "replace"})
	}
	var conditions []any
	for _, c := range want.Conditions {
		if !slices.Contains(owned, c.Type) {
			continue
		}
		diff, err := patch.DiffMerge(conditionOf(pod.Status.Conditions, c.Type), c, nil)
		if err != nil {
			return nil, err
		}
		if len(diff) > 0 {
			diff["type"] = c.Type
			conditions = append(conditions, diff)
		}
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil, nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": pod.ResourceVersion}, "status": status}, nil
}

// conditionOf returns the condition of a type, or the zero value.
func conditionOf(all []corev1.PodCondition, typ corev1.PodConditionType) corev1.PodCondition {
	if i := slices.IndexFunc(all, func(c corev1.PodCondition) bool { return c.Type == typ }); i >= 0 {
		return all[i]
	}
	return corev1.PodCondition{}
}

// merge returns the conditions of others with those that the node writes, in an order that does not change.
func merge(others, own []corev1.PodCondition) []corev1.PodCondition {
	merged := slices.Clone(others)
	for _, c := range own {
		i := slices.IndexFunc(merged, func(old corev1.PodCondition) bool { return old.Type == c.Type })
		switch {
		case !slices.Contains(owned, c.Type):
		case i < 0:
			merged = append(merged, c)
		default:
			merged[i] = c
		}
	}
	return merged
}
