// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
	"github.com/kube-go/sdk/tests/e2e/internal/leaks"
)

// recorder keeps everything that the run prints and logs, and the secrets that it uses.
var recorder leaks.Recorder

// The sources of output that each run has. The output of a program is recorded under its name.
const (
	clientLog   = "the log of the clients"
	printedForm = "the printed clients and configurations"
)

// secret registers a secret and returns it.
func secret[S ~string](t *testing.T, name string, value S) S {
	t.Helper()
	recorder.Add(name+" of "+t.Name(), string(value))
	return value
}

// debugLogger returns a logger that records everything.
func debugLogger(t *testing.T) *slog.Logger {
	t.Helper()
	handler := slog.NewTextHandler(recorder.Writer(clientLog), &slog.HandlerOptions{Level: slog.LevelDebug})
	return slog.New(handler).With("test", t.Name())
}

// programLogger returns a logger that writes everything to stderr, for a program that a test starts.
func programLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// newCache returns a cache that logs to debugLogger.
func newCache(t *testing.T, c *kube.Client) *kube.Cache {
	t.Helper()
	return kube.NewCache(c, &kube.CacheOptions{Logger: debugLogger(t)})
}

// printAll records each value in every form in which a program may print it.
func printAll(values ...any) {
	out := recorder.Writer(printedForm)
	text := slog.New(slog.NewTextHandler(out, nil))
	json := slog.New(slog.NewJSONHandler(out, nil))
	for _, v := range values {
		fmt.Fprintf(out, "%v\n%+v\n%#v\n%s\n", v, v, v, v)
		text.Info("printed", "value", v)
		json.Info("printed", "value", v)
	}
}

// addConfigSecrets registers the secrets of a configuration.
func addConfigSecrets(t *testing.T, cfg *kube.Config) {
	t.Helper()
	add := func(name, value string) {
		if value != "" {
			secret(t, name, value)
		}
	}
	add("bearer token", string(cfg.BearerToken))
	add("password", string(cfg.Password))
	add("client key", string(cfg.ClientKeyData))
	for name, file := range map[string]string{
		"bearer token file": cfg.BearerTokenFile, "client key file": cfg.ClientKeyFile,
	} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(name, strings.TrimSpace(string(text)))
	}
	if u, err := url.Parse(cfg.ProxyURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		add("proxy password", password)
	}
}

// addClusterSecrets registers the private keys and the token of a cluster. A cluster without keys is an error.
func addClusterSecrets(c *cluster.Cluster) error {
	recorder.Add("token of the cluster", c.Token())
	keys := 0
	err := filepath.WalkDir(c.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a component has removed it in the meantime
			return nil
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".key" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if block, _ := pem.Decode(text); block == nil {
			return fmt.Errorf("%s is not PEM", path)
		}
		keys++
		recorder.Add(filepath.Base(path)+" of the cluster", string(text))
		return nil
	})
	if err == nil && keys == 0 {
		err = fmt.Errorf("no private key found in %s", c.Dir())
	}
	return err
}

// checkLeaks returns an error if the recorded output contains a secret, or if nothing was recorded.
func checkLeaks() error {
	var errs []error
	for _, leak := range recorder.Find() {
		errs = append(errs, errors.New("a secret has leaked: "+leak.String()))
	}
	if recorder.Size(clientLog) == 0 && recorder.Size(printedForm) > 0 {
		errs = append(errs, errors.New("clients were printed, but nothing was logged: the check for leaks proves nothing"))
	}
	if servedPages.Load() > 0 && recorder.Size(debugPages) == 0 {
		errs = append(errs, errors.New("debug pages were served, but not recorded: the check for leaks proves nothing"))
	}
	return errors.Join(errs...)
}

// TestLogsAndOutputAreRecorded checks that the recorder has the debug logs of clients and the output of programs and
// tests.
func TestLogsAndOutputAreRecorded(t *testing.T) {
	before := recorder.Size(clientLog)
	if _, err := discovery.Version(limit(t), connect(t, nil)); err != nil {
		t.Fatal(err)
	}
	if recorder.Size(clientLog) == before {
		t.Error("the debug log of a client is not recorded")
	}
	before = recorder.Size("api-resources")
	got := call{program: "api-resources", args: []string{"-o", "name"}}.run(t)
	if recorder.Size("api-resources") < before+len(got.stdout) {
		t.Error("the output of a program is not recorded")
	}
	const line = "this line is recorded"
	printed := func() int { return recorder.Size("stdout") + recorder.Size("stderr") } // go test -json merges them
	before = printed()
	fmt.Fprintln(os.Stderr, line)
	eventually(t, "a line on stderr is recorded", func(context.Context) error {
		if printed() < before+len(line) {
			return io.EOF
		}
		return nil
	})
}
