package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/kube-go/sdk/tests/cluster"
)

func main() {
	t0 := time.Now()
	c, err := cluster.Start(context.Background(), &cluster.Options{Log: os.Stdout, Node: true, CacheDir: "/work/main/.cache/kubecluster"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started", time.Since(t0))
	cmd := exec.Command("sh", "-c", os.Args[1])
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "N="+c.Dir()+"/node", "C="+c.Dir(), "U="+c.URL())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	fmt.Println(cmd.Run())
	t0 = time.Now()
	fmt.Println(c.Stop(), time.Since(t0))
}
