// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// The limits of servers, in units of cost.
const (
	Budget    = 10_000_000 // of all rules of an object
	callLimit = 1_000_000  // of one evaluation
)

// Environment compiles rules. It is made when it is first needed, since that takes a while. It is safe for concurrent use.
type Environment struct {
	base func() (*cel.Env, error)
}

// NewEnvironment returns an environment with the libraries that servers have.
func NewEnvironment() *Environment { return &Environment{sync.OnceValues(newBase)} }

// newBase is the environment of Kubernetes 1.35, which servers of the two releases after it have too.
func newBase() (*cel.Env, error) {
	return cel.NewEnv(
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
		),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		library("kubernetes.urls", urls()),
		library("kubernetes.regex", regexes(), cel.OptimizeRegex(compiledFind, compiledFindAll)),
		library("kubernetes.lists", lists()),
		library("kubernetes.quantity", quantities()),
		library("kubernetes.net.ip", addresses()),
		library("kubernetes.net.cidr", networks()),
		library("kubernetes.format", formats()),
		library("kubernetes.semver", versions()),
		library("", nil,
			cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
			cel.CostLimit(callLimit),
			cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
			cel.CostTracking(&estimator{}),
		),
	)
}

// Program is a rule that was compiled.
type Program struct {
	// Err is why it can't be compiled.
	Err error
	// UsesOldSelf is whether it compares with the old value.
	UsesOldSelf bool
	// MaxCost is what one evaluation costs at worst, and MaxCardinality how many there are at most of one object if
	// nothing else bounds it.
	MaxCost, MaxCardinality uint64

	// HasMessage is whether the message is an expression too, and MessageErr why it can't be compiled.
	HasMessage     bool
	MessageErr     error
	MaxMessageCost uint64

	source        openapi.Rule
	rule, message cel.Program
	path          string // of the field that the rule is about
}

// Compile compiles the rules of a schema.
func (e *Environment) Compile(s *openapi.Schema, t *Type) ([]Program, error) {
	if t == nil {
		return nil, errors.New("failed to convert to declType for CEL validation rules")
	}
	base, err := e.base()
	if err != nil {
		return nil, fmt.Errorf("prepare the environment of rules: %w", err)
	}
	p := &provider{base.CELTypeProvider(), map[string]map[string]*cel.Type{}}
	self := p.declare("selfType", t)
	// Extending an environment takes longer than compiling a rule in it.
	with := func(oldSelf *cel.Type) func() (*cel.Env, error) {
		return sync.OnceValues(func() (*cel.Env, error) {
			return base.Extend(cel.CustomTypeProvider(p), cel.Variable("self", self), cel.Variable("oldSelf", oldSelf))
		})
	}
	c := &compiler{
		schema:      s,
		plain:       with(self),
		optional:    with(cel.OptionalType(self)),
		costs:       &estimator{root: t},
		cardinality: uint64(maxRequest / (t.minSize + 1)),
	}
	programs := make([]Program, len(s.Validations))
	for i, rule := range s.Validations {
		if programs[i], err = c.compile(rule); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// compiler compiles the rules of one schema.
type compiler struct {
	schema          *openapi.Schema
	plain, optional func() (*cel.Env, error)
	costs           *estimator
	cardinality     uint64
}

// compile fails when there is no environment for the rule. What is wrong with the rule itself is in the program.
func (c *compiler) compile(rule openapi.Rule) (Program, error) {
	p := Program{source: rule}
	if strings.TrimSpace(rule.Rule) == "" {
		return p, nil
	}
	environment := c.plain
	if rule.OptionalOldSelf != nil && *rule.OptionalOldSelf {
		environment = c.optional
	}
	env, err := environment()
	if err != nil {
		return p, fmt.Errorf("declare self and oldSelf: %w", err)
	}
	c.compileRule(env, &p)
	if p.Err != nil {
		return p, nil
	}
	p.MaxCardinality = c.cardinality
	if rule.MessageExpression != "" {
		c.compileMessage(env, &p)
	}
	if p.MessageErr == nil && rule.FieldPath != "" {
		if path, _, err := FieldPath(rule.FieldPath, c.schema, true); err == nil {
			p.path = path.String()
		}
	}
	return p, nil
}

func (c *compiler) compileRule(env *cel.Env, p *Program) {
	ast, issues := env.Compile(p.source.Rule)
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
	p.rule, p.MaxCost, p.Err = c.program(env, ast, "program instantiation failed", "cost estimation failed")
}

func (c *compiler) compileMessage(env *cel.Env, p *Program) {
	ast, issues := env.Compile(p.source.MessageExpression)
	if issues.Err() != nil {
		p.MessageErr = fmt.Errorf("messageExpression compilation failed: %s", issues)
		return
	}
	if ast.OutputType() != cel.StringType {
		p.MessageErr = errors.New("messageExpression must evaluate to a string")
		return
	}
	p.message, p.MaxMessageCost, p.MessageErr = c.program(env, ast,
		"messageExpression instantiation failed", "cost estimation failed for messageExpression")
	p.HasMessage = p.MessageErr == nil
}

// program plans an expression, and estimates its cost.
func (c *compiler) program(env *cel.Env, ast *cel.Ast, noProgram, noCost string) (cel.Program, uint64, error) {
	p, err := env.Program(ast, cel.CostLimit(callLimit), cel.CostTracking(c.costs))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", noProgram, err)
	}
	cost, err := env.EstimateCost(ast, c.costs)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", noCost, err)
	}
	return p, cost.Max, nil
}
