// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokens is the life of an access token as a state machine. It declares a service account, roles, bindings and
// a secret; permissions that are removed from the spec, or whose token is deleted, are deleted with it.
package tokens

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/access-token/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/inventory"
)

// Name is the name of the machine.
const Name = "auth.example.com/access-token"

type ctx = *fsm.Ctx[v1.AccessToken]

// The states.
type (
	// Grant is a token whose service account gets its permissions.
	Grant     struct{}
	fromGrant interface{ fromGrant() }

	// Issue is a token that the server has not issued yet.
	Issue     struct{}
	fromIssue interface{ fromIssue() }

	// Issued is a token that can be used.
	Issued struct{}
)

func (Issue) fromGrant()  {}
func (Issued) fromIssue() {}

// Step declares the service account with its roles and bindings. They have a later wave: if the service account belongs
// to another owner, it is refused, and must not get the permissions.
func (Grant) Step(c ctx, to fsm.To[fromGrant]) fsm.Result[fromGrant] {
	meta := func(namespace string) metav1.ObjectMeta { // a namespace has no dots, so no other token has this name
		return metav1.ObjectMeta{Namespace: namespace, Name: c.Obj.Namespace + "." + c.Obj.Name}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: c.Obj.Name}}
	c.Apply(inventory.Declaration{Object: account})
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.Obj.Namespace, Name: c.Obj.Name}}
	roleRef := func(kind string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: meta("").Name}
	}
	for _, p := range c.Obj.Spec.Namespaced {
		role := &rbacv1.Role{ObjectMeta: meta(p.Namespace), Rules: p.Rules}
		binding := &rbacv1.RoleBinding{ObjectMeta: meta(p.Namespace), RoleRef: roleRef("Role"), Subjects: subjects}
		c.Apply(inventory.Declaration{Object: role, Wave: 1}, inventory.Declaration{Object: binding, Wave: 1})
	}
	if rules := c.Obj.Spec.Cluster; len(rules) > 0 {
		role := &rbacv1.ClusterRole{ObjectMeta: meta(""), Rules: rules}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta(""), RoleRef: roleRef("ClusterRole"), Subjects: subjects}
		c.Apply(inventory.Declaration{Object: role, Wave: 1}, inventory.Declaration{Object: binding, Wave: 1})
	}
	return to.Go(Issue{})
}

// Step declares the secret, and waits until the server has put the token into it. The secret has a wave of its own, so
// that it is deleted before the service account: the server would delete it with the account.
func (Issue) Step(c ctx, to fsm.To[fromIssue]) fsm.Result[fromIssue] {
	c.Apply(inventory.Declaration{Object: &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Obj.Name, Annotations: map[string]string{corev1.ServiceAccountNameKey: c.Obj.Name},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}, Wave: 2})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.Obj.Name}}
	switch _, err := c.Get(secret); {
	case err != nil:
		return to.Retry(err)
	case len(secret.Data[corev1.ServiceAccountTokenKey]) == 0:
		return to.Stay("the server has not issued the token yet", time.Minute)
	}
	c.Obj.Status.Secret = c.Obj.Name
	return to.Go(Issued{})
}

// Step ends the machine.
func (Issued) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

// New returns the machine.
func New(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.AccessToken] {
	m := fsm.New[v1.AccessToken](c, Name, o)
	fsm.Add(m, Grant{})
	fsm.Add(m, Issue{})
	fsm.Add(m, Issued{})
	return m
}

// Install installs the kind.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := kube.CRD[v1.AccessToken]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, &kube.InstallOptions{FieldManager: "access-token"})
}

// Run installs the kind, and runs the machine for all tokens until ctx ends. A change of a declared object in the
// namespace of its token starts a pass; others are repaired by the next one.
func Run(ctx context.Context, c *kube.Client) error {
	if err := Install(ctx, c); err != nil {
		return err
	}
	cache := kube.NewCache(c, nil)
	secrets := kube.MetadataOf[corev1.Secret](cache, nil) // without their data
	accounts := kube.ViewOf[corev1.ServiceAccount](cache, nil)
	ctl := kube.NewController(kube.For[v1.AccessToken](cache), nil).
		Owns(kube.SourceView(accounts)).
		Owns(kube.SourceView(secrets))
	return ctl.Run(ctx, New(c, &fsm.Options{Views: []inventory.View{accounts}}).Reconcile)
}
