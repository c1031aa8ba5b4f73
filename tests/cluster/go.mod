module github.com/kube-go/sdk/tests/cluster

go 1.26.0
