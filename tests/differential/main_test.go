// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pluginDir is the variable that makes the test program an exec plugin: it names the folder with its instructions.
const pluginDir = "KUBE_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(pluginDir); dir != "" {
		os.Exit(runPlugin(dir))
	}
	os.Exit(m.Run())
}

// pluginCall describes one call of the plugin.
type pluginCall struct {
	Args           []string
	Info, Greeting string
}

// runPlugin records its call in the folder, and follows the instructions in the files there.
func runPlugin(dir string) int {
	call, err := json.Marshal(pluginCall{os.Args[1:], os.Getenv("KUBERNETES_EXEC_INFO"), os.Getenv("GREETING")})
	if err != nil {
		return 101
	}
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 102
	}
	if _, err := fmt.Fprintf(f, "%s\n", call); err != nil || f.Close() != nil {
		return 103
	}
	read := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(dir, name)) // without the file, there is no instruction
		return string(data)
	}
	if d, err := time.ParseDuration(read("sleep")); err == nil {
		<-time.After(d)
	}
	fmt.Print(read("stdout"))
	code, _ := strconv.Atoi(read("exit"))
	return code
}

// plugin is an exec plugin and its instructions.
type plugin struct{ dir string }

func newPlugin(t testing.TB) *plugin {
	t.Helper()
	return &plugin{t.TempDir()}
}

// set writes one of the files with instructions.
func (p *plugin) set(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// prints makes the plugin print a credential.
func (p *plugin) prints(t testing.TB, status map[string]string) {
	t.Helper()
	p.set(t, "stdout", string(toJSON(t, map[string]any{
		"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status,
	})))
}

// calls returns the calls of the plugin so far.
func (p *plugin) calls(t testing.TB) []pluginCall {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var calls []pluginCall
	for line := range strings.Lines(string(data)) {
		var c pluginCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}
