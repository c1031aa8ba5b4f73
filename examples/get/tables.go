// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// printer prints what was asked for.
type printer struct {
	client  *kube.Client
	options options
	out     io.Writer
	notes   io.Writer
	several bool // resources, which the names of objects then say
}

// objects returns the API of a resource in the namespace, or in the whole cluster.
func (p *printer) objects(res kube.Resource) *kube.API[unstructured.Unstructured] {
	objects := kube.Dynamic(p.client, res)
	if namespace := p.namespace(res); namespace != "" {
		return objects.In(namespace)
	}
	return objects
}

// namespace returns where the objects of a resource are looked for; empty for everywhere.
func (p *printer) namespace(res kube.Resource) string {
	switch {
	case !res.Namespaced || p.options.everywhere:
		return ""
	case p.options.namespace != "":
		return p.options.namespace
	}
	return p.client.Namespace()
}

// tables prints a table for each resource that has objects, and goes on with what changes, if it should. That one can't
// be listed does not keep the others from being printed.
func (p *printer) tables(ctx context.Context, resources []kube.Resource) error {
	found := 0
	var errs []error
	for _, res := range resources {
		t := &table{printer: p, resource: res, printed: map[kube.ObjectRef]printedRow{}}
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
		case p.options.watch:
			return t.watch(ctx)
		}
	}
	if found == 0 && errs == nil {
		fmt.Fprintln(p.notes, p.nothing(resources))
	}
	return errors.Join(errs...)
}

// nothing says what was not found, and where.
func (p *printer) nothing(resources []kube.Resource) string {
	what := "no objects found"
	if len(resources) == 1 {
		what = "no " + resources[0].String() + " found"
	}
	if len(resources) > 0 && p.namespace(resources[0]) != "" {
		what += " in namespace " + p.namespace(resources[0])
	}
	return what
}

// byName is the field selector of one object, without its name.
const byName = "metadata.name="

// selections are the lists that make up the answer: one, or one for each name.
func (p *printer) selections() []kube.ListOptions {
	if len(p.options.names) == 0 {
		return []kube.ListOptions{{LabelSelector: p.options.selector, Limit: 500}}
	}
	var all []kube.ListOptions
	for _, name := range p.options.names {
		all = append(all, kube.ListOptions{FieldSelector: byName + name})
	}
	return all
}

// pages fetches all pages of a table.
func (p *printer) pages(ctx context.Context, res kube.Resource, o kube.ListOptions) (*metav1.Table, error) {
	objects := p.objects(res)
	all, err := objects.Table(ctx, &o)
	for err == nil && all.Continue != "" {
		var page *metav1.Table
		o.Continue = all.Continue
		page, err = objects.Table(ctx, &o)
		if errors.Is(err, kube.ErrExpired) { // it took too long to read the pages: start anew, in one piece
			return objects.Table(ctx, &kube.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector})
		}
		if err == nil {
			all.Rows = append(all.Rows, page.Rows...)
			all.ListMeta = page.ListMeta
		}
	}
	return all, err
}

// table is a table of one resource's objects.
type table struct {
	*printer
	resource kube.Resource
	printed  map[kube.ObjectRef]printedRow
	shown    []int  // which of the server's columns
	header   []string
	rows     [][]string
	begun    bool // the header is printed
	widths   []int
}

// printedRow is the last row that was printed of an object.
type printedRow struct {
	version string // of the object
	cells   []string
}

// list adds the objects that there are. Each that was named must be.
func (t *table) list(ctx context.Context) error {
	for _, selected := range t.selections() {
		all, err := t.pages(ctx, t.resource, selected)
		if err != nil {
			return err
		}
		if name, named := strings.CutPrefix(selected.FieldSelector, byName); named && len(all.Rows) == 0 && !t.options.watch {
			ref := kube.ObjectRef{Namespace: t.namespace(t.resource), Name: name}
			return fmt.Errorf("get %s %s: not found", t.resource, ref)
		}
		t.add(all)
	}
	return nil
}

// add adds what the server has sent.
func (t *table) add(page *metav1.Table) {
	if len(page.ColumnDefinitions) > 0 && t.header == nil { // a watch sends them once
		t.columns(page.ColumnDefinitions)
	}
	for _, row := range page.Rows {
		cells := t.cells(row)
		t.rows = append(t.rows, cells)
		if t.options.watch {
			meta := metaOf(row)
			t.printed[kube.RefOf(&meta)] = printedRow{meta.ResourceVersion, cells}
		}
	}
}

// columns chooses the columns: those of lower priority are for wide tables.
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

// cells returns a row as it is printed.
func (t *table) cells(row metav1.TableRow) []string {
	meta := metaOf(row)
	name := strings.ToLower(t.resource.Kind)
	if t.resource.Group != "" {
		name += "." + t.resource.Group
	}
	name += "/" + meta.Name
	if t.options.format == "name" {
		return []string{name}
	}
	var cells []string
	if t.options.everywhere && t.resource.Namespaced {
		cells = append(cells, plain(meta.Namespace))
	}
	for n, i := range t.shown {
		cell := "<none>"
		if i < len(row.Cells) && row.Cells[i] != nil {
			cell = plain(fmt.Sprint(row.Cells[i]))
		}
		if n == 0 && t.several { // the first column is the name
			cell = plain(name)
		}
		cells = append(cells, cell)
	}
	return cells
}

// metaOf returns the metadata of a row's object, which the server sends beside the cells.
func metaOf(row metav1.TableRow) metav1.ObjectMeta {
	var obj metav1.PartialObjectMetadata
	if json.Unmarshal(row.Object.Raw, &obj) != nil { // then it has none
		return metav1.ObjectMeta{}
	}
	return obj.ObjectMeta
}

// plain keeps an object from writing more than one line, or from steering the terminal.
func plain(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, cell)
}

// print prints the rows that were added since the last call, and returns how many. The first come with a header, and with
// an empty line before it if there is to be a gap.
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

// flush prints the rows of a table that has begun.
func (t *table) flush() error {
	_, err := t.print(false)
	return err
}
