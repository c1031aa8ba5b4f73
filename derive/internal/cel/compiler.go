// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// compiler compiles rules for values of one type.
type compiler struct {
	of              *Type
	plain, optional func() (*cel.Env, error)

	mu       sync.Mutex
	programs map[expressions]func() (Program, error) // guarded by mu
}

// expressions are the CEL expressions of a rule.
type expressions struct {
	rule, message string
	optional      bool // whether oldSelf is optional
}

func newCompiler(t *Type) *compiler {
	// Extending an environment takes longer than compiling a rule in it.
	with := func(oldSelf func(*cel.Type) *cel.Type) func() (*cel.Env, error) {
		return sync.OnceValues(func() (*cel.Env, error) {
			env, err := base()
			if err != nil {
				return nil, fmt.Errorf("create the CEL environment: %w", err)
			}
			p := &provider{env.CELTypeProvider(), map[string]map[string]*cel.Type{}}
			self := p.declare("selfType", t)
			env, err = env.Extend(cel.CustomTypeProvider(p), cel.Variable("self", self), cel.Variable("oldSelf", oldSelf(self)))
			if err != nil {
				return nil, fmt.Errorf("declare self and oldSelf: %w", err)
			}
			return env, nil
		})
	}
	return &compiler{
		of:       t,
		plain:    with(func(self *cel.Type) *cel.Type { return self }),
		optional: with(cel.OptionalType),
		programs: map[expressions]func() (Program, error){},
	}
}

// program returns the compiled rule. It returns an error if the environment is invalid. Errors in the rule are in
// Program.Err and Program.MessageErr.
func (c *compiler) program(rule openapi.Rule) (Program, error) {
	x := expressions{rule.Rule, rule.MessageExpression, rule.OptionalOldSelf != nil && *rule.OptionalOldSelf}
	c.mu.Lock()
	compiled, ok := c.programs[x]
	if !ok {
		compiled = sync.OnceValues(func() (Program, error) { return c.compile(x) })
		c.programs[x] = compiled
	}
	c.mu.Unlock()
	return compiled()
}

func (c *compiler) compile(x expressions) (Program, error) {
	var p Program
	if strings.TrimSpace(x.rule) == "" {
		return p, nil
	}
	environment := c.plain
	if x.optional {
		environment = c.optional
	}
	env, err := environment()
	if err != nil {
		return p, err
	}
	if c.compileRule(env, x.rule, &p); p.Err != nil {
		return p, nil
	}
	p.MaxCardinality = uint64(maxRequest / (c.of.minSize + 1))
	if x.message != "" {
		c.compileMessage(env, x.message, &p)
	}
	return p, nil
}

func (c *compiler) compileRule(env *cel.Env, rule string, p *Program) {
	ast, issues := env.Compile(rule)
	if issues.Err() != nil {
		p.Err = fmt.Errorf("compilation failed: %s", issues)
		return
	}
	if ast.OutputType() != cel.BoolType {
		p.Err = errors.New("cel expression must evaluate to a bool")
		return
	}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		p.UsesOldSelf = p.UsesOldSelf || ref.Name == "oldSelf"
	}
	p.rule, p.MaxCost, p.Err = c.plan(env, ast, "program instantiation failed", "cost estimation failed")
}

func (c *compiler) compileMessage(env *cel.Env, message string, p *Program) {
	ast, issues := env.Compile(message)
	if issues.Err() != nil {
		p.MessageErr = fmt.Errorf("messageExpression compilation failed: %s", issues)
		return
	}
	if ast.OutputType() != cel.StringType {
		p.MessageErr = errors.New("messageExpression must evaluate to a string")
		return
	}
	p.message, p.MaxMessageCost, p.MessageErr = c.plan(env, ast,
		"messageExpression instantiation failed", "cost estimation failed for messageExpression")
	p.HasMessage = p.MessageErr == nil
}

// plan prepares an expression for evaluation, and estimates its cost.
func (c *compiler) plan(env *cel.Env, ast *cel.Ast, noProgram, noCost string) (cel.Program, uint64, error) {
	costs := &estimator{root: c.of}
	p, err := env.Program(ast, cel.CostLimit(callLimit), cel.CostTracking(costs))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", noProgram, err)
	}
	cost, err := env.EstimateCost(ast, costs)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", noCost, err)
	}
	return p, cost.Max, nil
}
