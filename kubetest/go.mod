module github.com/kube-go/sdk/kubetest

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/kube-go/sdk/client v0.0.0
	github.com/kube-go/sdk/core v0.0.0
	github.com/kube-go/sdk/derive v0.0.0
	github.com/kube-go/sdk/kube v0.0.0
	github.com/kube-go/sdk/runtime v0.0.0
	gopkg.in/evanphx/json-patch.v4 v4.13.0
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/kube-openapi v0.0.0-20260721132016-d427ff9ee9ad
)

replace (
	github.com/kube-go/sdk/client => ../client
	github.com/kube-go/sdk/core => ../core
	github.com/kube-go/sdk/derive => ../derive
	github.com/kube-go/sdk/kube => ../kube
	github.com/kube-go/sdk/runtime => ../runtime
)
