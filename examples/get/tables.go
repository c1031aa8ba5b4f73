// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/examples/internal/plain"
	"github.com/kube-go/sdk/kube"
)

// printer prints objects.
type printer struct {
	client  *kube.Client
	options options
	out     io.Writer
	notes   io.Writer
	several bool // print names with the resource, since there are several resources
}

// objects returns the API of a resource in the selected namespace, or in the whole cluster.
func (p *printer) objects(res kube.Resource) *kube.API[unstructured.Unstructured] {
	objects := kube.Dynamic(p.client, res)
	if namespace := p.namespace(res); namespace != "" {
		return objects.In(namespace)
	}
	return objects
}

// namespace returns the selected namespace of a resource's objects. It is empty for the whole cluster.
func (p *printer) namespace(res kube.Resource) string {
	if !res.Namespaced || p.options.everywhere {
		return ""
	}
	return cmp.Or(p.options.namespace, p.client.Namespace())
}

// tables prints a table for each resource that has objects, or watches the only resource if the options say so. If one
// resource cannot be listed, tables prints the others.
func (p *printer) tables(ctx context.Context, resources []kube.Resource) error {
	found := 0
	var errs []error
	for _, res := range resources {
		t := &table{printer: p, resource: res}
		if p.options.watch {
			return t.watch(ctx)
		}
		err := t.list(ctx)
		n, writeErr := t.print(found > 0)
		if writeErr != nil {
			return writeErr
		}
		found += n
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			errs = append(errs, err)
		}
	}
	if found == 0 && errs == nil {
		fmt.Fprintln(p.notes, p.nothing(resources))
	}
	return errors.Join(errs...)
}

// nothing returns the message that no objects were found.
func (p *printer) nothing(resources []kube.Resource) string {
	message := "no objects found"
	if len(resources) == 1 {
		message = "no " + resources[0].String() + " found"
	}
	if len(resources) > 0 && p.namespace(resources[0]) != "" {
		message += " in namespace " + p.namespace(resources[0])
	}
	return message
}

// byName is the field selector of one object, without its name.
const byName = "metadata.name="

// selections returns the options of the list requests: one request for all objects, or one for each name.
func (p *printer) selections() []kube.ListOptions {
	if len(p.options.names) == 0 {
		return []kube.ListOptions{{LabelSelector: p.options.selector}}
	}
	var all []kube.ListOptions
	for _, name := range p.options.names {
		all = append(all, kube.ListOptions{FieldSelector: byName + name})
	}
	return all
}

// table is the table of a resource's objects.
type table struct {
	*printer
	resource kube.Resource
	shown    []int // indexes of the printed columns
	header   []string
	rows     [][]string // rows to print
	begun    bool       // the header is printed
	widths   []int      // of the columns
}

// list adds the existing objects. A named object that does not exist is an error.
func (t *table) list(ctx context.Context) error {
	for _, selected := range t.selections() {
		before := len(t.rows)
		for row, err := range t.objects(t.resource).Rows().All(ctx, &selected) {
			if err != nil {
				return err
			}
			t.add(row)
		}
		if name, named := strings.CutPrefix(selected.FieldSelector, byName); named && len(t.rows) == before {
			ref := kube.ObjectRef{Namespace: t.namespace(t.resource), Name: name}
			return fmt.Errorf("get %s %s: not found", t.resource, ref)
		}
	}
	return nil
}

// add adds a row, with marks after its cells.
func (t *table) add(row *kube.Row, marks ...string) {
	if t.header == nil {
		t.columns(row.Columns)
	}
	t.rows = append(t.rows, append(t.cells(row), marks...))
}

// columns selects the columns to print. Columns of lower priority are only for wide tables.
func (t *table) columns(defs []metav1.TableColumnDefinition) {
	if t.options.everywhere && t.resource.Namespaced {
		t.header = append(t.header, "NAMESPACE")
	}
	for i, def := range defs {
		if def.Priority == 0 || t.options.format == "wide" {
			t.shown = append(t.shown, i)
			t.header = append(t.header, strings.ToUpper(def.Name))
		}
	}
}

// cells returns the cells to print for a row.
func (t *table) cells(row *kube.Row) []string {
	name := strings.ToLower(t.resource.Kind)
	if t.resource.Group != "" {
		name += "." + t.resource.Group
	}
	name += "/" + row.Name
	if t.options.format == "name" {
		return []string{name}
	}
	var cells []string
	if t.options.everywhere && t.resource.Namespaced {
		cells = append(cells, plain.Text(row.Namespace))
	}
	for n, i := range t.shown {
		cell := "<none>"
		if i < len(row.Cells) && row.Cells[i] != nil {
			cell = plain.Text(fmt.Sprint(row.Cells[i]))
		}
		if n == 0 && t.several { // the first column is the name
			cell = plain.Text(name)
		}
		cells = append(cells, cell)
	}
	return cells
}

// print prints the rows that were added since the last call and returns their number. The first call also prints the
// header, after an empty line if gap is set.
func (t *table) print(gap bool) (int, error) {
	rows := t.rows
	t.rows = nil
	if len(rows) == 0 {
		return 0, nil
	}
	var text strings.Builder
	lines := rows
	if !t.begun && t.options.format != "name" {
		lines = append([][]string{t.header}, rows...)
		if gap {
			text.WriteByte('\n')
		}
	}
	t.begun = true
	for _, line := range lines {
		for i, cell := range line {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var padded strings.Builder
		for i, cell := range line {
			padded.WriteString(cell + strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+3))
		}
		text.WriteString(strings.TrimRight(padded.String(), " ") + "\n")
	}
	_, err := io.WriteString(t.out, text.String())
	return len(rows), err
}
