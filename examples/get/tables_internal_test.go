// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// page is an answer of a server about pods.
const page = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},
	"columnDefinitions":[{"name":"Name","priority":0},{"name":"Ready","priority":0},{"name":"Node","priority":1}],
	"rows":[
		{"cells":["web-0","1/1","node-1"],"object":{"metadata":{"name":"web-0","namespace":"prod"}}},
		{"cells":["evil\u001b[2J","0/1\nfake",null],"object":{"metadata":{"name":"evil","namespace":"prod"}}},
		{"cells":["short"]}
	]}`

func TestTable(t *testing.T) {
	pods := kube.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	for _, tc := range []struct {
		name    string
		options options
		several bool
		want    string
	}{
		{
			name: "as a table",
			want: "NAME       READY\nweb-0      1/1\nevil [2J   0/1 fake\nshort      <none>\n",
		},
		{
			name: "wide", options: options{format: "wide"},
			want: "NAME       READY      NODE\nweb-0      1/1        node-1\nevil [2J   0/1 fake   <none>\nshort      <none>     <none>\n",
		},
		{
			name: "as one of several, of all namespaces", options: options{everywhere: true}, several: true,
			want: "NAMESPACE   NAME        READY\nprod        pod/web-0   1/1\nprod        pod/evil    0/1 fake\n            pod/        <none>\n",
		},
		{
			name: "as names", options: options{format: "name"},
			want: "pod/web-0\npod/evil\npod/\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer := new(metav1.Table)
			if err := json.Unmarshal([]byte(page), answer); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			tab := &table{printer: &printer{options: tc.options, out: &out, several: tc.several}, resource: pods}
			tab.add(answer)
			if n, err := tab.print(false); n != 3 || err != nil {
				t.Errorf("%d rows, %v, want 3", n, err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     options
		err      string
	}{
		{"flags after names", "pods web -n prod", options{resources: []string{"pods"}, names: []string{"web"}, namespace: "prod", format: "table"}, ""},
		{"flags between them", "deploy,svc -o name -l app=web", options{resources: []string{"deploy", "svc"}, names: []string{}, selector: "app=web", format: "name"}, ""},
		{"a name behind a slash", "deploy/web", options{resources: []string{"deploy"}, names: []string{"web"}, format: "table"}, ""},
		{"nothing", "", options{}, "name a resource, such as pods; -h says more"},
		{"an unknown format", "pods -o xml", options{}, "-o xml: want table, wide, json, yaml, name"},
		{"one namespace and all", "pods -n a -A", options{}, "-n names one namespace, and -A means all: leave one of them out"},
		{"names and a selector", "pods web -l a=b", options{}, "-l selects objects by their labels: leave it or the names out"},
		{"names everywhere", "pods web -A", options{}, "a name is unique in one namespace only: say which with -n, instead of -A"},
		{"a watch of documents", "pods -w -o yaml", options{}, "-w prints rows as they change: leave out -o yaml"},
		{"a watch of two", "pods a b -w", options{}, "-w watches one object, or all: leave out the other names"},
		{"an unknown flag", "pods -z", options{}, "flag provided but not defined: -z; -h says more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parse(strings.Fields(tc.in))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("error = %v, want %s", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(options{})); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
