// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pluginDir is the variable that makes the test program act as a plugin: it names the directory with the control files.
const pluginDir = "KUBE_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(pluginDir); dir != "" {
		os.Exit(runPlugin(dir))
	}
	os.Exit(m.Run())
}

// runPlugin records the call in the directory, and does what the files there say.
func runPlugin(dir string) int {
	call, err := json.Marshal(call{os.Args[1:], os.Getenv("KUBERNETES_EXEC_INFO"), os.Getenv("GREETING")})
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
		data, _ := os.ReadFile(filepath.Join(dir, name)) // a missing file means nothing to do
		return string(data)
	}
	if read("child") != "" { // a child that keeps the output open
		child := exec.CommandContext(context.Background(), read("child"), "600") // it outlives the plugin
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if child.Start() != nil ||
			os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(child.Process.Pid)), 0o600) != nil {
			return 104
		}
	}
	fmt.Fprint(os.Stderr, read("stderr"))
	if n, err := strconv.Atoi(read("flood")); err == nil {
		for range n {
			fmt.Print(strings.Repeat("x", 1<<10))
		}
	}
	fmt.Print(read("stdout"))
	if os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600) != nil {
		return 105
	}
	for read("wait") != "" { // until the test removes the file
		time.Sleep(time.Millisecond)
	}
	if d, err := time.ParseDuration(read("sleep")); err == nil {
		time.Sleep(d)
	}
	code, _ := strconv.Atoi(read("exit"))
	return code
}

// call records one call of the plugin.
type call struct {
	Args     []string
	Info     string
	Greeting string
}
