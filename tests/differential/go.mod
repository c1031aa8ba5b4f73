module github.com/kube-go/sdk/tests/differential

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/kube-go/sdk/client v0.0.0
	github.com/kube-go/sdk/core v0.0.0
	k8s.io/api v0.37.2
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
)

replace (
	github.com/kube-go/sdk/client => ../../client
	github.com/kube-go/sdk/core => ../../core
)
