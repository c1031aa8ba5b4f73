// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSecretsOfAPod(t *testing.T) {
	name := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	env := func(secret string) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "KEY", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name(secret), Key: "key"},
		}}}
	}
	projected := &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: new(corev1.ServiceAccountTokenProjection)},
		{Secret: &corev1.SecretProjection{LocalObjectReference: name("projected")}},
	}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{EmptyDir: new(corev1.EmptyDirVolumeSource)}},
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "volume"}}},
			{VolumeSource: corev1.VolumeSource{Projected: projected}},
		},
		InitContainers: []corev1.Container{{Env: env("init")}},
		Containers: []corev1.Container{{Env: env("volume"), EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name("map")}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name("all")}},
		}}},
		EphemeralContainers: []corev1.EphemeralContainer{{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: env("debug")},
		}},
		ImagePullSecrets: []corev1.LocalObjectReference{name("registry")},
	}}
	want := []string{"prod/all", "prod/debug", "prod/init", "prod/projected", "prod/registry", "prod/volume"}
	if got := secretsOf(pod); !slices.Equal(got, want) {
		t.Errorf("secretsOf = %q, want %q", got, want)
	}
}
