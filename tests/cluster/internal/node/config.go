// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed config
var configs embed.FS

//go:embed scripts
var scripts embed.FS

// sysctls are the kernel parameters that a node writes, and the values that it reads. A node gets files in their place,
// so the machine's parameters do not change: pods reach each other and the machine without forwarding.
func sysctls() map[string]string {
	return map[string]string{
		"kernel.keys.root_maxbytes": "25000000",
		"kernel.keys.root_maxkeys":  "1000000",
		"kernel.panic":              "10",
		"kernel.panic_on_oops":      "1",
		"net.ipv4.ip_forward":       "1",
		"vm.overcommit_memory":      "1",
		"vm.panic_on_oom":           "0",
	}
}

// write writes the node's configurations and its private folders.
func (l layout) write() error {
	files := map[string]string{
		"run/kube-go-node": l.Dir + "\n",
		"resolv.conf":      "nameserver " + l.Gateway + "\n",
	}
	for name, value := range sysctls() {
		files["sysctl/"+name] = value + "\n"
	}
	for source, file := range map[string]string{
		"containerd.toml": "containerd.toml",
		"kubelet.yaml":    "kubelet.yaml",
		"bridge.conflist": "cni/10-bridge.conflist",
	} {
		text, err := l.render(source)
		if err != nil {
			return err
		}
		files[file] = text
	}
	for _, folder := range privateFolders() {
		if err := os.MkdirAll(filepath.Join(l.Dir, folder), 0o755); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(l.Dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeScripts writes the node's scripts to the directory, and first the file that they read.
func (l layout) writeScripts(dir string) error {
	env, err := l.render("env")
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "env"), env, 0o600); err != nil {
		return err
	}
	entries, err := fs.ReadDir(scripts, "scripts")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(scripts, "scripts/"+entry.Name())
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, entry.Name()), string(text), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes the file atomically, since the keeper runs the cleanup program at any time.
func writeFile(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// render executes one of the templates in config.
func (l layout) render(name string) (string, error) {
	functions := template.FuncMap{
		"quote": quote,
		"shell": shell,
		"join":  func(parts []string) string { return strings.Join(parts, " ") },
	}
	tmpl, err := template.New(name).Option("missingkey=error").Funcs(functions).ParseFS(configs, "config/"+name)
	if err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, l); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return b.String(), nil
}

// quote quotes a string for JSON, which is also valid in TOML and YAML.
func quote(s string) (string, error) {
	quoted, err := json.Marshal(s)
	return string(quoted), err
}

// shell quotes a string for a shell.
func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
