package definition_test

import (
	"testing"
	"time"
	"fmt"
	"os"
	"github.com/kube-go/sdk/kubetest/internal/definition"
)

func TestZZ(t *testing.T) {
	for _, f := range os.Args[len(os.Args)-2:] {
	b, _ := os.ReadFile(f)
	crd := parse(t, string(b))
	for range 3 {
	start := time.Now()
	out, err := definition.Admit(crd, nil, nil)
	if err != nil { t.Fatal(err) }
	a := time.Since(start)
	start = time.Now()
	d, err := definition.New(out)
	if err != nil { t.Fatal(err) }
	n := time.Since(start)
	start = time.Now()
	obj := parse(t, `{apiVersion: x, kind: Foo, metadata: {name: a}}`)
	v := d.Versions()[0]
	obj.SetAPIVersion(v.Resource.APIVersion()); obj.SetKind(v.Resource.Kind)
	_, err = v.Decode(obj)
	dd := time.Since(start)
	start = time.Now()
	_, err = v.Create(obj)
	fmt.Println(f, len(b), a, n, dd, time.Since(start), err)
	}
	}
}
