module github.com/kube-go/sdk/tests/e2e

go 1.26.0

require (
	github.com/kube-go/sdk/client v0.0.0
	github.com/kube-go/sdk/core v0.0.0
	github.com/kube-go/sdk/derive v0.0.0
	github.com/kube-go/sdk/kube v0.0.0
	github.com/kube-go/sdk/runtime v0.0.0
	github.com/kube-go/sdk/tests/cluster v0.0.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	k8s.io/api v0.37.2 // indirect
)

replace (
	github.com/kube-go/sdk/client => ../../client
	github.com/kube-go/sdk/core => ../../core
	github.com/kube-go/sdk/derive => ../../derive
	github.com/kube-go/sdk/kube => ../../kube
	github.com/kube-go/sdk/runtime => ../../runtime
	github.com/kube-go/sdk/tests/cluster => ../cluster
)
