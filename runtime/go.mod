module github.com/kube-go/sdk/runtime

go 1.26.0

require (
	github.com/kube-go/sdk/client v0.0.0
	github.com/kube-go/sdk/core v0.0.0
)

replace (
	github.com/kube-go/sdk/client => ../client
	github.com/kube-go/sdk/core => ../core
)
