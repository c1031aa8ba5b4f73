// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/client/config"
)

const example = `
current-context: prod
clusters:
- name: prod
  cluster: {server: "https://prod.example.com:6443"}
users:
- name: ann
  user: {token: a-secret-token}
contexts:
- name: prod
  context: {cluster: prod, user: ann, namespace: shop}
`

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	cfg, err := config.Load(context.Background(), &config.Options{Path: file, Namespace: "test"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Server, cfg.Namespace, cfg.BearerToken)
	// Output: https://prod.example.com:6443 test [redacted]
}

func ExampleParse() {
	kc, err := config.Parse([]byte(example), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range kc.Contexts {
		fmt.Printf("%s: cluster %s, namespace %s\n", c.Name, c.Context.Cluster, c.Context.Namespace)
	}
	// Output: prod: cluster prod, namespace shop
}

func ExampleKubeconfig_Config() {
	kc, err := config.Parse([]byte(example), "/home/ann/.kube/config")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = kc.Config(context.Background(), &config.Options{Context: "prd"})
	fmt.Println(err)
	cfg, err := kc.Config(context.Background(), nil)
	fmt.Println(cfg, err)
	// Output:
	// /home/ann/.kube/config: context "prd" does not exist: did you mean "prod"? (contexts: "prod")
	// {source: context "prod" of /home/ann/.kube/config, server: https://prod.example.com:6443, namespace: shop, bearerToken: [redacted]} <nil>
}

func ExampleKubeconfig_Validate() {
	kc, err := config.Parse([]byte(`
clusters: [{name: prod, cluster: {Server: "https://prod"}}]
users: [{name: ann, user: {token: a, username: ann}}]
`), "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(kc.Validate(context.Background()))
	// Output:
	// config: cluster "prod": Server: is not a known field: write "server"
	// config: cluster "prod": server: is missing: write it as https://HOST:PORT
	// config: user "ann": username: conflicts with a token: keep one of the two
}

func ExampleMerge() {
	first, err := config.Parse([]byte(`{"current-context": "mine"}`), "first")
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := config.Parse([]byte(example), "second")
	if err != nil {
		fmt.Println(err)
		return
	}
	both := config.Merge(first, second)
	fmt.Println(both.CurrentContext, both.Contexts[0].Name, both.Origins)
	// Output: mine prod [first second]
}

func ExampleModify() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	err = config.Modify(context.Background(), func(k *config.Kubeconfig) error {
		k.SetCluster("prod", config.Cluster{Server: "https://prod.example.com:6443"})
		k.SetUser("ann", config.User{TokenFile: "ann.token"})
		k.SetContext("prod", config.Context{Cluster: "prod", User: "ann", Namespace: "shop"})
		k.CurrentContext = "prod"
		return nil
	}, &config.ModifyOptions{Path: filepath.Join(dir, "config")})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	fmt.Print(string(text), err)
	// Output:
	// apiVersion: v1
	// clusters:
	// - cluster:
	//     server: https://prod.example.com:6443
	//   name: prod
	// contexts:
	// - context:
	//     cluster: prod
	//     namespace: shop
	//     user: ann
	//   name: prod
	// current-context: prod
	// kind: Config
	// users:
	// - name: ann
	//   user:
	//     tokenFile: ann.token
	// <nil>
}
