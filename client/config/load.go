// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say which configuration to load. The zero value asks for the current context of the default kubeconfig, or
// else for the service account of the pod.
type Options struct {
	// Path is the kubeconfig to read instead of KUBECONFIG and ~/.kube/config. It must exist.
	Path string
	// Context is the name of the context to use. Default: the kubeconfig's current-context.
	Context string
	// Cluster is the name of the cluster to use. Default: the context's.
	Cluster string
	// User is the name of the user to be. Default: the context's.
	User string
	// Namespace to use where none is given. Default: the context's or the pod's, else "default".
	Namespace string
	// Override replaces what was loaded, field by field, before it is validated; zero fields replace nothing. Fields
	// that belong together go together:
	//
	//   - Server clears TLSServerName;
	//   - InsecureSkipTLSVerify, CAFile or CAData replaces all three;
	//   - a certificate replaces file and data, and so does a key;
	//   - a token, a password, Exec or AuthProvider replaces all of these;
	//   - Impersonate.User replaces all of Impersonate.
	//
	// With a Server no kubeconfig is needed.
	Override *Config
}

// Load finds out where the API server is and how to prove who one is. In this order:
//
//  1. Options.Path: this file and no other;
//  2. the files listed in the environment variable KUBECONFIG, merged with [Merge];
//  3. ~/.kube/config, if KUBECONFIG is not set;
//  4. the service account of the pod that the program runs in, see [InCluster].
//
// The fourth is asked when no file chooses a context and the options choose nothing from a file either. Files that
// KUBECONFIG lists may be missing, but not all of them: a pod whose KUBECONFIG is mistyped must not use the cluster it
// happens to run in. KUBECONFIG=/dev/null means "no kubeconfig".
//
// Errors: [ErrNoConfig], [ErrCertificateExpired], or [FieldError] values for all that is wrong with what was chosen.
func Load(ctx context.Context, opts *Options) (*Config, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	return osEnv().load(&o)
}

// Read reads kubeconfig files and merges them with [Merge]. The files must exist. With none given, it reads those that
// [Load] would read.
//
// Errors: [ErrNoConfig] when none was given and none was found.
func Read(ctx context.Context, files ...string) (*Kubeconfig, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(files) > 0 {
		return osEnv().readAll(files, false)
	}
	return osEnv().readDefault()
}

func (e env) readDefault() (*Kubeconfig, error) {
	found, err := e.find()
	if err != nil {
		return nil, err
	}
	if len(found.kubeconfig.Origins) == 0 {
		return nil, noConfig(found.looked)
	}
	return found.kubeconfig, nil
}

// env is what this package asks of its environment.
type env struct {
	getenv   func(string) string
	homeDir  func() (string, error)
	readFile func(string) ([]byte, error)
}

func osEnv() env { return env{getenv: os.Getenv, homeDir: os.UserHomeDir, readFile: readFile} }

// fileBytes is how long a file may be: a mistyped name may be that of a device without an end.
const fileBytes = 64 << 20

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileBytes+1))
	if err == nil && len(data) > fileBytes {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is larger than %d bytes", fileBytes)}
	}
	return data, err
}

func (e env) load(o *Options) (*Config, error) {
	found, err := e.open(o.Path)
	if err != nil {
		return nil, err
	}
	kc := found.kubeconfig
	if err := kc.checkSpelling(); err != nil { // of "current-context", say, without which another cluster would be used
		return nil, err
	}
	switch {
	case kc.isEmpty() && (o.Context != "" || o.Cluster != "" || o.User != ""):
		return nil, noConfig(found.looked)
	case kc.chooses(o):
		return kc.config(e, o)
	case o.Path == "":
		cfg, err := e.inCluster(o)
		if !errors.Is(err, ErrNotInCluster) {
			return cfg, err
		}
		found.looked = append(found.looked, err.Error())
	}
	if len(kc.Contexts) > 0 {
		return nil, kc.noContext()
	}
	return nil, noConfig(found.looked)
}

func (k *Kubeconfig) isEmpty() bool { return len(k.Clusters)+len(k.Users)+len(k.Contexts) == 0 }

// chooses tells whether k and the options name a server, rightly or not.
func (k *Kubeconfig) chooses(o *Options) bool {
	return k.CurrentContext != "" || o.Context != "" || o.Cluster != "" || o.User != "" ||
		o.Override != nil && o.Override.Server != ""
}

// discovery is the kubeconfig that was found, and what became of each place that was looked at.
type discovery struct {
	kubeconfig *Kubeconfig
	looked     []string
}

func (e env) open(path string) (discovery, error) {
	if path == "" {
		return e.find()
	}
	kc, err := e.readAll([]string{path}, false)
	if err != nil {
		return discovery{}, err
	}
	return discovery{kc, []string{path + " is empty"}}, nil
}

// find reads the files of KUBECONFIG, or else the one in the home folder.
func (e env) find() (discovery, error) {
	list := e.getenv("KUBECONFIG")
	if list == "" {
		return e.findHome()
	}
	files := slices.DeleteFunc(filepath.SplitList(list), func(file string) bool { return file == "" })
	kc, err := e.readAll(files, true)
	if err != nil {
		return discovery{}, err
	}
	if len(kc.Origins) == 0 {
		return discovery{}, noConfig([]string{fmt.Sprintf("KUBECONFIG is %q, and no such file exists", list)})
	}
	return discovery{kc, []string{fmt.Sprintf("KUBECONFIG is %q, which is empty", list)}}, nil
}

func (e env) findHome() (discovery, error) {
	looked := []string{"KUBECONFIG is not set"}
	home, err := e.homeDir()
	if err != nil {
		return discovery{new(Kubeconfig), append(looked, "the home folder is not known")}, nil
	}
	file := filepath.Join(home, ".kube", "config")
	kc, err := e.readAll([]string{file}, true)
	if err != nil {
		return discovery{}, err
	}
	state := " is empty"
	if len(kc.Origins) == 0 {
		state = " does not exist"
	}
	return discovery{kc, append(looked, file+state)}, nil
}

// readAll reads and merges files; it reports all that cannot be read.
func (e env) readAll(files []string, skipMissing bool) (*Kubeconfig, error) {
	var parts []*Kubeconfig
	var errs []error
	for _, file := range files {
		if abs, err := filepath.Abs(file); err == nil { // else the folder we are in is gone
			file = abs
		}
		data, err := e.readFile(file)
		if skipMissing && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, readError(file, err))
			continue
		}
		kc, err := Parse(data, file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parts = append(parts, kc)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return Merge(parts...), nil
}

func readError(file string, err error) error {
	e := &FieldError{File: file, Problem: "cannot be read: " + err.Error(), Remedy: fileRemedy(file), Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Problem = "does not exist"
	}
	return e
}

func noConfig(looked []string) error {
	return fmt.Errorf("%w: %s: set KUBECONFIG to a kubeconfig file, or name one",
		ErrNoConfig, strings.Join(looked, "; "))
}

func (k *Kubeconfig) noContext() error {
	e := k.place().errorf("current-context", "choose one with `kubectl config use-context`, or name "+
		oneOf("context", names(k.Contexts)), "is missing")
	e.Err = ErrNoConfig
	return e
}

// files names where k came from.
func (k *Kubeconfig) files() string {
	if len(k.Origins) == 0 {
		return "kubeconfig"
	}
	return strings.Join(k.Origins, string(filepath.ListSeparator))
}
