// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package node makes the program a node of the cluster: it registers, reports that it is alive, runs the pods that are
// bound to it, and serves their logs.
package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/examples/wasm-node/engine"
	"github.com/kube-go/sdk/examples/wasm-node/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

const (
	arch      = "wasm32-wasi"
	leaseTime = 40 * time.Second
	renewTime = 10 * time.Second
	beatTime  = 5 * time.Minute // of the status, which is less frequent than the lease, as for a kubelet
)

// Options are the options of [Run].
type Options struct {
	Name    string        // of the node
	Address string        // IP address of the node, where the API server reads logs
	Port    int           // for logs; 0 means a free one
	Images  string        // the directory of images with the prefix file:, or empty
	Memory  int64         // limit of a container, in bytes
	Pods    int64         // capacity
	BackOff time.Duration // first delay before a restart
}

// node is the parts of the program.
type node struct {
	c       *kube.Client
	o       Options
	port    int // in use
	since   metav1.Time
	memory  life.Memory
	engine  *engine.Engine
	machine *fsm.Machine[life.Pod]
}

// Run runs the node until ctx ends. It kills the containers then: a node that starts again runs their pods again.
func Run(ctx context.Context, c *kube.Client, o Options) (err error) {
	n := &node{c: c, o: o, since: metav1.Now()}
	mem, err := n.memory.Client(ctx)
	if err != nil {
		return err
	}
	n.engine = engine.New(engine.Options{
		Fetch: n.fetch, Memory: o.Memory,
		Changed: func(pod kube.ObjectRef) { fsm.Send(n.machine, kube.Key{Ref: pod}, life.Changed{}) },
	})
	defer n.engine.Close()
	n.machine = life.New(mem, &life.Env{
		Images: n.engine, Containers: n.engine, Objects: n, HostIP: o.Address, BackOff: o.BackOff,
	}, nil)
	server, err := n.listen(ctx)
	if err != nil {
		return fmt.Errorf("serve logs: %w", err)
	}
	defer server.stop()
	registered, err := n.register(ctx)
	if err != nil {
		return fmt.Errorf("register the node: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(server.serve)
	group.Go(func() error {
		limited := func(f func(context.Context) error) func() error {
			return func() error {
				ctx, stop := context.WithTimeout(ctx, renewTime)
				defer stop()
				return f(ctx)
			}
		}
		renew := func(ctx context.Context) error { return n.renew(ctx, registered) }
		b := newBeat(limited(renew), limited(n.report))
		return every(ctx, renewTime, b.next)
	})
	group.Go(func() error {
		defer server.stop()
		return n.controller().Run(ctx, n.reconcile)
	})
	return group.Wait()
}

// controller returns the controller of the pods of the node.
func (n *node) controller() *kube.Controller[corev1.Pod] {
	pods := kube.ViewOf[corev1.Pod](kube.NewCache(n.c, nil), &kube.Selection{FieldSelector: "spec.nodeName=" + n.o.Name})
	return kube.NewController(kube.ForView(pods), &kube.ControllerOptions{
		Name: "wasm-node",
		OnGone: func(_ context.Context, pod kube.Key) {
			n.engine.Remove(pod.Ref, "")
			n.memory.Forget(pod.Ref)
		},
	}).Watches(kube.On(n.machine.Signals))
}

// reconcile makes a pass of the machine, and writes the status of the pod.
func (n *node) reconcile(ctx context.Context, pod *corev1.Pod) (kube.Action, error) {
	n.engine.Remove(kube.RefOf(pod), pod.UID) // a pod of the same name that was deleted by force
	own, err := n.memory.Of(pod)
	if err != nil {
		return kube.Action{}, err
	}
	action, failed := n.machine.Reconcile(ctx, own)
	if own, err = n.memory.Of(pod); err != nil || own.Status.FSM == nil {
		return action, errors.Join(failed, err)
	}
	return action, errors.Join(failed, n.write(ctx, pod, own))
}

// write writes the status of the machine to the API.
func (n *node) write(ctx context.Context, pod *corev1.Pod, own *life.Pod) error {
	diff, err := life.Patch(pod, &own.Status.Pod)
	if err != nil || len(diff) == 0 {
		return err
	}
	pods := kube.Namespaced[corev1.Pod](n.c, pod.Namespace)
	_, err = pods.Status().Patch(ctx, pod.Name, kube.StrategicMergePatch(diff), nil)
	if errors.Is(err, kube.ErrNotFound) {
		return nil // it has just been deleted
	}
	return err
}

// Finish implements [life.Objects].
func (n *node) Finish(ctx context.Context, own *life.Pod) error {
	pods := kube.Namespaced[corev1.Pod](n.c, own.Namespace)
	pod, err := pods.GetOrNil(ctx, own.Name, nil)
	if err != nil || pod == nil || pod.UID != own.UID {
		return err
	}
	if err := n.write(ctx, pod, own); err != nil {
		return err
	}
	err = pods.Delete(ctx, own.Name, &kube.DeleteOptions{GracePeriod: new(time.Duration(0)), UID: own.UID})
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	return err
}

// Variables implements [life.Objects].
func (n *node) Variables(ctx context.Context, namespace string, c *corev1.Container) (env []string, err error) {
	for _, v := range c.Env {
		value, found := v.Value, true
		if from := v.ValueFrom; from != nil {
			value, found, err = n.valueFrom(ctx, namespace, from)
		}
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if found {
			env = append(env, v.Name+"="+value)
		}
	}
	return env, nil
}

// valueFrom reads a value from a ConfigMap or a Secret. An optional one need not exist.
func (n *node) valueFrom(
	ctx context.Context, ns string, from *corev1.EnvVarSource,
) (value string, found bool, err error) {
	var name, key string
	var optional *bool
	switch {
	case from.ConfigMapKeyRef != nil:
		name, key, optional = from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
		var object *corev1.ConfigMap
		if object, err = kube.Namespaced[corev1.ConfigMap](n.c, ns).GetOrNil(ctx, name, nil); object != nil {
			value, found = object.Data[key]
		}
	case from.SecretKeyRef != nil:
		name, key, optional = from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional
		var object *corev1.Secret
		if object, err = kube.Namespaced[corev1.Secret](n.c, ns).GetOrNil(ctx, name, nil); object != nil {
			var secret []byte
			secret, found = object.Data[key]
			value = string(secret)
		}
	default:
		err = errors.New("only configMapKeyRef and secretKeyRef are supported")
	}
	if err == nil && !found && (optional == nil || !*optional) {
		err = fmt.Errorf("%s has no key %s, or does not exist", name, key)
	}
	return value, found, err
}

// fetch returns the bytes of an image: file:PATH is a file below the directory of images, and configmap:NAME/KEY is
// binary data of a ConfigMap in the namespace of the pod.
func (n *node) fetch(ctx context.Context, namespace, image string) ([]byte, error) {
	scheme, rest, _ := strings.Cut(image, ":")
	switch {
	case scheme == "file" && n.o.Images != "":
		dir, err := os.OpenRoot(n.o.Images)
		if err != nil {
			return nil, err
		}
		defer func() { _ = dir.Close() }()
		f, err := dir.Open(rest)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return engine.ReadAll(f)
	case scheme == "configmap":
		name, key, _ := strings.Cut(rest, "/")
		object, err := kube.Namespaced[corev1.ConfigMap](n.c, namespace).Get(ctx, name, nil)
		if err != nil {
			return nil, err
		}
		data, ok := object.BinaryData[key]
		if !ok {
			return nil, fmt.Errorf("the ConfigMap %s has no binary data %s", name, key)
		}
		return data, nil
	}
	return nil, fmt.Errorf("image %q: want configmap:NAME/KEY, or file:PATH on a node with a directory of images", image)
}

// register creates the node, or repairs its labels and taint, and reports its status and its lease.
func (n *node) register(ctx context.Context) (*corev1.Node, error) {
	registered, err := kube.ClusterWide[corev1.Node](n.c).CreateOrUpdate(ctx, n.o.Name, func(node *corev1.Node) error {
		if node.Labels == nil {
			node.Labels = make(map[string]string)
		}
		node.Labels[corev1.LabelArchStable] = arch
		node.Labels[corev1.LabelOSStable] = "wasi"
		node.Labels[corev1.LabelHostname] = n.o.Name
		taint := corev1.Taint{Key: corev1.LabelArchStable, Value: arch, Effect: corev1.TaintEffectNoSchedule}
		for _, t := range node.Spec.Taints {
			if t.MatchTaint(&taint) {
				return nil
			}
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
		return nil
	}, nil)
	if err == nil {
		err = errors.Join(n.report(ctx), n.renew(ctx, registered))
	}
	return registered, err
}

// report writes the status of the node.
func (n *node) report(ctx context.Context) error {
	node := new(corev1.Node)
	node.Name = n.o.Name
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(n.o.Memory*n.o.Pods, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(n.o.Pods, resource.DecimalSI),
	}
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.o.Address}, {Type: corev1.NodeHostName, Address: n.o.Name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(n.port)}},
		NodeInfo: corev1.NodeSystemInfo{
			Architecture: arch, OperatingSystem: "wasi",
			ContainerRuntimeVersion: "wazero://1.12.0", KubeletVersion: "v0.0.0-wasm",
		},
	}
	for _, typ := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeReady,
	} {
		cond := corev1.NodeCondition{
			Type: typ, Status: corev1.ConditionFalse, Reason: "NotLimited",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: n.since,
		}
		if typ == corev1.NodeReady {
			cond.Status, cond.Reason, cond.Message = corev1.ConditionTrue, "NodeReady", "the node runs WebAssembly modules"
		}
		node.Status.Conditions = append(node.Status.Conditions, cond)
	}
	_, err := kube.ClusterWide[corev1.Node](n.c).Status().Apply(ctx, node, &kube.ApplyOptions{
		FieldManager: "wasm-node", Force: true, SendZeroValues: true, // a node must have all fields of NodeInfo
	})
	return err
}

// renew renews the lease of the node, which shows that the node is alive. It is deleted with the node.
func (n *node) renew(ctx context.Context, registered *corev1.Node) error {
	lease := new(coordinationv1.Lease)
	lease.Name, lease.Namespace = n.o.Name, corev1.NamespaceNodeLease
	lease.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: registered.Name, UID: registered.UID,
	}}
	lease.Spec.HolderIdentity = &n.o.Name
	lease.Spec.LeaseDurationSeconds = new(int32(leaseTime / time.Second))
	lease.Spec.RenewTime = new(metav1.NowMicro())
	_, err := kube.Namespaced[coordinationv1.Lease](n.c, lease.Namespace).Apply(ctx, lease, &kube.ApplyOptions{
		FieldManager: "wasm-node", Force: true,
	})
	return err
}
