// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// provider provides the types of objects to CEL.
type provider struct {
	types.Provider
	objects map[string]map[string]*cel.Type
}

// declare adds a named type, and returns the CEL type.
func (p *provider) declare(name string, t *Type) *cel.Type {
	switch {
	case t.simple != nil:
		return t.simple
	case t.isMap:
		return cel.MapType(cel.StringType, p.declare(name+".@elem", t.Elem))
	case t.Elem != nil:
		return cel.ListType(p.declare(name+".@idx", t.Elem))
	}
	fields := map[string]*cel.Type{}
	for key, field := range t.Fields {
		fields[key] = p.declare(name+"."+key, field)
	}
	p.objects[name] = fields
	return cel.ObjectType(name)
}

// FindStructType returns a type by name.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames returns no names for declared types, because rules can't create objects.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if _, ok := p.objects[name]; ok {
		return nil, false
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType returns the type of a property.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := p.objects[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, field)
	}
	t, ok := fields[field]
	if !ok && reserved(field) {
		t, ok = fields["__"+field+"__"]
	}
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: t}, true
}
