package e2e_test

import (
	"archive/tar"
	"bytes"
	"os"
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
)

func TestZZ(t *testing.T) {
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	startPod(t, pods, talker("talker"))
	for i := range 10 {
		p, err := pods.Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tar", "-x", "-o", "-p", "-f", "-", "-C", "/none"}, Stdin: true})
		fmt.Println(err)
		go func() {
			n, err := io.Copy(p.Stdin, archiveOf())
			fmt.Println("written", n, err)
			fmt.Println(p.Stdin.Close())
		}()
		go io.Copy(os.Stdout, p.Stderr)
		start := time.Now()
		tm := time.AfterFunc(5*time.Second, func() { fmt.Println(i, "PEEK", p.Peek()); })
		fmt.Println(p.Wait(), time.Since(start))
		tm.Stop()
	}
}

func archiveOf() io.Reader {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./copy/", Mode: 0o755})
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./copy/x", Size: 8 << 20, Mode: 0o755})
	w.Write(make([]byte, 8<<20))
	w.Close()
	return &b
}
