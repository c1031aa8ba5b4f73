// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed testdata/webhook
var webhookTemplates embed.FS

const (
	webhooks   = "internal/webhook/webhooks.go"
	webhookDir = "internal/webhook"
	deployment = "config/deploy/controller.yaml"
	program    = "main.go"

	webhooksTest = "test/e2e/webhooks_test.go"
)

// Webhooks are the webhooks of a kind.
type Webhooks struct {
	Mutate, Validate, Conversion bool
}

// AddWebhook adds webhooks of a kind, and a server for them if the project has none. The group may be empty if only one
// has such a kind.
func (t *Tree) AddWebhook(name, group string, which Webhooks) error {
	if which == (Webhooks{}) {
		return errors.New("no webhook is chosen: set -validate, -mutate or -conversion")
	}
	return t.atomically(func() error { return t.addWebhook(name, group, which) })
}

func (t *Tree) addWebhook(name, group string, which Webhooks) error {
	versions, all, err := t.find(name, group)
	if err != nil {
		return err
	}
	base, err := stored(versions)
	if err != nil {
		return err
	}
	if which.Conversion && len(versions) == 1 {
		return fmt.Errorf("kind %s has only the version %s: add another with kube-derive add version %[1]s VERSION, "+
			"which adds the conversion", name, base.version)
	}
	for _, part := range []struct {
		on   bool
		verb string
	}{{which.Validate, "validate"}, {which.Mutate, "mutate"}} {
		if !part.on {
			continue
		}
		e, err := t.webhookFiles(base, all, part.verb)
		if err != nil {
			return err
		}
		if err := t.create(e...); err != nil {
			return err
		}
		path := "/" + part.verb + "/" + base.plural
		element := fmt.Sprintf("%q: kube.%sHandler(%s%s, nil)", path, exported(part.verb), part.verb, name)
		if err := t.appendElement(webhooks, "handlers", element); err != nil {
			return err
		}
	}
	if which.Conversion {
		return t.addConversion(versions, all)
	}
	return nil
}

// webhookFiles adds the server, and returns the files of a webhook of a kind.
func (t *Tree) webhookFiles(base kindOf, all []kindOf, part string) ([]File, error) {
	d, err := t.deployed()
	if err != nil {
		return nil, err
	}
	at, err := t.placeOf(base.group, base.version, all)
	if err != nil {
		return nil, err
	}
	k := &Kind{Name: base.name, Group: base.group, Version: base.version, plural: base.plural}
	if t.files[webhooks] == nil {
		if err := t.addServer(k, at, d); err != nil {
			return nil, err
		}
	}
	singular := strings.ToLower(base.name)
	declared := map[string][]string{
		"validate":   {"validate" + base.name, singular + "Frozen"},
		"mutate":     {"mutate" + base.name, singular + "Creator"},
		"conversion": {singular + "Converter"},
	}
	for _, name := range declared[part] {
		if file, err := t.declares(webhookDir, name); err != nil {
			return nil, err
		} else if file != "" {
			return nil, fmt.Errorf("%s declares %s already: kind %s has such a webhook, or rename it",
				file, name, base.name)
		}
	}
	var files []File
	for _, name := range []string{"widget_" + part + ".go", "widget_" + part + "_test.go"} {
		f, err := t.webhookFile(k, at, d, webhookDir+"/"+name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// configuration is the line that names the configuration of the mutating or of the validating webhooks.
var configuration = regexp.MustCompile(`(?m)^// \+kubebuilder:webhookconfiguration:.*\n`)

// mentions reports whether a Go file contains a text.
func (t *Tree) mentions(text string) bool {
	for name, content := range t.files {
		if path.Ext(name) == ".go" && strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

// webhookFile returns the file that a template becomes.
func (t *Tree) webhookFile(k *Kind, at place, d *deployed, name string) (File, error) {
	data, err := webhookTemplates.ReadFile("testdata/webhook/" + name)
	if err != nil {
		return File{}, err
	}
	text := string(data)
	for _, marker := range configuration.FindAllString(text, -1) { // a project has one of each
		if kind, _, _ := strings.Cut(marker, ","); t.mentions(kind) {
			text = strings.Replace(text, marker, "", 1)
		}
	}
	return k.file(t.module, at, name, text,
		"    app.kubernetes.io/name: widget-controller\n", d.selector,
		"widget-controller", d.name,
		"widget-system", d.namespace,
		"versions=v1,", "versions="+k.Version+",",
	)
}

// addServer adds the server of the webhooks.
func (t *Tree) addServer(k *Kind, at place, d *deployed) error {
	for _, name := range []string{
		webhooks, webhookDir + "/webhooks_test.go", webhookDir + "/outside.go", "config/webhook/service.yaml",
	} {
		f, err := t.webhookFile(k, at, d, name)
		if err != nil {
			return err
		}
		if err := t.create(f); err != nil {
			return err
		}
	}
	if err := t.serveWebhooks(); err != nil {
		return err
	}
	test, err := t.webhookFile(k, at, d, webhooksTest)
	if err != nil {
		return err
	}
	if err := t.testWebhooks(test); err != nil {
		return err
	}
	arg := regexp.MustCompile(`(?m)^([ \t]*- )-(health|metrics|lease)=.*\n`)
	text := t.files[deployment]
	found := arg.FindAllSubmatchIndex(text, -1)
	switch {
	case regexp.MustCompile(`(?m)^\s*- -webhooks=`).Match(text):
		return nil
	case len(found) == 0:
		return &EditError{
			deployment, "the container has no argument such as -health=:8081 on a line of its own",
			"        - -webhooks=:9443",
		}
	}
	last := found[len(found)-1]
	line := string(text[last[2]:last[3]]) + "-webhooks=:9443\n"
	t.files[deployment] = slices.Concat(text[:last[1]], []byte(line), text[last[1]:])
	return nil
}

// serveWebhooks makes the program serve webhooks: flags before flags.Parse, an argument of controller.Install, and
// calls before m.Run.
func (t *Tree) serveWebhooks() error {
	const (
		addr = ".String(\"webhooks\", \"\", \"the `address` of the webhooks, such as :9443 (default none)\")\n"
		at   = ".String(\"webhook-url\", \"\", \"the `URL` of the webhooks, if the program runs outside of the cluster\")\n"
		add  = "if *webhooks != \"\" {\nif err := webhook.Add(%[1]s, %[2]s, *webhooks, *webhookURL); err != nil {\n" +
			"return err\n}\n}\n" +
			"if *webhookURL != \"\" {\nif err := webhook.Configure(ctx, %[2]s, \"config/webhook\", *webhookURL); " +
			"err != nil {\nreturn err\n}\n}\n"
		change = "webhook.CallAt(*webhookURL)"
	)
	byHand, err := format.Source(fmt.Appendf(nil, "\twebhooks := flags"+addr+"\twebhookURL := flags"+at+
		"\t// …\n\tcontroller.Install(ctx, c, "+change+")\n\t// …\n"+add+"\treturn m.Run(ctx)", "m", "c"))
	if err != nil {
		return err
	}
	lines := string(byHand)
	if t.files[program] == nil {
		return &EditError{program, "the file does not exist", lines}
	}
	s, err := t.parse(program)
	if err != nil {
		return err
	}
	for _, i := range s.file.Imports {
		if i.Path.Value == `"`+t.module+"/"+webhookDir+`"` {
			return nil // by hand
		}
	}
	var found calls
	if f := s.function("run"); f != nil {
		found = findCalls(s, f)
	}
	if found.parse == nil || found.run == nil || found.client == "" {
		return &EditError{program, "it has no function run with flags.Parse, kube.NewManager and return m.Run", lines}
	}
	edits := []insertion{
		{s.offset(found.parse.Pos()), "webhooks := " + found.flags + addr + "webhookURL := " + found.flags + at},
		{s.offset(found.run.Pos()), fmt.Sprintf(add, found.manager, found.client)},
	}
	if found.install != nil {
		edits = slices.Insert(edits, 1, insertion{s.offset(found.install.Rparen), ", " + change})
	}
	if t.files[program], err = s.insert(edits...); err != nil {
		return err
	}
	alias, err := t.addImport(program, "webhook", t.module+"/"+webhookDir)
	if err == nil && alias != "webhook" {
		err = &EditError{program, "it imports another package webhook", lines}
	}
	return err
}

// testWebhooks makes the end-to-end tests serve webhooks, with the functions of a new file. A project without the
// function start that the tests of a new project have gets neither.
func (t *Tree) testWebhooks(file File) error {
	if t.files[endToEnd] == nil || t.files[file.Path] != nil {
		return nil
	}
	s, err := t.parse(endToEnd)
	if err != nil {
		return err
	}
	var found calls
	if f := s.function("start"); f != nil {
		found = findCalls(s, f)
	}
	if found.install == nil || found.created == nil || found.manager == "" {
		return nil
	}
	t.files[endToEnd], err = s.insert(
		insertion{s.offset(found.install.Rparen), ", callWebhooks"},
		insertion{
			s.lineEnd(s.offset(found.created.End())), fmt.Sprintf("addWebhooks(ctx, t, %s, %s)\n", found.manager, found.client),
		},
	)
	if err != nil {
		return err
	}
	return t.create(file)
}

// calls are the places of a function that runs controllers.
type calls struct {
	parse, created, run    ast.Stmt
	install                *ast.CallExpr // nil for none
	flags, manager, client string        // names of variables
}

// findCalls finds flags.Parse, controller.Install, kube.NewManager(c, …) and return m.Run among the statements of a
// function.
func findCalls(s *source, f *ast.FuncDecl) (c calls) {
	for _, stmt := range f.Body.List {
		ast.Inspect(stmt, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			_, returns := stmt.(*ast.ReturnStmt)
			switch {
			case !ok:
			case sel.Sel.Name == "Parse" && c.parse == nil:
				c.parse, c.flags = stmt, x.Name
			case sel.Sel.Name == "Install" && x.Name == "controller" && len(call.Args) == 2:
				c.install = call
			case sel.Sel.Name == "NewManager" && len(call.Args) == 2:
				c.client = string(s.text[s.offset(call.Args[0].Pos()):s.offset(call.Args[0].End())])
				if assign, ok := stmt.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 {
					if id, ok := assign.Lhs[0].(*ast.Ident); ok {
						c.manager, c.created = id.Name, stmt
					}
				}
			case sel.Sel.Name == "Run" && returns && x.Name == c.manager:
				c.run = stmt
			}
			return true
		})
	}
	return c
}

// deployed is how a project is deployed.
type deployed struct {
	name, namespace string
	selector        string // lines of YAML
}

// deployed reads the Deployment of the project.
func (t *Tree) deployed() (*deployed, error) {
	separator := regexp.MustCompile(`(?m)^---([ \t].*)?$`)
	for _, document := range separator.Split(string(t.files[deployment]), -1) {
		var obj struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Spec     struct {
				Selector struct{ MatchLabels map[string]string }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
			return nil, fmt.Errorf("%s: %w", deployment, err)
		}
		labels := obj.Spec.Selector.MatchLabels
		if obj.Kind != "Deployment" || obj.Metadata.Name == "" || obj.Metadata.Namespace == "" || len(labels) == 0 {
			continue
		}
		d := &deployed{name: obj.Metadata.Name, namespace: obj.Metadata.Namespace}
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			d.selector += fmt.Sprintf("    %s: %q\n", label, labels[label])
		}
		return d, nil
	}
	return nil, fmt.Errorf("%s has no Deployment with a name, a namespace and spec.selector.matchLabels, which the "+
		"service of the webhooks needs: add it", deployment)
}

// addConversion makes a conversion webhook for the versions of a kind, whose functions exist.
func (t *Tree) addConversion(versions, all []kindOf) error {
	base, err := t.hub(versions)
	if err != nil {
		return err
	}
	file := converterFile(base)
	if t.files[file] == nil {
		e, err := t.webhookFiles(base, all, "conversion")
		if err != nil {
			return err
		}
		if err := t.create(e...); err != nil {
			return err
		}
	}
	if err := t.appendElement(webhooks, "converters", strings.ToLower(base.name)+"Converter"); err != nil {
		return err
	}
	for _, v := range versions {
		if v.version == base.version {
			continue
		}
		if err := t.addSpoke(file, base, v, all); err != nil {
			return err
		}
	}
	if err := t.probeWebhooks(); err != nil {
		return err
	}
	marked := slices.IndexFunc(versions, func(k kindOf) bool { return k.converts != "" })
	if marked >= 0 && versions[marked].converts != "None" {
		return nil
	}
	d, err := t.deployed()
	if err != nil {
		return err
	}
	line := fmt.Sprintf("//kube:conversion strategy=Webhook service=%s/%s path=/convert/%s",
		d.namespace, d.name, base.plural)
	if marked >= 0 {
		return &EditError{
			versions[marked].path, "it has the marker //kube:conversion strategy=None, with which the API server does not " +
				"call the webhook: remove it", line,
		}
	}
	return t.replaceLine(base.path, base.marker, base.marker+"\n"+line)
}

// probe is the readiness probe of a new project.
var probe = regexp.MustCompile(`(?m)^( *)readinessProbe:\n +httpGet:\n( +)path: /readyz\n +port: health\n`)

const newProbe = "${1}readinessProbe: # of the webhooks, since the first lists of the caches may need conversions\n" +
	"${1}  httpGet:\n${2}path: /readyz\n${2}port: 9443\n${2}scheme: HTTPS\n"

// probeWebhooks makes replicas ready when they serve webhooks. API servers call only those that are ready, and a
// program waits for conversions before its caches are synced.
func (t *Tree) probeWebhooks() error {
	text := t.files[deployment]
	switch {
	case regexp.MustCompile(`(?m)^ +scheme: HTTPS$`).Match(text):
		return nil
	case !probe.Match(text):
		return &EditError{
			deployment, "the readiness probe is not /readyz of the port health",
			strings.NewReplacer("${1}", "        ", "${2}", "            ").Replace(newProbe),
		}
	}
	t.files[deployment] = probe.ReplaceAll(text, []byte(newProbe))
	return nil
}

// addSpoke adds a version to the converter of a kind.
func (t *Tree) addSpoke(file string, base, v kindOf, all []kindOf) error {
	hub := exported(base.version)
	up, down := base.name+"To"+hub, base.name+"From"+hub
	for name, signature := range map[string]string{
		up:   fmt.Sprintf("func %s(in *%s) (*%s.%[2]s, error)", up, base.name, base.version),
		down: fmt.Sprintf("func %s(in *%s.%s) (*%[3]s, error)", down, base.version, base.name),
	} {
		if other, err := t.declares(v.dir, name); err != nil {
			return err
		} else if other == "" {
			return &EditError{
				path.Join(v.dir, strings.ToLower(base.name)+"_conversion.go"), "nothing converts version " + v.version, signature,
			}
		}
	}
	at, err := t.placeOf(v.group, v.version, all)
	if err != nil {
		return err
	}
	s, err := t.parse(file)
	if err != nil {
		return err
	}
	for _, i := range s.file.Imports {
		if i.Path.Value == fmt.Sprintf("%q", t.module+"/"+at.dir) {
			return nil // the converter has the version
		}
	}
	alias, err := t.importIn(file, at)
	if err != nil {
		return err
	}
	element := fmt.Sprintf("conversion.Between(%s.%s, %s.%s)", alias, up, alias, down)
	return t.appendElement(file, strings.ToLower(base.name)+"Converter", element)
}
