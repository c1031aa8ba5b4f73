module github.com/kube-go/sdk/client

go 1.26.0

require github.com/kube-go/sdk/core v0.0.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/kube-go/sdk/core => ../core
