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
	"syscall"
)

// Options select the configuration to load. The zero value selects the current context of the default kubeconfig or,
// without a kubeconfig, the service account of the pod.
type Options struct {
	// Path is the kubeconfig to read instead of KUBECONFIG and ~/.kube/config. The file must exist. Default: see [Load].
	Path string
	// Context is the name of the context to use. Default: the kubeconfig's current-context.
	Context string
	// Cluster is the name of the cluster to use. Default: the cluster of the context.
	Cluster string
	// User is the name of the kubeconfig user to use. Default: the user of the context.
	User string
	// Namespace is the namespace to use when a request names none. Default: the namespace of the context or of the pod, or
	// "default".
	Namespace string
	// Override replaces what was loaded, field by field, before it is validated. Zero fields replace nothing. Some fields
	// replace others too:
	//
	//   - Server clears TLSServerName;
	//   - InsecureSkipTLSVerify, CAFile or CAData replaces all three;
	//   - a certificate replaces both its file and its data, and so does a key;
	//   - a token, a password, Exec or AuthProvider replaces all of these;
	//   - Impersonate.User replaces all of Impersonate.
	//
	// If Server is set, no kubeconfig is needed. Default: nothing is replaced.
	Override *Config
}

// Load loads the configuration of an API server and the credentials for it. It uses the first of these that exists:
//
//  1. Options.Path: this file and no other;
//  2. the files listed in the environment variable KUBECONFIG, merged with [Merge];
//  3. ~/.kube/config, if KUBECONFIG is not set;
//  4. the service account of the pod that the program runs in, see [InCluster].
//
// Load uses the fourth if no file selects a context and the options select nothing from a file. Files that KUBECONFIG
// lists may be missing, but not all of them: a pod whose KUBECONFIG is misspelled must not use the cluster that it runs
// in. KUBECONFIG=/dev/null means "no kubeconfig". A ~/.kube/config that the program has no permission to read counts as
// missing.
//
// Errors: [ErrNoConfig], [ErrCertificateExpired], or [FieldError] values for all mistakes in the selected
// configuration.
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

// Read reads kubeconfig files and merges them with [Merge]. The files must exist. Without arguments, it reads the files
// that [Load] would read.
//
// Errors: [ErrNoConfig] if no files are given and none are found.
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

// env is the environment that this package uses. Tests replace it.
type env struct {
	getenv   func(string) string
	homeDir  func() (string, error)
	readFile func(string) ([]byte, error)
}

func osEnv() env { return env{getenv: os.Getenv, homeDir: os.UserHomeDir, readFile: readFile} }

// fileBytes is the maximum size of a file. It protects against a misspelled name of an endless device.
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
	if err := kc.checkSpelling(); err != nil { // a misspelled "current-context" could select another cluster
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

// chooses reports whether k and the options select a server. The selection may be invalid.
func (k *Kubeconfig) chooses(o *Options) bool {
	return k.CurrentContext != "" || o.Context != "" || o.Cluster != "" || o.User != "" ||
		o.Override != nil && o.Override.Server != ""
}

// discovery is the kubeconfig that was found, with the result for each place that was searched.
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

// find reads the files of KUBECONFIG or, if that is not set, the file in the home directory.
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
		return discovery{}, noConfig([]string{fmt.Sprintf("KUBECONFIG is %q, but no such file exists", list)})
	}
	return discovery{kc, []string{fmt.Sprintf("KUBECONFIG is %q, which is empty", list)}}, nil
}

func (e env) findHome() (discovery, error) {
	looked := []string{"KUBECONFIG is not set"}
	home, err := e.homeDir()
	if err != nil {
		return discovery{new(Kubeconfig), append(looked, "the home directory is unknown")}, nil
	}
	file := filepath.Join(home, ".kube", "config")
	kc, err := e.readAll([]string{file}, true)
	if unreadable, ok := errors.AsType[*fs.PathError](err); ok && isOutOfReach(err) {
		return discovery{new(Kubeconfig), append(looked, file+" can't be read: "+unreadable.Err.Error())}, nil
	}
	if err != nil {
		return discovery{}, err
	}
	state := " is empty"
	if len(kc.Origins) == 0 {
		state = " does not exist"
	}
	return discovery{kc, append(looked, file+state)}, nil
}

// isOutOfReach reports whether a program can't have a file in its home directory, such as one of a pod whose HOME is
// /root or /dev/null: nobody has chosen that file.
func isOutOfReach(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// readAll reads and merges files. It reports all files that cannot be read.
func (e env) readAll(files []string, skipMissing bool) (*Kubeconfig, error) {
	var parts []*Kubeconfig
	var errs []error
	for _, file := range files {
		if abs, err := filepath.Abs(file); err == nil { // an error means that the working directory was deleted
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

// files returns the files that k came from.
func (k *Kubeconfig) files() string {
	if len(k.Origins) == 0 {
		return "kubeconfig"
	}
	return strings.Join(k.Origins, string(filepath.ListSeparator))
}
