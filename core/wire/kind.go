// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReadOptions are the options of [ReadList] and [Events]; nil means defaults.
type ReadOptions struct {
	// Kind is the kind of the objects. Default: any. With Rows, it must be the kind of tables.
	Kind schema.GroupVersionKind

	// Rows, one of [NewRows], reads a table instead of a list, and tables instead of objects in a watch. The objects are
	// the rows, in JSON and as [core.Row] describes them. Default: none.
	Rows Rows

	// Limits bound what is read. Default: those of [Limits].
	Limits *Limits
}

func (o *ReadOptions) orDefaults() ReadOptions {
	if o == nil {
		return ReadOptions{}
	}
	return *o
}

// KindError is returned if the server sends objects of another kind or version than the requested one.
type KindError struct {
	Got, Want schema.GroupVersionKind
}

// Error names both kinds.
func (e *KindError) Error() string {
	got := "object"
	if e.Got.Kind != "" {
		got = fmt.Sprintf("%q", e.Got.Kind)
	}
	if version := e.Got.GroupVersion().String(); version != "" {
		got += fmt.Sprintf(" of %q", version)
	}
	return fmt.Sprintf("the server sent %s instead of %s of %s", got, e.Want.Kind, e.Want.GroupVersion())
}

// CheckKind returns a [*KindError] if got and want differ. It accepts an empty kind, which most list items have.
func CheckKind(got, want schema.GroupVersionKind) error {
	if got.Empty() || want.Empty() || got == want {
		return nil
	}
	return &KindError{Got: got, Want: want}
}

var errNotList = errors.New("the server's response is not a list")

// listKind is the kind of a list, as far as it has been read.
type listKind struct {
	want schema.GroupVersionKind // of the items; empty for any

	isTable bool // a table of the kind want, and not a list, is wanted

	kind, apiVersion string
	unnamed          bool // items do not name their kind
}

// setKind refuses a response that is not a list. It would look like an empty list otherwise.
func (l *listKind) setKind(kind string) error {
	l.kind = kind
	if l.isUsual() || l.isTable && kind == l.want.Kind || l.mayBeCustom() && kind != "" && kind != "Status" && kind != l.want.Kind {
		return nil
	}
	return fmt.Errorf("%w but of kind %q", errNotList, kind)
}

// list returns the kind of the list that items of the wanted kind usually have.
func (l *listKind) list() schema.GroupVersionKind {
	if l.isTable {
		return l.want
	}
	return l.want.GroupVersion().WithKind(l.want.Kind + "List")
}

// isUsual reports whether the kind is that of a list by its name.
func (l *listKind) isUsual() bool { return strings.HasSuffix(l.kind, "List") }

// check refuses a list of another kind. It is called before the items and at the end of the list, since API servers
// send some lists with the kind or apiVersion after the items.
func (l *listKind) check() error {
	want := l.list()
	got := schema.FromAPIVersionAndKind(l.apiVersion, l.kind)
	otherName := l.kind != "" && l.kind != want.Kind
	switch {
	case l.want.Empty():
		return nil
	case l.apiVersion != "" && got.GroupVersion() != want.GroupVersion(), otherName && (!l.mayBeCustom() || l.unnamed):
		return &KindError{Got: got, Want: want}
	}
	return nil
}

// mayBeCustom reports whether the kind may be that of a CustomResourceDefinition, whose lists can have any kind. The
// items must name their kind then. Those of built-in kinds, such as in networking.k8s.io, do not, but other groups of
// Kubernetes, such as gateway.networking.k8s.io, have custom resources.
func (l *listKind) mayBeCustom() bool { return strings.Contains(l.want.Group, ".") && !l.isTable }

// checkItem refuses an item of another kind if the kind of the list does not determine that of the items. It does if an
// item names no kind, since check then accepts only the usual kind of the list. Such items are not searched for a kind,
// which takes a scan of the whole item.
func (l *listKind) checkItem(p Packed) error {
	if !l.mayBeCustom() || l.unnamed && l.kind != "" {
		return nil
	}
	got, err := p.kind()
	if err != nil {
		return err
	}
	if got.Empty() && !l.unnamed {
		l.unnamed = true
		return l.check()
	}
	return CheckKind(got, l.want)
}

// kind returns the kind that an object in JSON names, and the empty kind for a protobuf message, which names none.
func (p Packed) kind() (schema.GroupVersionKind, error) {
	var kind, apiVersion string
	if p.encoding == Protobuf {
		return schema.GroupVersionKind{}, nil
	}
	err := eachMember(p.data, func(m member) error {
		switch string(m.name) {
		case "kind":
			kind = text(m.value)
		case "apiVersion":
			apiVersion = text(m.value)
		}
		if kind != "" && apiVersion != "" {
			return errStop
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	return schema.FromAPIVersionAndKind(apiVersion, kind), err
}
