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

// The cost limits of API servers.
const (
	Budget    = 10_000_000 // for all rules of an object
	callLimit = 1_000_000  // for one evaluation
)

// Environment compiles rules. It compiles equal rules for equal types once. It is safe for concurrent use.
type Environment struct {
	mu        sync.Mutex
	compilers map[outline][]*compiler // guarded by mu
}

// NewEnvironment returns an environment with the CEL libraries of API servers.
func NewEnvironment() *Environment { return &Environment{compilers: map[outline][]*compiler{}} }

// base returns the CEL environment that all compilers extend. It is created on first use, because this is slow.
var base = sync.OnceValues(newBase) //nolint:gochecknoglobals // a constant

// newBase creates the CEL environment of Kubernetes 1.35, which is also the one of the two releases after it.
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

// Program is a compiled rule.
type Program struct {
	// Err is the compilation error of the rule.
	Err error
	// UsesOldSelf reports whether the rule refers to oldSelf.
	UsesOldSelf bool
	// MaxCost is the estimated cost of one evaluation. MaxCardinality is the maximum number of evaluations for one
	// object if no other limit applies.
	MaxCost, MaxCardinality uint64

	// HasMessage reports whether the rule has a valid message expression. MessageErr is its compilation error.
	HasMessage     bool
	MessageErr     error
	MaxMessageCost uint64

	source        openapi.Rule
	rule, message cel.Program
	path          string // the field path of the rule
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

// compiler returns the compiler for a type.
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
