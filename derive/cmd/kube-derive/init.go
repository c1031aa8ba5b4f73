// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// initCommand starts a project.
func initCommand() *command {
	c := &command{
		name:  "init",
		args:  "[flags] DIR",
		short: "start a controller project in a new directory",
		long: `
Writes a Go module with a kind, its controller, tests, a Makefile, a Dockerfile and manifests to
DIR, together with the files that the go command gets and generates for it. The manifests have two
replicas with leader election, health endpoints and metrics. DIR may exist and have other files:
nothing is overwritten, and nothing is written if something fails. kube-derive add extends the
project later.

	go run github.com/kube-go/sdk/derive/cmd/kube-derive@latest init \
		--module example.com/shop --group shop.example.com --kind Order shop
	cd shop
	make test run

It requires the SDK of the same release as this command.`,
	}
	c.prepare = func(flags *flag.FlagSet) action {
		p := &scaffold.Project{}
		filesOnly := false
		flags.StringVar(&p.Module, "module", "", "the `path` of the Go module (default example.com/ and the name of DIR)")
		flags.StringVar(&p.Group, "group", "", "the API `group` of the kind (default the kind and .example.com)")
		flags.StringVar(&p.Kind, "kind", "Widget", "the `name` of the kind")
		flags.StringVar(&p.KindVersion, "version", "v1", "the `version` of the kind, such as v1alpha1")
		flags.StringVar(&p.SDK, "sdk", "", "use the checkout of the SDK in this `directory` instead of a release")
		flags.BoolVar(&p.Webhook, "webhook", false, "add a server with webhooks that validate and mutate objects of the kind")
		flags.BoolVar(&filesOnly, "files-only", false, "write the files and don't call the go command")
		return func(ctx context.Context, args []string, std streams) int {
			if len(args) != 1 || args[0] == "" {
				return c.misused(std, fmt.Sprintf("it wants one directory, and not %d", len(args)))
			}
			i := &initializer{project: p, dir: args[0], filesOnly: filesOnly, std: std}
			if err := i.complete(version()); err != nil {
				return c.misused(std, err.Error())
			}
			if err := i.run(ctx); err != nil {
				fmt.Fprintf(std.err, "%s: %v\n", c.fullName(), err)
				return exitWrong
			}
			return exitOK
		}
	}
	return c
}

// initializer is one call of init.
type initializer struct {
	project   *scaffold.Project
	dir       string
	filesOnly bool
	std       streams
}

// released is the form of versions that a module proxy has.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// complete fills in what the flags leave open. The version is that of this command.
func (i *initializer) complete(version string) error {
	p := i.project
	dir, err := filepath.Abs(i.dir)
	if err != nil {
		return err
	}
	p.Module = cmp.Or(p.Module, "example.com/"+strings.ToLower(filepath.Base(dir)))
	p.Group = cmp.Or(p.Group, strings.ToLower(p.Kind)+".example.com")
	p.Version = version
	switch {
	case p.SDK != "":
		p.Version = "v0.0.0"
		if p.SDK, err = filepath.Abs(p.SDK); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(p.SDK, "kube", "go.mod")); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("-sdk: %s is not a checkout of the SDK: it has no kube/go.mod", p.SDK)
		}
	case !released.MatchString(version):
		return fmt.Errorf("this kube-derive is %s, and not of a release that a project can require; "+
			"run go run github.com/kube-go/sdk/derive/cmd/kube-derive@latest init, or name a checkout with -sdk", version)
	}
	return p.Check()
}

// run writes the project. The files are made in another directory first, so that DIR gets all of them, or none.
func (i *initializer) run(ctx context.Context) error {
	files, err := i.project.Files()
	if err != nil {
		return err
	}
	if err := scaffold.CheckVacant(i.dir, files); err != nil {
		return err
	}
	if !i.filesOnly {
		if files, err = i.complement(ctx, files); err != nil {
			return fmt.Errorf("%w; nothing was written to %s", err, i.dir)
		}
	}
	if err := scaffold.Write(i.dir, files); err != nil {
		return err
	}
	fmt.Fprintf(i.std.err, "kube-derive init: wrote %s to %s\n", plural(len(files), "file"), i.dir)
	fmt.Fprint(i.std.out, i.next(i.workspace(ctx)))
	return nil
}

// workspace returns the go.work that the project is below, empty for none. The project is not a part of it yet.
func (i *initializer) workspace(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "go", "env", "GOWORK")
	cmd.Dir = i.dir
	out, err := cmd.Output()
	if path := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(path) {
		return path
	}
	return "" // none, or off, or no go command
}

// steps are the go commands that make the rest of a project. The generated code imports more than what is there before
// it.
func steps() [][]string {
	return [][]string{{"mod", "tidy"}, {"generate", "./..."}, {"mod", "tidy"}}
}

// complement returns the files with those that the go command makes of them.
func (i *initializer) complement(ctx context.Context, files []scaffold.File) (all []scaffold.File, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("the go command makes a part of the project: %w; install Go 1.26 or newer from https://go.dev/dl, "+
			"or write the rest with -files-only", err)
	}
	made, err := os.MkdirTemp("", "kube-derive-init-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	if err := scaffold.Write(made, files); err != nil {
		return nil, err
	}
	for _, args := range steps() {
		if err := goCommand(ctx, "kube-derive init", made, args, i.std.err); err != nil {
			return nil, err
		}
	}
	return scaffold.Read(made)
}

// goCommand runs the go command in a directory that is a module by itself, and shows what it does.
func goCommand(ctx context.Context, command, dir string, args []string, output io.Writer) error {
	line := "go " + strings.Join(args, " ")
	fmt.Fprintf(output, "%s: %s\n", command, line)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = output, output // it may take a while
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// next says what to do with the project, which may be below a workspace.
func (i *initializer) next(workspace string) string {
	singular := strings.ToLower(i.project.Kind)
	list := [][2]string{
		{"make test", "without a cluster"},
		{"make run", "on the cluster of your kubeconfig; make cluster starts one"},
		{"kubectl apply -f config/samples/" + singular + ".yaml", "in another terminal"},
	}
	if i.filesOnly {
		var rest [][2]string
		for _, args := range steps() {
			rest = append(rest, [2]string{"go " + strings.Join(args, " "), "makes what is missing"})
		}
		list = append(rest, list...)
	}
	if workspace != "" {
		list = append([][2]string{{"go work use .", "makes it a part of " + workspace}}, list...)
	}
	var b strings.Builder
	b.WriteString("What next:\n\n")
	if dir := filepath.Clean(i.dir); dir != "." {
		if strings.ContainsAny(dir, " \t") {
			dir = "'" + dir + "'"
		}
		fmt.Fprintf(&b, "  cd %s\n", dir)
	}
	for _, line := range list {
		fmt.Fprintf(&b, "  %-*s  # %s\n", len(list[len(list)-1][0]), line[0], line[1])
	}
	fmt.Fprintf(&b, "\nChange the kind in api/%s/%s_types.go and its reconcile in internal/controller/%[2]s.go, then run make generate.\n"+
		"go tool kube-derive add adds kinds, versions and webhooks.\n", cmp.Or(i.project.KindVersion, "v1"), singular)
	return b.String()
}
