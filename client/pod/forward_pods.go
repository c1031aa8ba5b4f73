// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/request"
)

// podFacts has the fields of a pod that streams need.
type podFacts struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Containers     []containerFacts `json:"containers"`
		InitContainers []containerFacts `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type containerFacts struct {
	Name  string `json:"name"`
	Ports []struct {
		Name          string   `json:"name"`
		ContainerPort uint16   `json:"containerPort"`
		Protocol      protocol `json:"protocol"`
	} `json:"ports"`
}

// protocol is the protocol of a port.
type protocol string

// isTCP reports whether the port can be connected to. The default is TCP.
func (p protocol) isTCP() bool { return p == "" || p == "TCP" }

// of returns a port as in errors, with its protocol if that is not TCP.
func (p protocol) of(port string) string {
	if p.isTCP() {
		return port
	}
	return port + "/" + string(p)
}

// facts returns the API of the pods with the fields that streams need.
func (a *API) facts() *client.API[podFacts] {
	return client.Of[podFacts](a.client, resource()).In(a.namespace)
}

// usable reports whether the pod is ready.
func (p *podFacts) usable() bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != "Running" {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// port returns the number of a named port.
func (p *podFacts) port(name string) (uint16, error) {
	var names []string
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		for _, port := range c.Ports {
			if port.Name == name && port.Protocol.isTCP() {
				return port.ContainerPort, nil
			}
			if port.Name != "" {
				names = append(names, port.Protocol.of(port.Name))
			}
		}
	}
	return 0, unknownPort("pod "+p.Name, name, names)
}

func unknownPort(of, port string, names []string) error {
	has := "it has no named ports"
	if len(names) > 0 {
		has = "it has " + strings.Join(names, ", ")
	}
	return &request.InvalidError{Field: "port", Detail: fmt.Sprintf("%s has no TCP port %s; %s", of, port, has)}
}

// podSet describes the pods that an object selects, and the ports of a service.
type podSet struct {
	name     string // of the object, for errors
	selector string
	service  bool
	ports    []servicePort
}

type servicePort struct {
	Name       string             `json:"name"`
	Port       uint16             `json:"port"`
	Protocol   protocol           `json:"protocol"`
	TargetPort intstr.IntOrString `json:"targetPort"`
}

// selecting has the fields that streams need of an object that selects pods.
type selecting struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector json.RawMessage `json:"selector"`
		Ports    []servicePort   `json:"ports"`
	} `json:"spec"`
}

// podSetOf reads the selector of an object.
func podSetOf(ctx context.Context, c *client.Client, t request.Target) (*podSet, error) {
	res, name := t.Resource, t.Name
	obj, err := client.Of[selecting](c, res).In(t.Namespace).Get(ctx, name, nil)
	if err != nil {
		return nil, unwrapped(err)
	}
	set := &podSet{name: res.String() + " " + name, service: res.String() == "services"}
	if set.service {
		set.ports = obj.Spec.Ports
	}
	if set.selector, err = selectorOf(obj.Spec.Selector, set.service || res.String() == "replicationcontrollers"); err != nil {
		detail := fmt.Sprintf("%s %v, so it has no pods to connect to", set.name, err)
		return nil, &request.InvalidError{Field: "name", Detail: detail}
	}
	return set, nil
}

// selectorOf returns a selector as a string. With labelsOnly, the selector is a map of labels, as in a Service.
func selectorOf(raw json.RawMessage, labelsOnly bool) (string, error) {
	if len(raw) == 0 {
		return "", errors.New("has no selector")
	}
	var selector metav1.LabelSelector
	into := any(&selector)
	if labelsOnly {
		into = &selector.MatchLabels
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return "", errors.New("has a selector that does not select pods")
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return "", fmt.Errorf("has a selector that can't be used: %w", err)
	}
	if parsed.Empty() {
		return "", errors.New("has an empty selector")
	}
	return parsed.String(), nil
}

// ready returns a ready pod of the set: the previous one if it is still ready, otherwise the oldest.
func (s *podSet) ready(ctx context.Context, pods *client.API[podFacts], before string) (*podFacts, error) {
	var found []*podFacts
	n := 0
	for pod, err := range pods.All(ctx, &request.ListOptions{LabelSelector: s.selector}) {
		if err != nil {
			return nil, unwrapped(err)
		}
		if n++; pod.usable() {
			found = append(found, pod)
		}
	}
	switch {
	case n == 0:
		return nil, &NoReadyPodError{Selector: s.selector}
	case len(found) == 0:
		return nil, &NoReadyPodError{Selector: s.selector, Pods: n}
	}
	return slices.MinFunc(found, func(a, b *podFacts) int {
		if a.Name == before || b.Name == before {
			return cmp.Compare(oneIf(b.Name == before), oneIf(a.Name == before))
		}
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}), nil
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// port returns the number of a port on a pod of the set.
func (s *podSet) port(port string, pod *podFacts) (uint16, error) {
	number, isNumber := portNumber(port)
	if !s.service {
		if isNumber {
			return number, nil
		}
		return pod.port(port)
	}
	var names []string
	for _, p := range s.ports {
		if p.Protocol.isTCP() && (p.Name == port || isNumber && p.Port == number) {
			return p.target(pod)
		}
		if names = append(names, p.Protocol.of(strconv.Itoa(int(p.Port)))); p.Name != "" {
			names = append(names, p.Protocol.of(p.Name))
		}
	}
	return 0, unknownPort(s.name, port, names)
}

// target returns the port of the pod for a port of a service.
func (p servicePort) target(pod *podFacts) (uint16, error) {
	switch {
	case p.TargetPort.Type == intstr.String:
		return pod.port(p.TargetPort.StrVal)
	case p.TargetPort.IntVal > 0 && p.TargetPort.IntVal < 1<<16:
		return uint16(p.TargetPort.IntVal), nil
	}
	return p.Port, nil
}

// NoReadyPodError is the error of connecting to an object, such as a Service, that selects no ready pod at the moment.
type NoReadyPodError struct {
	Selector string
	Pods     int // the number of selected pods
}

// Error returns the selector and the number of selected pods.
func (e *NoReadyPodError) Error() string {
	switch e.Pods {
	case 0:
		return "no pod has the labels " + e.Selector
	case 1:
		return "the one pod with the labels " + e.Selector + " is not ready"
	}
	return fmt.Sprintf("none of the %d pods with the labels %s is ready", e.Pods, e.Selector)
}

// unwrapped removes the OpError of an inner operation, so that the error names only the outer operation.
func unwrapped(err error) error {
	if op, ok := err.(*client.OpError); ok { //nolint:errorlint // err is returned by a verb
		return op.Err
	}
	return err
}
