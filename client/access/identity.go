// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Identity is who a server takes somebody for.
type Identity struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"` // what authenticators add
}

// WhoAmIOptions are the options of [WhoAmI]. There are none yet.
type WhoAmIOptions struct{}

// selfReviews is the resource of the question who the asker is.
func selfReviews() core.Resource {
	return core.Resource{
		Group: "authentication.k8s.io", Version: "v1", Kind: "SelfSubjectReview", Plural: "selfsubjectreviews",
	}
}

// selfReview is a SelfSubjectReview, see
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/self-subject-review-v1/.
type selfReview struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status struct {
		UserInfo Identity `json:"userInfo"`
	} `json:"status,omitzero"`
}

// WhoAmI asks the server whom it takes the client for, impersonation included.
//
// Errors: [*client.NotServedError] by a server older than Kubernetes 1.28.
func WhoAmI(ctx context.Context, c *client.Client, _ *WhoAmIOptions) (*Identity, error) {
	r, err := client.Of[selfReview](c, selfReviews()).Create(ctx, new(selfReview), nil)
	if err != nil {
		return nil, err
	}
	return &r.Status.UserInfo, nil
}
