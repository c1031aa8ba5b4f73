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

// union is a group of fields of a struct of which one may be there.
type union struct {
	name          string
	discriminator string // the JSON name of the field that says which, "" when there is none
	optional      bool   // there may be none of them
	members       []unionMember
	pos           token.Position
}

// unionMember is one of the fields.
type unionMember struct {
	field string // its JSON name
	value string // what the discriminator says of it
	named bool   // by the marker itself
	pos   token.Position
}

// unions gathers the groups that the markers of the fields of a struct make.
type unions struct {
	builder *Builder
	list    []*union
}

// add notes what a field says of the groups of its struct. See
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
				u.builder.mistake(f, m.Pos, "the same union has members of which one must be there, and such of which there may be none")
			}
			g.optional = optional
			g.members = append(g.members, unionMember{name, cmp.Or(m.Args.String("memberName"), f.Name()), m.Args.Has("memberName"), m.Pos})
		}
	}
}

// group finds the union that a marker is about.
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

// apply says in rules of the struct what its unions ask for.
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

// wrong tells what makes no sense about a union.
func (g *union) wrong(s *jsonschema.Schema) (string, token.Position) {
	if len(g.members) == 0 {
		return "+k8s:unionDiscriminator: no field of the struct is a +k8s:unionMember", g.pos
	}
	values := map[string]string{}
	for _, m := range g.members {
		switch {
		case slices.Contains(s.Required, m.field):
			return fmt.Sprintf("field %q is required, so it can't be one of several; tag it omitempty", m.field), m.pos
		case m.named && g.discriminator == "":
			return "memberName is what a discriminator says, and no field of the struct is a +k8s:unionDiscriminator", m.pos
		case g.discriminator != "" && g.optional:
			return "a union with a discriminator has members that are there when it says so: write +k8s:unionMember", m.pos
		case g.discriminator != "" && values[m.value] != "":
			return fmt.Sprintf("field %q has the memberName %q too", values[m.value], m.value), m.pos
		}
		values[m.value] = m.field
	}
	return "", g.pos
}

// discriminated adds a rule for each member: it is there when the discriminator says so, and only then.
func (g *union) discriminated(t *target, b *Builder) {
	d := celName(g.discriminator)
	for _, m := range g.members {
		t.rule(structural.Rule{
			Rule:    fmt.Sprintf("(has(self.%[1]s) && self.%[1]s == %[2]s) == has(self.%[3]s)", d, strconv.Quote(m.value), celName(m.field)),
			Message: fmt.Sprintf("%s must be set when %s is %q, and not otherwise", m.field, g.discriminator, m.value),
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
			b.report(g.pos, fmt.Sprintf("+k8s:unionDiscriminator: field %q must be a text, not %s", g.discriminator, structural.Article(of.Type)))
			return
		}
		for _, m := range g.members {
			if err := of.Accepts(m.value); err != nil {
				b.report(m.pos, fmt.Sprintf("field %q never says that %s is there: %v: say what it does with memberName", g.discriminator, m.field, err))
			}
		}
	})
}

// countRule adds a rule about how many of some fields are there.
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
