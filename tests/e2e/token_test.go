// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// TestServiceAccountTokenWorks checks that the server accepts the token, and that printing the result does not show the
// token.
func TestServiceAccountTokenWorks(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	accounts := kube.Namespaced[corev1.ServiceAccount](c, ns)
	robot := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	if _, err := accounts.Create(t.Context(), robot, nil); err != nil {
		t.Fatal(err)
	}
	token, err := serviceaccount.In(c, ns).Token(t.Context(), "robot", &request.TokenOptions{Expiration: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	secret(t, "token", token.Token)
	if left := time.Until(token.Expires); left < 50*time.Minute || left > 2*time.Hour {
		t.Errorf("the token expires in %v, want an hour", left)
	}
	if shown := fmt.Sprintf("%v %+v %#v", token, *token, token); strings.Contains(shown, string(token.Token)) {
		t.Error("printing the result shows the token")
	}
	own := loadConfig(t, "")
	asRobot := &kube.Config{Server: own.Server, CAData: own.CAData, CAFile: own.CAFile, BearerToken: token.Token}
	maps := kube.Namespaced[corev1.ConfigMap](connect(t, &kube.ClientOptions{Config: asRobot}), ns)
	_, err = maps.Get(t.Context(), "x", nil)
	if !errors.Is(err, kube.ErrForbidden) || !strings.Contains(err.Error(), "system:serviceaccount:"+ns+":robot") {
		t.Errorf("a request with the token: %v, want ErrForbidden for the service account", err)
	}
}
