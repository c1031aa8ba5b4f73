// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"syscall"
)

// LoadIn is Load in an environment of variables and files. A file with the content "forbidden" cannot be read.
func LoadIn(vars, files map[string]string, o Options) (*Config, error) {
	return fakeEnv(vars, files).load(&o)
}

// InClusterIn is InCluster in an environment of variables and files.
func InClusterIn(vars, files map[string]string, o Options) (*Config, error) {
	return fakeEnv(vars, files).inCluster(&o)
}

// ReadIn is Read without files in an environment of variables and files.
func ReadIn(vars, files map[string]string) (*Kubeconfig, error) {
	return fakeEnv(vars, files).readDefault()
}

// ConfigIn is Kubeconfig.Config in an environment of files.
func ConfigIn(kc *Kubeconfig, files map[string]string, o Options) (*Config, error) {
	return kc.config(fakeEnv(nil, files), &o)
}

// fakeEnv is an environment of variables, HOME for the home folder, and files.
func fakeEnv(vars, files map[string]string) env {
	return env{
		getenv: func(name string) string { return vars[name] },
		homeDir: func() (string, error) {
			if home, ok := vars["HOME"]; ok {
				return home, nil
			}
			return "", errors.New("$HOME is not defined")
		},
		readFile: func(path string) ([]byte, error) {
			text, ok := files[path]
			switch {
			case !ok:
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			case text == "forbidden":
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
			case text == "below a file":
				return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
			}
			return []byte(text), nil
		},
	}
}
