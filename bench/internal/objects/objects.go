// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects generates the objects of an imaginary cluster. The same index always gives the same object, so
// processes and runs can be compared. Pods are like those of real clusters in size and in variety: about 5.5 KB of JSON
// and 3.7 KB of protobuf, of Deployments, StatefulSets, DaemonSets and Jobs, with managedFields, and with random UIDs,
// digests and container IDs.
package objects

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Nodes is the number of nodes that pods run on.
const Nodes = 200

const (
	seed      = 20260302
	replicas  = 20 // pods of a workload
	firstRV   = 48_000_000
	epoch     = 1_772_000_000 // seconds since 1970: February 2026
	perDomain = 1 << 40       // the seeds of different kinds do not overlap
)

// LastResourceVersion is greater than the resource version of every generated object.
const LastResourceVersion = firstRV + 1_000_000_000

// source returns the random numbers of an object.
func source(domain, i int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(domain)*perDomain+uint64(i)))
}

// The domains of random numbers.
const (
	ofPod = iota
	ofWorkload
	ofNode
	ofConfigMap
)

func letters(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func hexadecimal(r *rand.Rand, n int) string { return letters(r, "0123456789abcdef", n) }

// suffix is like the random part of generated names.
func suffix(r *rand.Rand, n int) string { return letters(r, "bcdfghjklmnpqrstvwxz2456789", n) }

func uid(r *rand.Rand) types.UID {
	return types.UID(fmt.Sprintf("%s-%s-4%s-a%s-%s",
		hexadecimal(r, 8), hexadecimal(r, 4), hexadecimal(r, 3), hexadecimal(r, 3), hexadecimal(r, 12)))
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func at(seconds int) metav1.Time { return metav1.Time{Time: time.Unix(int64(seconds), 0)} }

func resourceVersion(i int, r *rand.Rand) string { return strconv.Itoa(firstRV + i*97 + r.IntN(97)) }

func nodeName(n int) string {
	return fmt.Sprintf("ip-10-%d-%d.eu-central-1.compute.internal", n/100, n%100+16)
}

func nodeIP(n int) string { return fmt.Sprintf("10.%d.%d.17", n/100, n%100+16) }

// Node returns a small node without images and managedFields.
func Node(i int) *corev1.Node {
	r := source(ofNode, i)
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), UID: uid(r), ResourceVersion: resourceVersion(i, r), CreationTimestamp: at(epoch + i),
			Labels: map[string]string{
				"kubernetes.io/hostname":        nodeName(i),
				"kubernetes.io/os":              "linux",
				"topology.kubernetes.io/zone":   pick(r, "eu-central-1a", "eu-central-1b", "eu-central-1c"),
				"topology.kubernetes.io/region": "eu-central-1",
			},
		},
		Spec: corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-0" + hexadecimal(r, 16)},
	}
}

// ConfigMap returns a small config map.
func ConfigMap(i int) *corev1.ConfigMap {
	r := source(ofConfigMap, i)
	name := fmt.Sprintf("settings-%06d", i)
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%03d", i/100), Name: name, UID: uid(r),
			ResourceVersion: resourceVersion(i, r), CreationTimestamp: at(epoch + i),
			Labels: map[string]string{"app": "web"},
		},
		Data: map[string]string{"greeting": "hello, " + name},
	}
}
