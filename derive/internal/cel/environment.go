// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
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

// Environment compiles rules, each once, however many schemas of one type have it. It is safe for concurrent use.
type Environment struct {
	mu        sync.Mutex
	compilers map[outline][]*compiler // guarded by mu
}

// NewEnvironment returns an environment with the libraries that servers have.
func NewEnvironment() *Environment { return &Environment{compilers: map[outline][]*compiler{}} }

// base is what all environments have in common. It is made when it is first needed, since that takes a while.
var base = sync.OnceValues(newBase) //nolint:gochecknoglobals // a constant

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
	c := e.compiler(t)
	programs := make([]Program, len(s.Validations))
	for i, rule := range s.Validations {
		p, err := c.program(rule)
		if err != nil {
			return nil, err
		}
		p.source = rule
		if p.rule != nil && p.MessageErr == nil && rule.FieldPath != "" {
			if path, _, err := FieldPath(rule.FieldPath, s, true); err == nil {
				p.path = path.String()
			}
		}
		programs[i] = p
	}
	return programs, nil
}

// compiler returns what compiles the rules for values of a type.
func (e *Environment) compiler(t *Type) *compiler {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := t.outline()
	for _, c := range e.compilers[key] {
		if c.of.same(t) {
			return c
		}
	}
	c := newCompiler(t)
	e.compilers[key] = append(e.compilers[key], c)
	return c
}
