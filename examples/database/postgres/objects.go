// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/database/api/v1"
	"github.com/kube-go/sdk/runtime/inventory"
)

// The labels.
const (
	databaseLabel = "db.example.com/database"   // the name of the database of a pod or service
	servingLabel  = "db.example.com/serving"    // whether the service has a pod
	backupLabel   = "db.example.com/backup"     // the name of the database of a backup
	ownerLabel    = "db.example.com/backup-uid" // its UID: a later database may have the same name
)

const (
	image       = "postgres:"
	passwordKey = "password"
	port        = 5432
)

// replica is a replica of a database, as its pod is now.
type replica struct {
	exists    bool
	version   string // empty if there is no pod
	available bool   // clients reach it
	failed    bool   // its pod never runs again
}

func podName(db *v1.Database, index int32) string { return fmt.Sprintf("%s-%d", db.Name, index) }

func podOf(db *v1.Database, index int32) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(db, index)}}
}

// read returns a replica.
func read(c ctx, index int32) (r replica, err error) {
	pod := podOf(c.Obj, index)
	if r.exists, err = c.Get(pod); !r.exists || err != nil {
		return r, err
	}
	r.version = strings.TrimPrefix(pod.Spec.Containers[0].Image, image)
	r.failed = pod.Status.Phase == corev1.PodFailed
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue {
			r.available = pod.Labels[servingLabel] == "true" && pod.DeletionTimestamp == nil
		}
	}
	return r, nil
}

// observe returns the replicas, and writes into the status how many are available, and whether an upgrade has failed.
func observe(c ctx) ([]replica, error) {
	s, all := &c.Obj.Status, make([]replica, c.Obj.Spec.Replicas)
	s.Available = 0
	for i := range all {
		var err error
		if all[i], err = read(c, int32(i)); err != nil {
			return nil, err
		}
		if all[i].available {
			s.Available++
		}
	}
	if s.FailedVersion != "" {
		c.SetCondition(metav1.Condition{
			Type: RolledBack, Status: metav1.ConditionTrue, Reason: "UpgradeFailed",
			Message: "the upgrade to version " + s.FailedVersion + " has failed: " + s.FailedReason,
		})
	}
	return all, nil
}

// declare declares all objects of a database that serves. The first replica starts before the others. A pod keeps its
// version: only the machines of the replicas change that.
func declare(c ctx, all []replica) error {
	db := c.Obj
	secret, err := credentials(c)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: db.Name, Labels: map[string]string{databaseLabel: db.Name}}
	c.Apply(
		inventory.Declaration{Object: secret},
		inventory.Declaration{Object: &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
			"host": db.Name + "." + db.Namespace, "port": strconv.Itoa(port), "user": "postgres",
		}}},
		inventory.Declaration{Object: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector:  map[string]string{databaseLabel: db.Name, servingLabel: "true"},
			Ports:     []corev1.ServicePort{{Name: "postgres", Port: port}},
		}}},
	)
	for i, r := range all {
		version := db.Spec.Version
		if db.Status.Version != "" {
			version = cmp.Or(r.version, db.Status.Version)
		}
		restore(c, all, int32(i), version)
	}
	return nil
}

// restore declares the pod of a replica that serves. A pod that has failed, such as an evicted one, is deleted first.
func restore(c ctx, all []replica, index int32, version string) {
	if all[index].failed {
		c.Delete(podOf(c.Obj, index))
	} else {
		c.Apply(server(c.Obj, index, version, true))
	}
}

// credentials returns the Secret with the password. It is generated once: an immutable Secret can't get another one,
// not even from a request of a killed program that arrives late.
func credentials(c ctx) (*corev1.Secret, error) {
	meta := metav1.ObjectMeta{Name: c.Obj.Name}
	secret := &corev1.Secret{ObjectMeta: meta}
	exists, err := c.Get(secret)
	password := secret.Data[passwordKey]
	if !exists {
		password = []byte(rand.Text())
	}
	return &corev1.Secret{
		ObjectMeta: meta, Immutable: new(true), Data: map[string][]byte{passwordKey: password},
	}, err
}

// server declares the pod of a replica.
func server(db *v1.Database, index int32, version string, serving bool) inventory.Declaration {
	pod := podOf(db, index)
	pod.Labels = map[string]string{databaseLabel: db.Name, servingLabel: strconv.FormatBool(serving)}
	pod.Spec = corev1.PodSpec{
		Hostname: pod.Name, Subdomain: db.Name,
		Containers: []corev1.Container{{
			Name: "postgres", Image: image + version, Env: password(db, "POSTGRES_PASSWORD"),
			Ports: []corev1.ContainerPort{{ContainerPort: port}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				Exec: &corev1.ExecAction{Command: []string{"pg_isready", "--username=postgres"}},
			}},
		}},
	}
	return inventory.Declaration{Object: pod, Wave: min(index+1, 2)}
}

// dump returns a pod that makes a backup. This example has no place to keep it.
func dump(db *v1.Database, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{databaseLabel: db.Name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "backup", Image: image + db.Status.Version, Env: password(db, "PGPASSWORD"),
				Command: []string{"pg_dumpall", "--host=" + db.Name, "--username=postgres", "--file=/tmp/backup.sql"},
			}},
		},
	}
}

// password returns an environment variable with the password.
func password(db *v1.Database, name string) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: db.Name}, Key: passwordKey,
	}}}}
}
