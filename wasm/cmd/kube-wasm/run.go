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
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/operator"
	"github.com/kube-go/sdk/wasm/registry"
)

// dirPoll is the time between two looks at a directory.
const dirPoll = 2 * time.Second

// settings are the flags of run.
type settings struct {
	files, args []string
	dir         string
	account     string
	origins     texts
	record      string
	controller  bool
	install     bool
	kubeconfig  string
	cache       string
	operator    operator.Options
	registry    registry.Options
	manager     manager.Options
}

// parseRun parses the flags of run.
func parseRun(args []string) (*settings, error) {
	var (
		s                      settings
		hosts, images, origins texts
	)
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&s.dir, "dir", "", "")
	flags.StringVar(&s.account, "account", "", "")
	flags.Var(&s.origins, "origin", "")
	flags.StringVar(&s.record, "record", "", "")
	flags.BoolVar(&s.controller, "controller", false, "")
	flags.BoolVar(&s.install, "install", false, "")
	flags.StringVar(&s.operator.Namespace, "namespace", "", "")
	flags.StringVar(&s.operator.Files, "files", "", "")
	flags.StringVar(&s.cache, "cache", "", "")
	flags.StringVar(&s.registry.DockerConfig, "docker-config", "", "")
	flags.Var(&hosts, "plain-http", "")
	flags.Var(&images, "images", "")
	flags.Var(&origins, "allow-origin", "")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&s.manager.LeaderElection, "leader-election", "", "")
	flags.StringVar(&s.manager.HealthAddr, "health-addr", "", "")
	flags.StringVar(&s.manager.MetricsAddr, "metrics-addr", "", "")
	flags.StringVar(&s.manager.DebugAddr, "debug-addr", "", "")
	var err error
	if s.files, s.args, err = parse(flags, args); err != nil {
		return nil, err
	}
	s.registry.PlainHTTP, s.registry.Prefixes, s.operator.Origins = hosts, images, origins
	return &s, s.check(flags)
}

// check returns an error if flags do not fit.
func (s *settings) check(flags *flag.FlagSet) (err error) {
	if len(s.files) == 0 && s.dir == "" && !s.controller {
		return fmt.Errorf("run: there is nothing to run: name a file, or set -dir or -controller; %w", errUsage)
	}
	if len(s.args) > 0 && len(s.files) == 0 {
		return fmt.Errorf("run: the arguments %q are for modules of files, but no file is named; %w", s.args, errUsage)
	}
	for _, origin := range s.origins {
		if invalid := host.CheckOrigin(origin); invalid != nil {
			err = errors.Join(err, fmt.Errorf("run: -origin: %w; %w", invalid, errUsage))
		}
	}
	if _, ok := parseAccount(s.account); !ok && s.account != "" {
		err = errors.Join(err, fmt.Errorf("run: -account is %q, want NAMESPACE/NAME; %w", s.account, errUsage))
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "install", "namespace", "files", "allow-origin":
			if !s.controller {
				err = errors.Join(err, fmt.Errorf("run: -%s has no effect without -controller; %w", f.Name, errUsage))
			}
		case "docker-config", "plain-http", "images":
			if !s.controller || s.cache == "" {
				err = errors.Join(err, fmt.Errorf("run: -%s has no effect without -controller and -cache; %w", f.Name, errUsage))
			}
		case "account", "origin", "record":
			if len(s.files) == 0 && s.dir == "" {
				err = errors.Join(err, fmt.Errorf("run: -%s has no effect without a file or -dir; %w", f.Name, errUsage))
			}
		}
	})
	names := make(map[string]string)
	for _, file := range s.files {
		name := nameOf(file)
		if other, ok := names[name]; ok {
			err = errors.Join(err,
				fmt.Errorf("run: %s and %s have the same name: rename one of them; %w", other, file, errUsage))
		}
		names[name] = file
	}
	return err
}

// parseAccount parses the name of a service account.
func parseAccount(text string) (core.ObjectRef, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	ok = ok && namespace != "" && name != "" && !strings.Contains(name, "/")
	return core.ObjectRef{Namespace: namespace, Name: name}, ok
}

// nameOf returns the name of the module of a file.
func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), registry.Extension) }

// runModules runs modules until ctx ends.
func runModules(ctx context.Context, args []string, stderr io.Writer) error {
	s, err := parseRun(args)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, nil))
	cfg, err := config.Load(ctx, &config.Options{Path: s.kubeconfig})
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	c, err := client.New(ctx, &client.Options{
		Config: cfg, UserAgent: "kube-wasm", Logger: logger,
	})
	if err != nil {
		return err
	}
	local := &local{
		settings: s, namespace: cfg.Namespace, logger: logger,
		names: make(map[string]bool), unset: make(map[string]attempt),
	}
	if err := local.load(); err != nil {
		return err
	}
	options := host.Options{Logger: logger}
	if s.cache != "" {
		options.CompilationDir = filepath.Join(s.cache, "compiled")
		if err := os.MkdirAll(options.CompilationDir, 0o700); err != nil {
			return fmt.Errorf("-cache: %w", err)
		}
	}
	h, err := host.New(ctx, c, &options)
	if err != nil {
		return err
	}
	local.host = h
	s.manager.Logger = logger
	m := manager.New(c, &s.manager)
	if err := m.Metrics().AddFamilies(h.Families); err != nil {
		return err
	}
	m.AddTable(h.Table)
	m.AddToAll(h)
	m.Add(local)
	if s.controller {
		op, err := s.newOperator(ctx, c, h, logger)
		if err != nil {
			return err
		}
		m.Add(op)
	}
	return m.Run(ctx)
}

// newOperator returns what runs WasmController objects.
func (s *settings) newOperator(
	ctx context.Context, c *client.Client, h *host.Host, logger *slog.Logger,
) (op *operator.Operator, err error) {
	if s.install {
		if err := operator.Install(ctx, c); err != nil {
			return nil, fmt.Errorf("-install: %w", err)
		}
	}
	if s.cache != "" {
		s.registry.Dir, s.registry.Logger = filepath.Join(s.cache, "pulled"), logger
		if s.operator.Store, err = registry.New(&s.registry); err != nil {
			return nil, fmt.Errorf("-cache or -docker-config: %w", err)
		}
	}
	s.operator.Logger = logger
	return operator.New(c, h, &s.operator)
}

// local runs the modules of files and of a directory.
type local struct {
	settings  *settings
	namespace string // of the kubeconfig
	host      *host.Host
	logger    *slog.Logger
	files     map[string]*registry.Module
	dir       *registry.Directory
	unset     map[string]attempt // the modules that the host could not run because of an error of its own

	mu    sync.Mutex      // guards names
	names map[string]bool // of the modules of the directory that the host has
}

// attempt is a module to set again.
type attempt struct {
	module host.Module
	digest string // empty for a module of a file of the command line
	failed string // the last error
}

// Name is the name of these modules in errors.
func (l *local) Name() string { return "modules of files" }

// load reads the files, so that a mistake is reported before anything runs.
func (l *local) load() error {
	l.files = make(map[string]*registry.Module)
	for _, file := range l.settings.files {
		m, err := registry.ReadFile(file)
		if err != nil {
			return err
		}
		l.files[nameOf(file)] = m
	}
	if dir := l.settings.record; dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("-record: %w", err)
		}
	}
	if l.settings.dir == "" {
		return nil
	}
	if _, err := os.ReadDir(l.settings.dir); err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	return nil
}

// Run passes the modules to the host until ctx ends, and then removes them, also while the host compiles another one.
func (l *local) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(l.follow(ctx))
	}()
	<-ctx.Done()
	l.clear(ctx)
	<-ended
	l.clear(ctx) // what was set meanwhile
	return context.Cause(ctx)
}

// clear removes all modules.
func (l *local) clear(ctx context.Context) {
	var removals sync.WaitGroup
	remove := func(name string) { removals.Go(func() { l.host.Remove(ctx, name) }) }
	for name := range l.files {
		remove(name)
	}
	l.mu.Lock()
	for name := range l.names {
		remove(name)
	}
	l.mu.Unlock()
	removals.Wait()
}

// follow passes the modules to the host until ctx ends.
func (l *local) follow(ctx context.Context) error {
	for name, m := range l.files {
		if err := l.set(ctx, attempt{module: l.module(name, m, l.settings.args)}); err != nil {
			return err
		}
	}
	if l.settings.dir != "" {
		l.dir = registry.NewDirectory(l.settings.dir)
	}
	ticker := time.NewTicker(dirPoll)
	defer ticker.Stop()
	for l.dir != nil || len(l.unset) > 0 {
		if l.dir != nil {
			l.poll(ctx)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if err := l.setAgain(ctx); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// set passes a module to the host. An error of the host is logged, and the module is set again later. Any other error
// is logged for a module of the directory, and returned for a file of the command line.
func (l *local) set(ctx context.Context, a attempt) error {
	name := a.module.Name
	logger := l.logger.With("module", name)
	delete(l.unset, name)
	err := l.host.Set(ctx, a.module)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case host.IsHostError(err):
		if a.failed != err.Error() {
			logger.Warn("the host can't run the module, and tries it again", "err", err)
		}
		a.failed = err.Error()
		l.unset[name] = a
	case a.digest == "":
		return err
	case err != nil:
		logger.Error("the module can't run", "err", err)
	default:
		l.has(name, true)
		logger.Info("module is set", "digest", a.digest)
	}
	return nil
}

// setAgain sets the modules that the host could not run.
func (l *local) setAgain(ctx context.Context) (err error) {
	for _, name := range slices.Sorted(maps.Keys(l.unset)) {
		err = errors.Join(err, l.set(ctx, l.unset[name]))
	}
	return err
}

// poll passes the changes of the directory to the host. Errors are logged: the other modules run.
func (l *local) poll(ctx context.Context) {
	changes, err := l.dir.Poll()
	if err != nil {
		l.logger.Error("the directory of -dir can't be read", "err", err)
		return
	}
	for _, c := range changes {
		logger := l.logger.With("module", c.Name)
		switch {
		case ctx.Err() != nil:
			return
		case l.files[c.Name] != nil:
			logger.Error("the module of -dir has the name of a file of the command line, and does not run: rename it")
		case c.Err != nil:
			logger.Error("the module can't be read", "err", c.Err)
		case c.Module == nil:
			delete(l.unset, c.Name)
			l.host.Remove(ctx, c.Name)
			l.has(c.Name, false)
			logger.Info("module is removed")
		default:
			_ = l.set(ctx, attempt{module: l.module(c.Name, c.Module, nil), digest: c.Module.Digest}) // it is logged
		}
	}
}

// has records whether the host has a module of the directory.
func (l *local) has(name string, set bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if set {
		l.names[name] = true
	} else {
		delete(l.names, name)
	}
}

// module returns a module for the host. Its namespace is that of its service account, or of the kubeconfig without one.
func (l *local) module(name string, m *registry.Module, args []string) host.Module {
	account, _ := parseAccount(l.settings.account)
	module := host.Module{
		Name: name, Binary: m.Binary, Args: args, Origins: l.settings.origins,
		ServiceAccount: account, Namespace: cmp.Or(account.Namespace, l.namespace),
	}
	if dir := l.settings.record; dir != "" {
		module.Record = func() (io.Writer, error) { return os.CreateTemp(dir, name+"-*"+recordings) }
	}
	return module
}

var _ manager.Runnable = (*local)(nil)
