// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

// Identity is a user as the server authenticated it.
type Identity struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"` // attributes that authenticators add
}

// selfReviews is the resource of identity reviews of the requesting user.
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

// WhoAmI asks the server which user it takes the client for. It takes impersonation into account.
//
// Errors: [*client.NotServedError] if the server is older than Kubernetes 1.28.
func WhoAmI(ctx context.Context, c *client.Client) (*Identity, error) {
	r, err := client.Of[selfReview](c, selfReviews()).Create(ctx, new(selfReview), nil)
	if err != nil {
		return nil, err
	}
	return &r.Status.UserInfo, nil
}
