// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package podfiles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/podfiles"
	"github.com/kube-go/sdk/core"
)

// podOn returns the files of a pod whose container is a local directory, in which it runs the local tar.
func podOn(t *testing.T, root string, o *podfiles.Options) *podfiles.Files {
	t.Helper()
	return podBehind(t, kubelet(root), o)
}

// podBehind returns the files of a pod that h serves.
func podBehind(t *testing.T, h http.Handler, o *podfiles.Options) *podfiles.Files {
	t.Helper()
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("needs the program tar: ", err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return podfiles.In(pod.In(c, "prod"), "web", o)
}

// kubelet runs commands in a local directory.
func kubelet(root string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { serve(w, r, root, r.URL.Query()["command"]) }
}

// serve runs a command in a local directory.
func serve(w http.ResponseWriter, r *http.Request, root string, command []string) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has responded
	}
	ws.SetReadLimit(1 << 20)
	defer func() { _ = ws.Close() }() // it may be closed
	runTar(&stream{Conn: ws}, root, command)
}

// stream is the server's end of a stream.
type stream struct {
	*websocket.Conn
	writing sync.Mutex // held during a write; both outputs write
}

// channel is an output channel of a process.
type channel struct {
	ws *stream
	id byte
}

func (c channel) Write(p []byte) (int, error) {
	c.ws.writing.Lock()
	defer c.ws.writing.Unlock()
	return len(p), c.ws.WriteMessage(websocket.BinaryMessage, append([]byte{c.id}, p...))
}

// runTar runs a command as a kubelet does.
func runTar(ws *stream, root string, command []string) {
	in, feed := io.Pipe()
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		for {
			_, message, err := ws.ReadMessage()
			switch {
			case err != nil:
				feed.CloseWithError(err)
				return
			case message[0] == 0:
				_, _ = feed.Write(message[1:]) // it may have ended
			case message[0] == 255:
				_ = feed.Close() // never fails
			}
		}
	}()
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it ends with its streams
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = channel{ws, 1}, channel{ws, 2}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		go func() {
			_, _ = io.Copy(stdin, in) // it may have ended
			stdin.Close()
		}()
		err = cmd.Wait()
	}
	_ = in.Close() // never fails
	status := &metav1.Status{Status: "Success"}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code, _ := json.Marshal(exit.ExitCode())
		status = &metav1.Status{
			Status: "Failure", Reason: "NonZeroExitCode",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: string(code)}}},
		}
	} else if err != nil { // as a container runtime reports it
		status = &metav1.Status{Status: "Failure", Message: fmt.Sprintf("exec: %q: %v", filepath.Base(command[0]), err)}
	}
	ws.end(status, func() { <-hungUp })
}

// end sends the outcome of a process, and closes the connection after wait has returned.
func (s *stream) end(outcome *metav1.Status, wait func()) {
	data, _ := json.Marshal(outcome)
	_, _ = channel{s, 3}.Write(data)
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	if s.WriteMessage(websocket.CloseMessage, goodbye) == nil {
		wait()
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o640)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(content)
}

func TestDirectoriesAreUploadedAndDownloaded(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(here, "from", "-f"), "one")
	write(t, filepath.Join(here, "from", "sub", "two"), strings.Repeat("two", 1<<20))
	var told []podfiles.Progress
	files := podOn(t, there, &podfiles.Options{Progress: func(p podfiles.Progress) { told = append(told, p) }})
	up, err := files.Upload(t.Context(), filepath.Join(here, "from"), "-rf")
	if want := (podfiles.Stats{Files: 4, Bytes: 3 + 3<<20}); err != nil || up != want {
		t.Fatalf("Upload() = %+v, %v, want %+v", up, err, want)
	}
	if got := read(t, filepath.Join(there, "-rf", "-f")); got != "one" {
		t.Errorf("the file in the container = %q", got)
	}
	if n := len(told); n < 6 || told[n-1].Stats != up || told[0].Path != "." {
		t.Errorf("the reported progress is %+v", told)
	}
	down, err := files.Download(t.Context(), "-rf", filepath.Join(here, "to"))
	if err != nil || down != up {
		t.Errorf("Download() = %+v, %v, want %+v", down, err, up)
	}
	if got := read(t, filepath.Join(here, "to", "sub", "two")); len(got) != 3<<20 {
		t.Errorf("the downloaded file has %d bytes", len(got))
	}
	if _, err := files.Download(t.Context(), filepath.Join(there, "-rf", "-f"), filepath.Join(here, "alone")); err != nil {
		t.Error(err)
	}
	if got := read(t, filepath.Join(here, "alone")); got != "one" {
		t.Errorf("the single file = %q", got)
	}
}

func TestFilesThatCannotBeCopiedAreListed(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(here, "from", "ok"), "fine")
	mkfifo := exec.Command("mkfifo", filepath.Join(here, "from", "pipe")) //nolint:noctx // it ends
	if out, err := mkfifo.CombinedOutput(); err != nil {
		t.Skipf("needs a fifo: %v %s", err, out)
	}
	up, err := podOn(t, there, nil).Upload(t.Context(), filepath.Join(here, "from"), "to")
	partial, ok := errors.AsType[*podfiles.PartialError](err)
	if !ok || partial.Count != 1 || partial.Failed[0].Path != "pipe" || up.Files != 2 {
		t.Errorf("Upload() = %+v, %v, want a PartialError for pipe", up, err)
	}
	if got := read(t, filepath.Join(there, "to", "ok")); got != "fine" {
		t.Errorf("the other file = %q", got)
	}
}

func TestErrorsOfTarAreReported(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(here, "from"), "one")
	files := podOn(t, there, nil)
	if _, err := files.Upload(t.Context(), filepath.Join(here, "from"), "/none/to"); err == nil ||
		!strings.Contains(err.Error(), "/none") {
		t.Errorf("Upload() into a missing directory = %v", err)
	}
	_, err := files.Download(t.Context(), "none", filepath.Join(here, "to"))
	if exit, ok := errors.AsType[*pod.ExitError](err); !ok || exit.Code == 0 || !strings.Contains(err.Error(), "none") {
		t.Errorf("Download() of a missing file = %v", err)
	}
	if _, err := os.Stat(filepath.Join(here, "to")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a failed download: %v", err)
	}
	if _, err := files.Upload(t.Context(), filepath.Join(here, "none"), "to"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Upload() of a missing file = %v", err)
	}
	if _, err := files.Download(t.Context(), "from", filepath.Join(here, "none", "to")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Download() into a missing directory = %v", err)
	}
	for _, path := range []string{"", "/", ".", "..", "a/..", "a\x00b"} {
		if _, err := files.Download(t.Context(), path, filepath.Join(here, "to")); err == nil ||
			!strings.Contains(err.Error(), "remote") {
			t.Errorf("Download() of %q = %v", path, err)
		}
	}
}

// TestFilesThatTarCannotReadAreListed has a tar that copies some files, and prints an error about others.
func TestFilesThatTarCannotReadAreListed(t *testing.T) {
	const (
		all       = "tar -c -f - ./from; "
		truncated = "tar -c -f - ./from | head -c 1536; "
		denied    = "tar: ./from/b: Cannot open: Permission denied"
		busyBox   = "tar: can't open './from/b': Permission denied"
		bsdtar    = "tar: ./from/b: Couldn't open: Permission denied"
		changed   = "tar: ./from/a: file changed as we read it"
		removed   = "tar: ./from/c: File removed before we read it"
		shrank    = "tar: ./from/d: File shrank by 10 bytes; padding with zeros"
	)
	// The last lines of the programs.
	const (
		end        = "tar: Exiting with failure status due to previous errors"
		busyBoxEnd = "tar: error exit delayed from previous errors"
		bsdtarEnd  = "tar: Error exit delayed from previous errors."
	)
	for _, tc := range []struct {
		name, script string
		said         []string
		exit         int
		want         []string // the lines about files that were not copied; nil for none
		broken       bool     // the error is that of tar
	}{
		{"an unreadable file", all, []string{denied, end}, 2, []string{denied}, false},
		{"an unreadable file, BusyBox", all, []string{busyBox, busyBoxEnd}, 1, []string{busyBox}, false},
		{"an unreadable file, bsdtar", all, []string{bsdtar, bsdtarEnd}, 1, []string{bsdtar}, false},
		{"a file that changes", all, []string{changed}, 1, nil, false},
		{"a file that changes, and another error", all, []string{changed}, 2, nil, true},
		{"a removed file", all, []string{removed, changed}, 1, []string{removed}, false},
		{"a file that shrinks", all, []string{changed, shrank}, 1, []string{shrank}, false},
		{"no message", all, nil, 1, nil, true},
		{"an archive without an end", truncated, []string{denied}, 2, nil, true},
		{"no archive", "", []string{denied}, 2, nil, true},
		{"an empty archive", "head -c 10240 /dev/zero; ", []string{denied}, 2, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := t.TempDir(), t.TempDir()
			write(t, filepath.Join(there, "from", "a"), "one")
			script := []string{tc.script}
			for _, line := range tc.said {
				script = append(script, fmt.Sprintf("echo %q >&2;", line))
			}
			script = append(script, fmt.Sprintf("exit %d", tc.exit))
			files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				serve(w, r, there, []string{"sh", "-c", strings.Join(script, " ")})
			}), nil)
			_, err := files.Download(t.Context(), "from", filepath.Join(here, "to"))
			var got []string
			partial, ok := errors.AsType[*podfiles.PartialError](err)
			if ok {
				for _, f := range partial.Failed {
					got = append(got, "tar: "+f.Error())
				}
			}
			if !slices.Equal(got, tc.want) || ok && partial.Count != len(tc.want) {
				t.Errorf("Download() = %v, want the lines %q", err, tc.want)
			}
			exit, exited := errors.AsType[*pod.ExitError](err)
			if exited != tc.broken || exited && exit.Code != tc.exit || err != nil && !ok && !exited {
				t.Errorf("Download() = %v, want the exit status: %t", err, tc.broken)
			}
			if tc.script != all {
				return
			}
			if got := read(t, filepath.Join(here, "to", "a")); got != "one" {
				t.Errorf("the other file = %q", got)
			}
		})
	}
}

// TestAllLinesOfTarAreCounted checks that the number of files is right although only the start of the messages is kept.
func TestAllLinesOfTarAreCounted(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(there, "from", "a"), "one")
	const script = `tar -c -f - ./from; ` +
		`for i in $(seq 200); do echo "tar: ./from/$i: Cannot open: Permission denied" >&2; done; exit 2`
	files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, there, []string{"sh", "-c", script})
	}), nil)
	_, err := files.Download(t.Context(), "from", filepath.Join(here, "to"))
	const start, end = "200 files were not copied: ./from/1: Cannot open: Permission denied; ", "; and 195 more"
	partial, ok := errors.AsType[*podfiles.PartialError](err)
	if !ok || partial.Count != 200 || !strings.HasPrefix(err.Error(), start) || !strings.HasSuffix(err.Error(), end) {
		t.Errorf("Download() = %v, want a PartialError for 200 files", err)
	}
}

// TestOnlyAMissingTarIsErrNoTar checks the errors of container runtimes, some of which are about other missing files.
func TestOnlyAMissingTarIsErrNoTar(t *testing.T) {
	for _, tc := range []struct {
		name, message string
		want          bool // the error is ErrNoTar
	}{
		{
			"runc", `failed to exec in container: failed to start exec "c5": OCI runtime exec failed: exec failed: unable to ` +
				`start container process: exec: "tar": executable file not found in $PATH: unknown`, true,
		},
		{"crun", "executable file `tar` not found in $PATH: No such file or directory", true},
		{"gVisor", `error finding executable "tar" in PATH [/usr/bin /bin]: no such file or directory`, true},
		{
			"a message in another", `rpc error: code = Unknown desc = "exec: \"tar\": executable file not found in $PATH"`, true,
		},
		{
			"another file", `failed to start exec "c5": OCI runtime exec failed: exec failed: unable to start container ` +
				`process: error closing exec fds: open /proc/self/fd: no such file or directory: unknown`, false,
		},
		{
			"no container runtime", `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while ` +
				`dialing: dial unix /run/containerd/containerd.sock: connect: no such file or directory"`, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here := t.TempDir()
			write(t, filepath.Join(here, "from"), "one")
			files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
				ws, err := upgrader.Upgrade(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = ws.Close() }() // it may be closed
				outcome := &metav1.Status{Status: "Failure", Reason: "InternalError", Code: 500, Message: tc.message}
				(&stream{Conn: ws}).end(outcome, func() { _, _ = io.Copy(io.Discard, ws.NetConn()) })
			}), nil)
			_, up := files.Upload(t.Context(), filepath.Join(here, "from"), "to")
			_, down := files.Download(t.Context(), "from", filepath.Join(here, "to"))
			for verb, err := range map[string]error{"Upload": up, "Download": down} {
				if errors.Is(err, podfiles.ErrNoTar) != tc.want {
					t.Errorf("%s() = %v, want ErrNoTar: %t", verb, err, tc.want)
				}
				if !errors.Is(err, core.ErrInternal) || !strings.Contains(err.Error(), tc.message) {
					t.Errorf("%s() = %v, want the error of the server in its chain", verb, err)
				}
			}
		})
	}
}

// TestABrokenUploadIsExplained ends the connection, or reports success, before tar has read its input. Servers do so if
// a process ends while much of its input is unread.
func TestABrokenUploadIsExplained(t *testing.T) {
	for _, tc := range []struct {
		name, said string
		success    bool
		want       string
	}{
		{"a message of tar", "no room", false, "no room"},
		{"no message of tar", "", false, "connection broke"},
		{"success with a message of tar", "no room", true, "no room"},
		{"success without a message of tar", "", true, "ended before it had read the archive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := t.TempDir(), t.TempDir()
			write(t, filepath.Join(here, "from", "large"), strings.Repeat("x", 16<<20))
			files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("stdin") != "true" {
					kubelet(there)(w, r)
					return
				}
				upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
				ws, err := upgrader.Upgrade(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				s := &stream{Conn: ws}
				if tc.said != "" {
					_, _ = channel{s, 2}.Write([]byte(tc.said))
				}
				if tc.success {
					s.end(&metav1.Status{Status: "Success"}, func() { _, _ = io.Copy(io.Discard, ws.NetConn()) })
				}
				_ = ws.Close() // without a close frame
			}), nil)
			_, err := files.Upload(t.Context(), filepath.Join(here, "from"), "to")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Upload() = %v, want it to say %q", err, tc.want)
			}
		})
	}
}

// TestAnUploadIsCheckedBefore checks what is found out before an upload: the server reports success for every process
// with an input.
func TestAnUploadIsCheckedBefore(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(here, "from"), "one")
	write(t, filepath.Join(there, "file"), "two")
	write(t, filepath.Join(there, "-x", "file"), "three")
	tar := map[string]string{"tar": "#!/bin/sh\n"}
	for _, tc := range []struct {
		name, remote string
		programs     map[string]string // of the container; those of this machine if it is nil
		want         error
	}{
		{"the directory exists", "to", nil, nil},
		{"the directory has the name of an option", "-x/to", nil, nil},
		{"the directory is missing", "none/to", nil, fs.ErrNotExist},
		{"the directory is missing in one with the name of an option", "-x/none/to", nil, fs.ErrNotExist},
		{"the directory is a file", "file/to", nil, fs.ErrNotExist},
		{"the directory is read-only", "to", map[string]string{"sh": "#!/bin/sh\nexit 5\n"}, fs.ErrPermission},
		{"no tar", "to", map[string]string{"sh": "#!/bin/sh\nexit 3\n"}, podfiles.ErrNoTar},
		{"no shell", "none/to", tar, nil},
		{"neither shell nor tar", "to", map[string]string{}, podfiles.ErrNoTar},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bin := t.TempDir()
			for name, script := range tc.programs {
				if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				command := r.URL.Query()["command"]
				switch program := filepath.Join(bin, command[0]); {
				case r.URL.Query().Get("stdin") == "true":
					serve(w, r, there, []string{"cat"})
				case tc.programs == nil:
					serve(w, r, there, command)
				default:
					serve(w, r, there, append([]string{program}, command[1:]...))
				}
			}), nil)
			_, err := files.Upload(t.Context(), filepath.Join(here, "from"), tc.remote)
			if !errors.Is(err, tc.want) {
				t.Errorf("Upload() = %v, want %v", err, tc.want)
			}
		})
	}
}

// TestAnUploadToAForbiddenDirectoryIsRefused checks that a directory that the user of the container may not enter, or
// can't see because of that, is not taken for a missing one.
func TestAnUploadToAForbiddenDirectoryIsRefused(t *testing.T) {
	here := t.TempDir()
	write(t, filepath.Join(here, "from"), "one")
	there, err := os.MkdirTemp("", "podfiles") // that of TempDir belongs to this user alone
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(there, "private")
	if err := errors.Join(os.Chmod(there, 0o755), os.Mkdir(private, 0)); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(there); err != nil {
			t.Error(err)
		}
	})
	var another []string
	if os.Getuid() == 0 { // the user may enter each directory
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Skip("needs the program setpriv: ", err)
		}
		another = []string{"setpriv", "--reuid=65534", "--clear-groups", "--"}
	}
	files := podBehind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, there, slices.Concat(another, r.URL.Query()["command"]))
	}), nil)
	for remote, want := range map[string]error{
		filepath.Join(private, "to"):               fs.ErrPermission,
		filepath.Join(private, "sub", "dir", "to"): fs.ErrPermission,
		"private/to":                       fs.ErrPermission,
		"private/sub/to":                   fs.ErrPermission,
		filepath.Join(there, "none", "to"): fs.ErrNotExist,
		"none/to":                          fs.ErrNotExist,
		"none/sub/to":                      fs.ErrNotExist,
		"../none/to":                       fs.ErrNotExist,
		"/none/to":                         fs.ErrNotExist,
	} {
		if _, err := files.Upload(t.Context(), filepath.Join(here, "from"), remote); !errors.Is(err, want) {
			t.Errorf("Upload() to %s = %v, want %v", remote, err, want)
		}
	}
}

// TestAnUploadKeepsTheDirectoryThatExists checks that an upload to a directory, or to a link to one, adds files to it
// and does not change it. Its owner may be another user, as that of /tmp usually is.
func TestAnUploadKeepsTheDirectoryThatExists(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(here, "from", "one"), "1")
	write(t, filepath.Join(here, "from", "linked", "two"), "2")
	write(t, filepath.Join(there, "tmp", "old"), "old")
	write(t, filepath.Join(there, "elsewhere", "old"), "old")
	for _, dir := range []string{"tmp", "elsewhere"} {
		if err := os.Chmod(filepath.Join(there, dir), 0o777|fs.ModeSticky); err != nil { //nolint:gosec // like /tmp
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "tmp", "tmp/linked": "../elsewhere"} {
		if err := os.Symlink(target, filepath.Join(there, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	files := podOn(t, there, nil)
	for _, remote := range []string{"tmp", "link"} {
		up, err := files.Upload(t.Context(), filepath.Join(here, "from"), remote)
		if want := (podfiles.Stats{Files: 4, Bytes: 2}); err != nil || up != want {
			t.Errorf("Upload() to %s = %+v, %v, want %+v", remote, up, err, want)
		}
		for _, name := range []string{"link", "tmp/linked"} {
			info, err := os.Lstat(filepath.Join(there, filepath.FromSlash(name)))
			if err != nil || info.Mode().Type() != fs.ModeSymlink {
				t.Errorf("after an upload to %s, %s is not a link: %v, %v", remote, name, info, err)
			}
		}
		info, err := os.Stat(filepath.Join(there, "tmp"))
		if err != nil || info.Mode().Perm() != 0o777 || info.Mode()&fs.ModeSticky == 0 {
			t.Errorf("after an upload to %s, the directory has the mode %v, %v", remote, info.Mode(), err)
		}
		one, two := read(t, filepath.Join(there, "tmp", "one")), read(t, filepath.Join(there, "elsewhere", "two"))
		if one+two != "12" {
			t.Errorf("after an upload to %s, the files are %q and %q", remote, one, two)
		}
		_, err = files.Upload(t.Context(), filepath.Join(here, "from", "one"), remote)
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), remote) {
			t.Errorf("Upload() of a file to the directory %s = %v, want fs.ErrExist", remote, err)
		}
	}
}

// TestADownloadKeepsTheDirectoriesThatExist checks that a download sets the permissions of new directories only.
func TestADownloadKeepsTheDirectoriesThatExist(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	for _, name := range []string{"old", "new"} {
		write(t, filepath.Join(there, "from", name, "file"), name)
		if err := os.Chmod(filepath.Join(there, "from", name), 0o750); err != nil { //nolint:gosec // a mode that is not the default
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(here, "to", "old", "other"), "other")
	if err := os.Chmod(filepath.Join(here, "to"), 0o777|fs.ModeSticky); err != nil { //nolint:gosec // like /tmp
		t.Fatal(err)
	}
	if _, err := podOn(t, there, nil).Download(t.Context(), "from", filepath.Join(here, "to")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{".": 0o777 | fs.ModeSticky, "old": 0o700, "new": 0o750} {
		info, err := os.Stat(filepath.Join(here, "to", name))
		if err != nil || info.Mode().Type()|info.Mode()&(fs.ModePerm|fs.ModeSticky) != fs.ModeDir|want {
			t.Errorf("the mode of %s is %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if got := read(t, filepath.Join(here, "to", "old", "file")) + read(t, filepath.Join(here, "to", "old", "other")); got != "oldother" {
		t.Errorf("the files in the directory are %q", got)
	}
}

func TestTheContextEndsACopy(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(there, "from"), strings.Repeat("x", 8<<20))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	files := podOn(t, there, &podfiles.Options{Progress: func(podfiles.Progress) { cancel(cause) }})
	if _, err := files.Download(ctx, "from", filepath.Join(here, "to")); !errors.Is(err, cause) {
		t.Errorf("Download() = %v, want %v", err, cause)
	}
	entries, err := os.ReadDir(here)
	if len(entries) > 0 || err != nil {
		t.Errorf("files after a canceled download: %v, %v", entries, err)
	}
}
