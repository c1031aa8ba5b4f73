module github.com/kube-go/sdk/derive

go 1.26.0

require (
	github.com/kube-go/sdk/core v0.0.0
)

replace (
	github.com/kube-go/sdk/core => ../core
)
