// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
)

// someRows returns rows of pods.
func someRows() []*kube.Row {
	columns := []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Ready"}, {Name: "Node", Priority: 1}}
	row := func(name string, cells ...any) *kube.Row {
		return &kube.Row{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod"}, Columns: columns, Cells: cells}
	}
	return []*kube.Row{
		row("web-0", "web-0", "1/1", "node-1"),
		row("evil", "evil\u001b[2J", "0/1\nfake", nil),
		row("short", "short"),
	}
}

func TestTableIsPrintedInAllFormats(t *testing.T) {
	pods := kube.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	for _, tc := range []struct {
		name    string
		options options
		several bool
		want    string
	}{
		{
			name: "table",
			want: "NAME       READY\nweb-0      1/1\nevil [2J   0/1 fake\nshort      <none>\n",
		},
		{
			name: "wide", options: options{format: "wide"},
			want: "NAME       READY      NODE\n" +
				"web-0      1/1        node-1\n" +
				"evil [2J   0/1 fake   <none>\n" +
				"short      <none>     <none>\n",
		},
		{
			name: "one of several tables, of all namespaces", options: options{everywhere: true}, several: true,
			want: "NAMESPACE   NAME        READY\n" +
				"prod        pod/web-0   1/1\n" +
				"prod        pod/evil    0/1 fake\n" +
				"prod        pod/short   <none>\n",
		},
		{
			name: "names", options: options{format: "name"},
			want: "pod/web-0\npod/evil\npod/short\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			tab := &table{printer: &printer{options: tc.options, out: &out, several: tc.several}, resource: pods}
			for _, row := range someRows() {
				tab.add(row)
			}
			if n, err := tab.print(false); n != 3 || err != nil {
				t.Errorf("print(false) = %d, %v, want 3 rows", n, err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTakesFlagsInAnyOrderAndRejectsConflicts(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     options
		err      string
	}{
		{
			"flags after names", "pods web -n prod",
			options{resources: []string{"pods"}, names: []string{"web"}, namespace: "prod", format: "table"},
			"",
		},
		{
			"several resources", "deploy,svc -o name -l app=web",
			options{resources: []string{"deploy", "svc"}, names: []string{}, selector: "app=web", format: "name"},
			"",
		},
		{
			"a name after a slash", "deploy/web",
			options{resources: []string{"deploy"}, names: []string{"web"}, format: "table"},
			"",
		},
		{"an empty command line", "", options{}, "specify a resource, such as pods; use -h for help"},
		{"an unknown format", "pods -o xml", options{}, "-o xml is invalid: want one of table, wide, json, yaml, name"},
		{"one and all namespaces", "pods -n a -A", options{}, "-n and -A exclude each other: omit one of them"},
		{"names and a selector", "pods web -l a=b", options{}, "-l and names exclude each other: omit one of them"},
		{
			"names in all namespaces", "pods web -A",
			options{},
			"a name is unique only within a namespace: use -n instead of -A",
		},
		{"a watch as YAML", "pods -w -o yaml", options{}, "-w prints only tables and names: omit -o yaml"},
		{
			"a watch of two names", "pods a b -w",
			options{},
			"-w watches one object or all objects: specify at most one name",
		},
		{"an unknown flag", "pods -z", options{}, "flag provided but not defined: -z; use -h for help"},
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
