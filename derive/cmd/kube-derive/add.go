// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// addCommand stands for the commands that extend a project in the list of all.
func addCommand() *command {
	return &command{
		name: "add", args: "kind|version|webhook …", short: "add a kind, a version or a webhook to a started project",
		prepare: func(*flag.FlagSet) action { return nil }, // add calls another
	}
}

// addCommands extend a started project.
func addCommands() []*command {
	return []*command{addKind(), addVersion(), addWebhook()}
}

// add runs one of the commands that extend a project.
func add(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		addHelp(std.out)
		return exitOK
	}
	if c := find("add " + args[0]); c != nil {
		return c.call(ctx, args[1:], std)
	}
	fmt.Fprintf(std.err, "kube-derive add: %q is not one of kind, version and webhook; see kube-derive add -h\n", args[0])
	return exitUsage
}

// addHelp explains what can be added.
func addHelp(w io.Writer) {
	c := addCommand()
	fmt.Fprintf(w, "usage: %s %s\n\n"+
		"Extends a project that kube-derive init has started. Run it in the project:\n\n"+
		"\tkube-derive add kind Invoice\n\ncommands:\n", c.fullName(), c.args)
	for _, c := range addCommands() {
		fmt.Fprintf(w, "  kube-derive %-11s %s\n      %s\n", c.name, c.args, c.short)
	}
}

const allOrNothing = `

The command adds a few lines to existing files, and prints the files that it has created and changed.
If a file does not have the expected form, it prints the lines that are missing, and changes nothing.
It overwrites no files.`

func addKind() *command {
	c := &command{
		name:  "add kind",
		args:  "[flags] NAME",
		short: "add a kind with its controller to a project",
		long: `
Adds a kind: its types, a reconcile, tests and a sample. The controller is added to the list in
internal/controller/controllers.go.

	kube-derive add kind Invoice` + allOrNothing,
	}
	c.prepare = func(flags *flag.FlagSet) action {
		k := &scaffold.Kind{}
		flags.StringVar(&k.Group, "group", "", "the API `group` of the kind (default that of the other kinds)")
		flags.StringVar(&k.Version, "version", "", "the `version` of the kind (default that of the other kinds of the group)")
		flags.BoolVar(&k.Cluster, "cluster-scoped", false, "the objects of the kind have no namespace")
		return c.extend(flags, []string{"the NAME of a kind"}, func(t *scaffold.Tree, args []string) (string, error) {
			k.Name = args[0]
			if err := t.AddKind(k); err != nil {
				return "", err
			}
			sample := strings.ToLower(k.Name) + ".yaml"
			return "make test run\n  kubectl apply -f config/samples/" + sample + "  # in another terminal", nil
		})
	}
	return c
}

func addVersion() *command {
	c := &command{
		name:  "add version",
		args:  "[flags] KIND VERSION",
		short: "add a version to a kind, with conversions",
		long: `
Adds a version to a kind: a copy of the types of the version that the API server stores, or of the
hub of the conversions that the kind has; functions that convert between the two, with a test that
converts random objects; and the conversion webhook, which make run and make deploy serve.

	kube-derive add version Order v2` + allOrNothing,
	}
	c.prepare = func(flags *flag.FlagSet) action {
		group := flags.String("group", "", "the API `group` of the kind, if several have such a kind")
		wanted := []string{"the KIND", "the VERSION"}
		return c.extend(flags, wanted, func(t *scaffold.Tree, args []string) (string, error) {
			if err := t.AddVersion(args[0], *group, args[1]); err != nil {
				return "", err
			}
			return "make test  # converts random objects; repeat it after changes of types and functions", nil
		})
	}
	return c
}

func addWebhook() *command {
	c := &command{
		name:  "add webhook",
		args:  "[flags] KIND",
		short: "add webhooks of a kind",
		long: `
Adds webhooks of a kind: the functions with tests, the markers of their configuration, and, for
the first one, a server in the program with its service. The server makes its certificates.

	kube-derive add webhook Order --validate --mutate` + allOrNothing,
	}
	c.prepare = func(flags *flag.FlagSet) action {
		group := flags.String("group", "", "the API `group` of the kind, if several have such a kind")
		which := scaffold.Webhooks{}
		flags.BoolVar(&which.Validate, "validate", false, "add a validating webhook (default if no other flag chooses one)")
		flags.BoolVar(&which.Mutate, "mutate", false, "add a mutating webhook")
		flags.BoolVar(&which.Conversion, "conversion", false, "add a conversion webhook for versions that were written by hand")
		return c.extend(flags, []string{"the KIND"}, func(t *scaffold.Tree, args []string) (string, error) {
			if which == (scaffold.Webhooks{}) {
				which.Validate = true
			}
			return "make test run", t.AddWebhook(args[0], *group, which)
		})
	}
	return c
}

// extend returns the action of a command that extends the project in the current directory. change returns the next
// command.
func (c *command) extend(
	flags *flag.FlagSet, wanted []string, change func(t *scaffold.Tree, args []string) (next string, err error),
) action {
	filesOnly := flags.Bool("files-only", false, "write the files and don't generate the others")
	return func(ctx context.Context, args []string, std streams) int {
		if len(args) != len(wanted) || slices.Contains(args, "") {
			return c.misused(std, "specify "+strings.Join(wanted, " and ")+", and not "+plural(len(args), "argument"))
		}
		e := &extender{command: c.fullName(), filesOnly: *filesOnly, std: std}
		next, err := e.run(ctx, func(t *scaffold.Tree) (string, error) { return change(t, args) })
		if err != nil {
			fmt.Fprintf(std.err, "%s: %v\n", c.fullName(), err)
			return exitWrong
		}
		fmt.Fprintf(std.out, "What next:\n\n  %s\n", next)
		return exitOK
	}
}

// extender is one call of add.
type extender struct {
	command   string
	filesOnly bool
	std       streams

	root   string
	before map[string][]byte // generated files and go.mod, by path; nil for those that do not exist
}

// run changes the project, all or nothing.
func (e *extender) run(ctx context.Context, change func(*scaffold.Tree) (string, error)) (next string, err error) {
	if e.root, err = projectRoot(); err != nil {
		return "", err
	}
	tree, err := scaffold.Open(e.root)
	if err != nil {
		return "", err
	}
	if next, err = change(tree); err != nil {
		return "", err
	}
	changes := tree.Changes()
	if !e.filesOnly {
		if err := e.checkTidy(ctx); err != nil {
			return "", err
		}
	}
	undo, err := scaffold.Apply(e.root, changes)
	if err != nil {
		return "", err
	}
	if !e.filesOnly {
		if err := e.generate(ctx); err != nil {
			return "", errors.Join(fmt.Errorf("%w; nothing was changed", err), e.restore(), undo())
		}
	} else {
		next = "go mod tidy && make generate && go mod tidy && " + next
	}
	e.list(changes)
	return next, nil
}

// projectRoot returns the directory of the module that the current directory is in.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is in no Go module: change to a project, or start one with kube-derive init", dir)
		}
	}
}

// checkTidy reports whether go.mod is not as go mod tidy would leave it, so that a change of it is not about the new
// files only.
func (e *extender) checkTidy(ctx context.Context) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("%w; install Go 1.26 or newer from https://go.dev/dl, or use -files-only", err)
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy", "-diff")
	cmd.Dir, cmd.Env = e.root, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted; nothing was changed")
	}
	const most = 20
	lines := bytes.SplitN(bytes.TrimSpace(out), []byte("\n"), most+1)
	return fmt.Errorf("go.mod or go.sum is not tidy: run make generate and go mod tidy, or use -files-only; "+
		"nothing was changed:\n%s",
		bytes.Join(lines[:min(most, len(lines))], []byte("\n")))
}

// generate writes the generated files.
func (e *extender) generate(ctx context.Context) error {
	e.before = map[string][]byte{}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := e.remember(filepath.Join(e.root, name)); err != nil {
			return err
		}
	}
	if err := goCommand(ctx, e.command, e.root, []string{"mod", "tidy"}, e.std.err); err != nil {
		return err
	}
	// Run reads the packages with the go command, too. The project may be below a go.work that does not use it.
	if err := os.Setenv("GOWORK", "off"); err != nil {
		return err
	}
	files, err := generate.Run(ctx, []string{"./..."}, &generate.Options{Dir: e.root})
	if err != nil {
		return err
	}
	for _, f := range files.Files {
		if err := e.remember(f.Path); err != nil {
			return err
		}
	}
	for _, w := range files.Warnings {
		fmt.Fprintf(e.std.err, "%s: warning: %s\n", e.command, w)
	}
	if _, err := files.Write(); err != nil {
		return err
	}
	return goCommand(ctx, e.command, e.root, []string{"mod", "tidy"}, e.std.err) // generated code imports more
}

// remember keeps the content of a file that may change.
func (e *extender) remember(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	} else if text == nil {
		text = []byte{}
	}
	e.before[name] = text
	return err
}

// restore undoes the changes of generate.
func (e *extender) restore() error {
	var errs []error
	for name, text := range e.before {
		now, err := os.ReadFile(name)
		switch {
		case text == nil && err == nil:
			errs = append(errs, os.Remove(name))
			if dir := filepath.Dir(name); dir != e.root {
				_ = os.Remove(dir) // if it is empty
			}
		case text != nil && !bytes.Equal(now, text):
			errs = append(errs, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644))
		}
	}
	return errors.Join(errs...)
}

// list prints the names of the files that are different.
func (e *extender) list(changes []scaffold.Change) {
	lines := map[string]string{}
	for _, c := range changes {
		lines[c.Path] = "changed"
		if c.New {
			lines[c.Path] = "created"
		}
	}
	for name, text := range e.before {
		now, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(e.root, name)
		if relErr != nil || err == nil && text != nil && bytes.Equal(now, text) {
			continue
		}
		switch rel = filepath.ToSlash(rel); {
		case err != nil && text == nil:
		case err != nil:
			lines[rel] = "removed"
		case text == nil:
			lines[rel] = "created"
		default:
			lines[rel] = "changed"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(e.std.out, "%s %s\n", lines[name], name)
	}
}
