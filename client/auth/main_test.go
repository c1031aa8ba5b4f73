// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
)

// pluginDir is the variable that makes the test program act as a plugin: it names the directory with the control files.
const pluginDir = "KUBE_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(pluginDir); dir != "" {
		os.Exit(runPlugin(dir))
	}
	if os.Getenv(atTerminal) != "" {
		os.Exit(runAtTerminal())
	}
	os.Exit(m.Run())
}

// atTerminal is the variable that makes the test program run a plugin that asks for its token at the terminal, and
// print the Authorization header.
const atTerminal = "KUBE_TEST_TERMINAL"

func runAtTerminal() int {
	const script = `read -r token < /dev/tty
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'"$token"'"}}'`
	plugin, err := auth.NewPlugin(&config.Config{Exec: &config.ExecConfig{
		Command: "sh", Args: []string{"-c", script},
		APIVersion: config.ExecV1, InteractiveMode: config.InteractiveIfAvailable,
	}}, nil)
	if err == nil {
		var value string
		show := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			value = r.Header.Get("Authorization")
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		})
		r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "https://kube.example.com", nil)
		var resp *http.Response
		resp, err = plugin.Middleware(show).RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		fmt.Print(value)
	}
	if err != nil {
		fmt.Print(err)
		return 1
	}
	return 0
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
