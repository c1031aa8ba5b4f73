module github.com/kube-go/sdk/tests/cluster

go 1.26.0

require github.com/google/go-cmp v0.7.0
