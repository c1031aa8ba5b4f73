// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// errNoRules is the error for a module without rules.
var errNoRules = errors.New("the module has no rules in its description, so the permissions that it needs are not " +
	"known: record what it does with `kube-wasm run -record`, and pass the files with -recording")

// printRole prints the role of a module.
func printRole(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("role", flag.ContinueOnError)
	name, namespace := flags.String("name", "", ""), flags.String("namespace", "", "")
	account := flags.String("account", "", "")
	var recordings texts
	flags.Var(&recordings, "recording", "")
	file, err := oneFile(flags, args)
	if err != nil {
		return err
	}
	var subject core.ObjectRef
	if *account != "" {
		var ok bool
		if subject, ok = parseAccount(*account); !ok {
			return fmt.Errorf("role: -account is %q, want NAMESPACE/NAME; %w", *account, errUsage)
		}
	}
	i, err := inspect(ctx, file)
	switch {
	case err != nil:
		return err
	case i.description == nil:
		return fmt.Errorf("%s: the module does not describe itself: %w", file, i.problem)
	}
	rules := i.description.Rules
	if len(recordings) > 0 {
		if rules, err = usedRules(recordings); err != nil {
			return err
		}
	}
	if len(rules) == 0 {
		return fmt.Errorf("%s: %w", file, errNoRules)
	}
	*name = cmp.Or(*name, i.description.Name, nameOf(file))
	if problems := validation.IsDNS1123Subdomain(*name); len(problems) > 0 {
		return fmt.Errorf("role: the name %q is invalid: set -name; %s", *name, problems[0])
	}
	if *namespace != "" && len(validation.IsDNS1123Label(*namespace)) > 0 {
		return fmt.Errorf("role: -namespace is %q, which is not a name of a namespace; %w", *namespace, errUsage)
	}
	_, err = io.WriteString(stdout, role(*name, *namespace, subject, rules))
	return err
}

// usedRules returns the permissions that a module has used in recordings.
func usedRules(names []string) ([]abi.Rule, error) {
	all := strings.Join(names, ", ")
	files := make([]io.Reader, len(names))
	for i, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	rules, err := host.Rules(files...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", all, err)
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s: the module has used no permissions", all)
	}
	return rules, nil
}

// role returns the YAML of a role, and of a binding if there is a subject.
func role(name, namespace string, subject core.ObjectRef, rules []abi.Rule) string {
	var b strings.Builder
	kind := "ClusterRole"
	if namespace != "" {
		kind = "Role"
	}
	head := func(kind string) {
		fmt.Fprintf(&b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s\n", kind, quote(name))
		if namespace != "" {
			fmt.Fprintf(&b, "  namespace: %s\n", quote(namespace))
		}
	}
	head(kind)
	b.WriteString("rules:\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "- apiGroups: %s\n  resources: %s\n  verbs: %s\n",
			quoteAll(r.APIGroups), quoteAll(r.Resources), quoteAll(r.Verbs))
	}
	if subject == (core.ObjectRef{}) {
		return b.String()
	}
	b.WriteString("---\n")
	head(kind + "Binding")
	fmt.Fprintf(&b, "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\n", kind, quote(name))
	fmt.Fprintf(&b, "subjects:\n- kind: ServiceAccount\n  namespace: %s\n  name: %s\n",
		quote(subject.Namespace), quote(subject.Name))
	return b.String()
}

// quote returns a text in JSON, which is also YAML.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil { // never of a string
		return `""`
	}
	return string(data)
}

// quoteAll returns texts in JSON.
func quoteAll(all []string) string {
	quoted := make([]string, len(all))
	for i, text := range all {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
