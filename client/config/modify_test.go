// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/config"
)

// TestModify checks that each change is written to the file that it belongs to, and that all other data is kept.
func TestModify(t *testing.T) {
	const (
		first = `# kept as long as nothing here changes
apiVersion: v1
kind: Config
current-context: blue
clusters:
- {name: blue, cluster: {server: "https://blue", certificate-authority: ca/blue.crt, x-new: [1, 2]}}
contexts:
- {name: blue, context: {cluster: blue, user: ann, extensions: [{name: tool, extension: {a: 1}}]}, x-more: true}
x-top: {a: 1}
`
		second = `# the second
clusters: [{name: red, cluster: {server: "https://red"}}, {name: blue, cluster: {server: "https://hidden"}}]
users: [{name: ann, user: {token: abc, client-certificate: ann.crt, client-key: ann.key}}]
preferences: {colors: true}
extensions: [{name: tool, extension: {b: 2}}]
current-context: red
`
	)
	for _, tc := range []struct {
		name                string
		change              func(*config.Kubeconfig)
		first, second, none string // expected content; empty for a file that is unchanged
	}{
		{"no change", func(*config.Kubeconfig) {}, "", "", ""},
		{"a stanza replaced by an equal one", func(k *config.Kubeconfig) { k.SetUser("ann", *k.User("ann")) }, "", "", ""},
		{
			"the current context is changed where it is set", func(k *config.Kubeconfig) { k.CurrentContext = "red" },
			strings.Replace(first, "current-context: blue", "current-context: red", 1), "", "",
		},
		{
			"the current context is removed from all files", func(k *config.Kubeconfig) { k.CurrentContext = "" },
			strings.Replace(first, "current-context: blue", "", 1), strings.Replace(second, "current-context: red", "", 1), "",
		},
		{
			"the namespace of a context is set", func(k *config.Kubeconfig) { k.Context("blue").Namespace = "shop" },
			strings.Replace(first, "user: ann,", "user: ann, namespace: shop,", 1), "", "",
		},
		{
			"a token in the second file is changed", func(k *config.Kubeconfig) { k.User("ann").Token = "xyz" },
			"", strings.Replace(second, "token: abc", "token: xyz", 1), "",
		},
		{
			"a stanza is replaced by one without an Origin", func(k *config.Kubeconfig) { *k.User("ann") = config.User{Token: "xyz"} },
			"", strings.Replace(second, "token: abc, client-certificate: ann.crt, client-key: ann.key", "token: xyz", 1), "",
		},
		{
			"a cluster that hides another is changed", func(k *config.Kubeconfig) { k.Cluster("blue").Server = "https://b" },
			strings.Replace(first, "https://blue", "https://b", 1), "", "",
		},
		{
			"a cluster that hides another is deleted from both files", func(k *config.Kubeconfig) { k.DeleteCluster("blue") },
			strings.Replace(first,
				`- {name: blue, cluster: {server: "https://blue", certificate-authority: ca/blue.crt, x-new: [1, 2]}}`, "", 1),
			strings.Replace(second, `, {name: blue, cluster: {server: "https://hidden"}}`, "", 1), "",
		},
		{
			"new stanzas are added to the first file",
			func(k *config.Kubeconfig) {
				k.SetCluster("new", config.Cluster{Server: "https://new", CertificateAuthority: "new.crt"})
				k.SetUser("new", config.User{Token: "new-token"})
				k.SetContext("new", config.Context{Cluster: "new", User: "new"})
			},
			strings.NewReplacer(
				"contexts:\n", "- {name: new, cluster: {server: \"https://new\", certificate-authority: new.crt}}\n"+
					"users: [{name: new, user: {token: new-token}}]\ncontexts:\n- {name: new, context: {cluster: new, user: new}}\n",
			).Replace(first), "", "",
		},
		{
			"extensions, unknown fields and preferences are changed",
			func(k *config.Kubeconfig) {
				k.Extensions[0].Extension = json.RawMessage(`{"b":3}`)
				k.Unknown["x-top"] = json.RawMessage(`{"a":2}`)
				k.Unknown["x-other"] = json.RawMessage(`1`)
				k.Preferences = nil
			},
			strings.Replace(first, "x-top: {a: 1}", "x-top: {a: 2}\nx-other: 1", 1),
			strings.NewReplacer("{b: 2}", "{b: 3}", "preferences: {colors: true}", "").Replace(second), "",
		},
		{
			"an unknown field is deleted", func(k *config.Kubeconfig) { delete(k.Unknown, "x-top") },
			strings.Replace(first, "x-top: {a: 1}", "", 1), "", "",
		},
		{
			"deleting the current context clears it", func(k *config.Kubeconfig) { k.DeleteContext("blue") },
			`{apiVersion: v1, kind: Config, x-top: {a: 1}, clusters: [{name: blue, ` +
				`cluster: {server: "https://blue", certificate-authority: ca/blue.crt, x-new: [1, 2]}}]}`,
			strings.Replace(second, "current-context: red", "", 1), "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{"a/first": first, "b/second": second})
			one, two, gone := filepath.Join(dir, "a/first"), filepath.Join(dir, "b/second"), filepath.Join(dir, "gone/config")
			t.Setenv("KUBECONFIG", strings.Join([]string{gone, one, two, one}, string(filepath.ListSeparator)))
			var left *config.Kubeconfig
			err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
				tc.change(k)
				left = k
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkFile(t, one, first, tc.first)
			checkFile(t, two, second, tc.second)
			if _, err := os.Stat(filepath.Dir(gone)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory of a missing file was created: %v", err)
			}
			checkLeftovers(t, dir)
			if got := must(config.Read(t.Context())); encode(t, got) != encode(t, left) {
				t.Errorf("reading gives (-left +got):\n%s", cmp.Diff(encode(t, left), encode(t, got)))
			}
		})
	}
}

// encode returns the content of a kubeconfig, independent of the order of its entries.
func encode(t testing.TB, k *config.Kubeconfig) string {
	t.Helper()
	again := *k
	again.APIVersion, again.Kind = "v1", "Config"
	again.Clusters = slices.SortedFunc(slices.Values(k.Clusters),
		func(a, b config.NamedCluster) int { return strings.Compare(a.Name, b.Name) })
	again.Users = slices.SortedFunc(slices.Values(k.Users),
		func(a, b config.NamedUser) int { return strings.Compare(a.Name, b.Name) })
	again.Contexts = slices.SortedFunc(slices.Values(k.Contexts),
		func(a, b config.NamedContext) int { return strings.Compare(a.Name, b.Name) })
	return string(must(again.Encode()))
}

// checkFile compares the content of a file. If want is empty, the file must be byte for byte the same as before.
func checkFile(t testing.TB, path, before, want string) {
	t.Helper()
	got := string(must(os.ReadFile(path)))
	if want == "" {
		if got != before {
			t.Errorf("%s was changed:\n%s", path, got)
		}
		return
	}
	if diff := cmp.Diff(encode(t, parse(t, want, "")), encode(t, parse(t, got, ""))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// checkLeftovers reports locks and temporary files.
func checkLeftovers(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") || strings.Contains(path, ".new-") {
			t.Errorf("%s was not removed", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestModifyRefuses checks that a change that cannot be written leaves all files unchanged.
func TestModifyRefuses(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name   string
		file   string
		change func(*config.Kubeconfig) error
		want   string // FILE is the file
	}{
		{"an error of the callback", "", func(*config.Kubeconfig) error { return broken }, "broken"},
		{
			"the printed form of a secret", "",
			func(k *config.Kubeconfig) error {
				k.SetUser("ann", config.User{Token: config.Secret(config.Secret("abc").String())})
				return nil
			},
			`FILE: user "ann": token: is the printed form of a secret: use the secret itself, not its printed form`,
		},
		{
			"all the placeholders of kubectl config view", "",
			func(k *config.Kubeconfig) error {
				omitted := must(config.Parse([]byte("clusters: [{name: x, cluster: {certificate-authority-data: DATA+OMITTED}}]"),
					""))
				k.SetCluster("blue", omitted.Clusters[0].Cluster)
				k.SetUser("bob", config.User{
					Password: "REDACTED", Exec: &config.ExecConfig{Env: []config.EnvVar{{Name: "A", Value: "REDACTED"}}},
					AuthProvider: &config.AuthProvider{Config: map[string]config.Secret{"id-token": "REDACTED"}},
				})
				return nil
			},
			`FILE: cluster "blue": certificate-authority-data: is the placeholder that ` + "`kubectl config view`" +
				` shows for the real value` +
				": export the kubeconfig again with `kubectl config view --raw`\n" +
				`user "bob": password: is the placeholder that ` + "`kubectl config view`" + ` shows for the real value` +
				": export the kubeconfig again with `kubectl config view --raw`\n" +
				`user "bob": exec.env: is the placeholder that ` + "`kubectl config view`" + ` shows for the real value` +
				": export the kubeconfig again with `kubectl config view --raw`\n" +
				`user "bob": auth-provider.config: is the placeholder that ` + "`kubectl config view`" +
				` shows for the real value` +
				": export the kubeconfig again with `kubectl config view --raw`",
		},
		{
			"a stanza without a name", "", func(k *config.Kubeconfig) error { k.SetContext("", config.Context{}); return nil },
			`context "": name: is missing: give it a name`,
		},
		{
			"a duplicate stanza", "", func(k *config.Kubeconfig) error {
				k.Users = append(k.Users, k.Users...)
				return nil
			}, `FILE: users: duplicate name "ann": rename or remove one`,
		},
		{
			"a stanza moved to another file", "",
			func(k *config.Kubeconfig) error { k.User("ann").Origin = "/other"; return nil },
			`FILE: user "ann": cannot be moved to the file "/other": delete it, then add it in a second call`,
		},
		{
			"a stanza for another file", "",
			func(k *config.Kubeconfig) error { k.SetUser("bob", config.User{Origin: "/other"}); return nil },
			`/other: user "bob": its Origin "/other" is not one of the files: leave it empty`,
		},
		{
			"a device", os.DevNull, func(k *config.Kubeconfig) error { k.CurrentContext = "x"; return nil },
			"FILE: is not a regular file: name a regular file",
		},
		{
			"another kind", "", func(k *config.Kubeconfig) error { k.Kind = "Pod"; return nil },
			`FILE: kind: is "Pod", want "Config"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const text = "clusters: [{name: blue, cluster: {server: \"https://blue\"}}]\nusers: [{name: ann, user: {token: " +
				"abc}}]\n"
			dir := writeFiles(t, map[string]string{"config": text})
			file := filepath.Join(dir, "config")
			path := file
			if tc.file != "" {
				path = tc.file
			}
			err := config.Modify(t.Context(), tc.change, &config.ModifyOptions{Path: path})
			checkError(t, err, strings.ReplaceAll(tc.want, "FILE", path))
			checkFile(t, file, text, "")
			checkLeftovers(t, dir)
		})
	}
}

// TestModifyFiles checks that new files and directories are accessible only to their owner, and that existing ones keep
// their mode.
func TestModifyFiles(t *testing.T) {
	setContext := func(k *config.Kubeconfig) error { k.CurrentContext = "x"; return nil }
	t.Run("a missing file", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("KUBECONFIG", "")
		if err := config.Modify(t.Context(), setContext, nil); err != nil {
			t.Fatal(err)
		}
		checkMode(t, filepath.Join(home, ".kube"), fs.ModeDir|0o700)
		checkMode(t, filepath.Join(home, ".kube", "config"), 0o600)
		want := "apiVersion: v1\ncurrent-context: x\nkind: Config\n"
		if got := string(must(os.ReadFile(filepath.Join(home, ".kube", "config")))); got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
	})
	t.Run("several missing files", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("KUBECONFIG", dir+"/a"+string(filepath.ListSeparator)+dir+"/b")
		if err := config.Modify(t.Context(), setContext, nil); err != nil {
			t.Fatal(err)
		}
		checkMode(t, dir+"/b", 0o600)
	})
	t.Run("a link to a file with another mode", func(t *testing.T) {
		dir := writeFiles(t, map[string]string{"real/config": ""})
		if err := os.Chmod(dir+"/real/config", 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("real/config", dir+"/link"); err != nil {
			t.Fatal(err)
		}
		if err := config.Modify(t.Context(), setContext, &config.ModifyOptions{Path: dir + "/link"}); err != nil {
			t.Fatal(err)
		}
		checkMode(t, dir+"/link", fs.ModeSymlink)
		checkMode(t, dir+"/real/config", 0o640)
		if got := must(config.Read(t.Context(), dir+"/real/config")).CurrentContext; got != "x" {
			t.Errorf("current-context = %q, want x", got)
		}
	})
	t.Run("a link to a missing file", func(t *testing.T) {
		dir := writeFiles(t, map[string]string{"real/other": ""})
		if err := os.Symlink("real/config", dir+"/link"); err != nil {
			t.Fatal(err)
		}
		if err := config.Modify(t.Context(), setContext, &config.ModifyOptions{Path: dir + "/link"}); err != nil {
			t.Fatal(err)
		}
		checkMode(t, dir+"/link", fs.ModeSymlink)
		checkMode(t, dir+"/real/config", 0o600)
		checkLeftovers(t, dir)
	})
	t.Run("an invalid kubeconfig", func(t *testing.T) {
		dir := writeFiles(t, map[string]string{"config": "clusters: {"})
		if err := config.Modify(t.Context(), setContext, &config.ModifyOptions{Path: dir + "/config"}); err == nil {
			t.Error("no error")
		}
		checkLeftovers(t, dir)
	})
	t.Run("a KUBECONFIG without a file", func(t *testing.T) {
		t.Setenv("KUBECONFIG", string(filepath.ListSeparator))
		checkError(t, config.Modify(t.Context(), setContext, nil),
			fmt.Sprintf("KUBECONFIG is %q, which names no file: correct it", string(filepath.ListSeparator)))
	})
}

func checkMode(t testing.TB, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	got := info.Mode()
	if want&fs.ModeSymlink != 0 {
		got = got.Type()
	}
	if got != want {
		t.Errorf("%s has mode %v, want %v", path, got, want)
	}
}

// TestModifyLocks checks that concurrent writers do not lose each other's changes, and that a lock that is never
// released is reported. In the bubble, the time limit of the wait does not depend on the speed of the machine.
func TestModifyLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config")
		var wg sync.WaitGroup
		const writers = 20
		for i := range writers {
			wg.Go(func() {
				err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
					k.SetUser(fmt.Sprint("user-", i), config.User{Token: "abc"})
					return nil
				}, &config.ModifyOptions{Path: file})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := len(must(config.Read(t.Context(), file)).Users); got != writers {
			t.Errorf("%d users are left, want %d", got, writers)
		}

		if err := os.WriteFile(file+".lock", nil, 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
		defer cancel()
		err := config.Modify(ctx, func(*config.Kubeconfig) error { t.Error("Modify did not wait for the lock"); return nil },
			&config.ModifyOptions{Path: file})
		checkError(t, err,
			file+": is locked by another program: enough: try again, or remove "+file+".lock if no such program is running")
		if _, err := os.Stat(file + ".lock"); err != nil {
			t.Errorf("the lock of the other program was removed: %v", err)
		}
	})
}

// TestModifyOfAFileWithTwoNames checks that no change is lost if KUBECONFIG lists a file twice, once by a symbolic
// link.
func TestModifyOfAFileWithTwoNames(t *testing.T) {
	dir := t.TempDir()
	const content = `current-context: a
contexts: [{name: a, context: {cluster: x}}, {name: b, context: {cluster: x}}]
`
	if err := os.WriteFile(dir+"/config", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("config", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", dir+"/config"+string(filepath.ListSeparator)+dir+"/link")
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.DeleteContext("a")
		k.CurrentContext = "b"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k, err := config.Read(t.Context())
	if err != nil || k.CurrentContext != "b" || k.Context("a") != nil {
		t.Errorf("afterwards, the current context is %q and the context a is %v, %v", k.CurrentContext, k.Context("a"), err)
	}
}
