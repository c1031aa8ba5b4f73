// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// union is a group of fields of a struct of which only one may be set.
type union struct {
	name          string
	discriminator string // the JSON name of the field that selects the member, or empty
	optional      bool   // no member has to be set
	members       []unionMember
	pos           token.Position
}

// unionMember is one of the fields.
type unionMember struct {
	field string // its JSON name
	value string // the value of the discriminator that selects it
	named bool   // the marker has the value
	pos   token.Position
}

// unions collects the unions of a struct from the markers of its fields.
type unions struct {
	builder *Builder
	list    []*union
}

// add reads the union markers of a field. See
// https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5073-declarative-validation-with-validation-gen.
func (u *unions) add(f *types.Var, name string, decl *load.Decl) {
	if !u.builder.strict(f) {
		return
	}
	for _, m := range decl.Markers {
		switch m.Name {
		case "k8s:unionDiscriminator":
			g := u.group(m)
			if g.discriminator != "" {
				u.builder.mistake(f, m.Pos, fmt.Sprintf("field %s is a discriminator of the same union", g.discriminator))
			}
			g.discriminator = name
		case "k8s:unionMember", "k8s:zeroOrOneOfMember":
			g, optional := u.group(m), m.Name == "k8s:zeroOrOneOfMember"
			if len(g.members) > 0 && g.optional != optional {
				u.builder.mistake(f, m.Pos, "the union mixes +k8s:unionMember and +k8s:zeroOrOneOfMember: use one of them for all members")
			}
			g.optional = optional
			g.members = append(g.members, unionMember{name, cmp.Or(m.Args.String("memberName"), f.Name()), m.Args.Has("memberName"), m.Pos})
		}
	}
}

// group returns the union of a marker, which it adds if it does not exist.
func (u *unions) group(m *load.Marker) *union {
	name := m.Args.String("union")
	for _, g := range u.list {
		if g.name == name {
			return g
		}
	}
	g := &union{name: name, pos: m.Pos}
	u.list = append(u.list, g)
	return g
}

// apply adds validation rules for the unions to the struct.
func (u *unions) apply(s *jsonschema.Schema) {
	t := &target{builder: u.builder, schema: s}
	for _, g := range u.list {
		if msg, pos := g.wrong(s); msg != "" {
			u.builder.report(pos, msg)
			continue
		}
		if g.discriminator != "" {
			g.discriminated(t, u.builder)
			continue
		}
		fields := make([]string, len(g.members))
		for i, m := range g.members {
			fields[i] = m.field
		}
		if g.optional {
			t.countRule("AtMostOneOf", fields)
		} else {
			t.countRule("ExactlyOneOf", fields)
		}
	}
}

// wrong returns a message about a mistake in a union, or an empty string.
func (g *union) wrong(s *jsonschema.Schema) (string, token.Position) {
	if len(g.members) == 0 {
		return "+k8s:unionDiscriminator: no field of the struct is a +k8s:unionMember", g.pos
	}
	values := map[string]string{}
	for _, m := range g.members {
		switch {
		case slices.Contains(s.Required, m.field):
			return fmt.Sprintf("field %q is required, so it can't be a member of a group: tag it omitempty", m.field), m.pos
		case m.named && g.discriminator == "":
			return "memberName is a value of the discriminator, but no field of the struct is a +k8s:unionDiscriminator", m.pos
		case g.discriminator != "" && g.optional:
			return "a union with a discriminator can't have optional members: write +k8s:unionMember", m.pos
		case g.discriminator != "" && values[m.value] != "":
			return fmt.Sprintf("field %q has the same memberName %q", values[m.value], m.value), m.pos
		}
		values[m.value] = m.field
	}
	return "", g.pos
}

// discriminated adds a rule for each member: it is set if and only if the discriminator selects it.
func (g *union) discriminated(t *target, b *Builder) {
	d := celName(g.discriminator)
	for _, m := range g.members {
		t.rule(structural.Rule{
			Rule:    fmt.Sprintf("(has(self.%[1]s) && self.%[1]s == %[2]s) == has(self.%[3]s)", d, strconv.Quote(m.value), celName(m.field)),
			Message: fmt.Sprintf("%s must be set if and only if %s is %q", m.field, g.discriminator, m.value),
		})
	}
	s := t.schema
	b.checks = append(b.checks, func() {
		full := b.rewritten(s)
		if full == nil || full.Properties[g.discriminator] == nil {
			return
		}
		of := full.Properties[g.discriminator]
		if of.Type != "string" {
			b.report(g.pos, fmt.Sprintf("+k8s:unionDiscriminator: field %q must be a string, not %s", g.discriminator, structural.Article(of.Type)))
			return
		}
		for _, m := range g.members {
			if err := of.Accepts(m.value); err != nil {
				b.report(m.pos, fmt.Sprintf("no value of field %q selects %s: %v: set memberName to one of its values", g.discriminator, m.field, err))
			}
		}
	})
}

// countRule adds a rule about the number of fields that are set.
func (t *target) countRule(name string, fields []string) {
	has := make([]string, len(fields))
	for i, f := range fields {
		has[i] = "(has(self." + celName(f) + ")?1:0)"
	}
	list, sum := strings.Join(fields, " "), strings.Join(has, "+")
	if name == "AtMostOneOf" {
		t.rule(structural.Rule{Rule: sum + " <= 1", Message: fmt.Sprintf("at most one of the fields in [%s] may be set", list)})
	} else {
		t.rule(structural.Rule{Rule: sum + " == 1", Message: fmt.Sprintf("exactly one of the fields in [%s] must be set", list)})
	}
}
