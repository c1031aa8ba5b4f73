// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Rows reads tables, see [ReadOptions]. It is for one response.
type Rows interface {
	// setColumns sets the columns, unless the value is null. It must not be called after object.
	setColumns(value jsontext.Value) error
	// object returns a row as an object, which is valid until the next call.
	object(row []byte) (Packed, error)
	// only returns the only row of a table as an object.
	only(table []byte) (Packed, error)
}

// NewRows returns a reader of tables. Only programs that call it link its code.
func NewRows() Rows { return new(table) }

var (
	errColumns = errors.New("table: the columns follow the rows")
	errNoMeta  = errors.New("table: a row has no metadata of its object")
)

// table turns the rows of a table, or of the tables in a watch, into objects that core.Row describes. So lists and
// watches of rows need no other code than those of objects.
type table struct {
	columns []byte // of the last table that had columns: in a watch, only the first one has
	row     []byte // the last object
	begun   bool   // object has been called for the current table
}

func (t *table) setColumns(value jsontext.Value) error {
	switch {
	case value.Kind() == 'n':
	case t.begun:
		return errColumns
	default:
		t.columns = append(t.columns[:0], value...)
	}
	return nil
}

func (t *table) object(row []byte) (Packed, error) {
	t.begun = true
	var cells, meta []byte
	err := eachMember(row, func(m member) (err error) {
		switch string(m.name) {
		case "cells":
			cells = m.value
		case "object":
			var found member
			found, err = findMember(m.value, "metadata")
			meta = found.value
		}
		return err
	})
	if err != nil {
		return Packed{}, fmt.Errorf("table: %w", err)
	}
	if len(meta) == 0 {
		return Packed{}, errNoMeta
	}
	t.row = append(append(t.row[:0], `{"metadata":`...), meta...)
	t.row = append(append(t.row, `,"columns":`...), orNull(t.columns)...)
	t.row = append(append(t.row, `,"cells":`...), orNull(cells)...)
	t.row = append(t.row, '}')
	return Packed{encoding: JSON, data: t.row}, nil
}

func orNull(value []byte) []byte {
	if len(value) == 0 {
		return []byte("null")
	}
	return value
}

func (t *table) only(data []byte) (Packed, error) {
	var rows []byte
	t.begun = false
	err := eachMember(data, func(m member) error {
		switch string(m.name) {
		case "columnDefinitions":
			return t.setColumns(m.value)
		case "rows":
			rows = m.value
		}
		return nil
	})
	if err != nil {
		return Packed{}, fmt.Errorf("table: %w", err)
	}
	var row []byte
	count := 0
	err = eachElement(rows, func(start, end int) error {
		row = rows[start:end]
		count++
		return nil
	})
	switch {
	case err != nil:
		return Packed{}, fmt.Errorf("table: %w", err)
	case count != 1:
		return Packed{}, fmt.Errorf("table: want one row for an object, not %d", count)
	}
	return t.object(row)
}
