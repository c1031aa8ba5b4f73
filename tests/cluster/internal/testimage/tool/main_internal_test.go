// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandPrintsAndExitsAsDocumented(t *testing.T) {
	t.Setenv("TOOL_TEST", "a value")
	dir := t.TempDir()
	for name, content := range map[string]string{"a": "one\n", "b": "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		args    []string
		in      string
		want    string
		wantErr string
		status  int
	}{
		{name: "exit 0", args: []string{"exit", "0"}},
		{name: "exit with a status", args: []string{"exit", "42"}, status: 42, wantErr: ""},
		{name: "exit with an invalid status", args: []string{"exit", "256"}, status: 2, wantErr: `"256" is not a status`},
		{name: "echo", args: []string{"echo", "a", "b c"}, want: "a b c\n"},
		{name: "echo nothing", args: []string{"echo"}, want: "\n"},
		{name: "echo to standard error", args: []string{"echo", "-stderr", "a"}, wantErr: "a\n"},
		{name: "cat standard input", args: []string{"cat"}, in: "some text", want: "some text"},
		{name: "cat files", args: []string{"cat", dir + "/a", dir + "/b"}, want: "one\ntwo\n"},
		{name: "cat a missing file", args: []string{"cat", dir + "/c"}, status: 1, wantErr: "no such file"},
		{name: "lines", args: []string{"lines", "3"}, want: "line 1\nline 2\nline 3\n"},
		{name: "lines with an interval", args: []string{"lines", "2", "1ms"}, want: "line 1\nline 2\n"},
		{name: "lines without a number", args: []string{"lines", "many"}, status: 2, wantErr: `"many" is not a number of lines`},
		{name: "lines with an invalid interval", args: []string{"lines", "1", "often"}, status: 2, wantErr: "often"},
		{name: "sleep", args: []string{"sleep", "1ms"}},
		{name: "sleep without a unit", args: []string{"sleep", "5"}, status: 2, wantErr: "missing unit"},
		{name: "env of a variable", args: []string{"env", "TOOL_TEST"}, want: "a value\n"},
		{name: "env of a variable that is not set", args: []string{"env", "TOOL_OTHER"}, status: 1, wantErr: "TOOL_OTHER is not set"},
		{name: "ls", args: []string{"ls", dir}, want: "-rw-r----- 4 a\n-rw-r----- 4 b\n"},
		{name: "ls of a missing directory", args: []string{"ls", dir + "/c"}, status: 1, wantErr: "no such file"},
		{name: "write", args: []string{"write", "4"}, want: streamStart},
		{name: "write nothing", args: []string{"write", "0"}},
		{name: "write an invalid size", args: []string{"write", "-1"}, status: 2, wantErr: `"-1" is not a size`},
		{name: "write a size that is too large", args: []string{"write", "9999999999G"}, status: 2, wantErr: "is not a size"},
		{name: "write without a size", args: []string{"write", "-sum"}, status: 2, wantErr: "want one size"},
		{name: "sum of nothing", args: []string{"sum"}, want: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0\n"},
		{name: "sum", args: []string{"sum"}, in: "abc", want: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3\n"},
		{name: "size without a terminal", args: []string{"size"}, status: 1, wantErr: "not a terminal"},
		{name: "tar with other options", args: []string{"tar", "-t", "-v", "-f", "-", "-C"}, status: 2, wantErr: "usage:"},
		{name: "tar of a missing file", args: []string{"tar", "-c", "-f", "-", "-C", dir, "c"}, status: 1, want: strings.Repeat("\x00", 1024), wantErr: "no such file"},
		{name: "nothing", status: 2, wantErr: "cat, echo, echo-server, env"},
		{name: "an unknown command", args: []string{"dance"}, status: 2, wantErr: `unknown command "dance"`},
		{name: "too few arguments", args: []string{"exit"}, status: 2, wantErr: "exit: wrong number of arguments: 0"},
		{name: "too many arguments", args: []string{"exit", "1", "2"}, status: 2, wantErr: "exit: wrong number of arguments: 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			status := run(test.args, streams{strings.NewReader(test.in), &out, &stderr})
			if status != test.status || out.String() != test.want {
				t.Errorf("run(%q) = %d and prints %q, want %d and %q", test.args, status, out.String(), test.status, test.want)
			}
			if !strings.Contains(stderr.String(), test.wantErr) || test.wantErr == "" && stderr.Len() > 0 {
				t.Errorf("run(%q) says %q, want %q", test.args, stderr.String(), test.wantErr)
			}
		})
	}
}

func TestTarUnpacksWhatItPacks(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	file := filepath.Join(from, "d", "f")
	if err := os.Mkdir(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("some text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", filepath.Join(from, "d", "l")); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if status := run([]string{"tar", "-c", "-f", "-", "-C", from, "./d"}, streams{out: &packed, err: os.Stderr}); status != 0 {
		t.Fatalf("tar -c = %d", status)
	}
	if status := run([]string{"tar", "-x", "-o", "-p", "-f", "-", "-C", to}, streams{in: &packed, err: os.Stderr}); status != 0 {
		t.Fatalf("tar -x = %d", status)
	}
	got, err := os.ReadFile(filepath.Join(to, "d", "l"))
	if err != nil || string(got) != "some text" {
		t.Errorf("the file behind the link = %q, %v", got, err)
	}
	info, err := os.Stat(filepath.Join(to, "d"))
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the folder's mode = %v, %v, want rwxr-x---", info.Mode(), err)
	}
}

// streamStart is the start of the stream. It never changes: other tests may know its sums.
const streamStart = "\xd9\x87\x7e\xce"

func TestTheEnvironmentIsSorted(t *testing.T) {
	t.Setenv("TOOL_B", "2")
	t.Setenv("TOOL_A", "1")
	var out bytes.Buffer
	if status := run([]string{"env"}, streams{out: &out, err: io.Discard}); status != 0 {
		t.Fatalf("run(env) = %d", status)
	}
	if !strings.Contains(out.String(), "TOOL_A=1\nTOOL_B=2\n") {
		t.Errorf("env prints %q, want TOOL_A before TOOL_B", out.String())
	}
}

func TestSumOfWriteIsTheSumOfItsOutput(t *testing.T) {
	for _, size := range []string{"0", "1", "100", "3K", "1M"} {
		var written, said, summed bytes.Buffer
		for _, call := range []struct {
			args []string
			std  streams
		}{
			{[]string{"write", size}, streams{out: &written}},
			{[]string{"write", "-sum", size}, streams{out: &said}},
			{[]string{"sum"}, streams{in: &written, out: &summed}},
		} {
			if status := run(call.args, call.std); status != 0 {
				t.Fatalf("run(%q) = %d", call.args, status)
			}
		}
		if said.String() != summed.String() {
			t.Errorf("write -sum %s prints %q, but its output's sum is %q", size, said.String(), summed.String())
		}
	}
}

func TestFailedWriteIsAnError(t *testing.T) {
	reader, writer := io.Pipe()
	_ = reader.Close() // never fails
	for _, args := range [][]string{{"echo", "a"}, {"cat"}, {"lines", "1"}, {"env"}, {"write", "1"}, {"sum"}} {
		var stderr bytes.Buffer
		status := run(args, streams{strings.NewReader("some text"), writer, &stderr})
		if status != 1 || !strings.Contains(stderr.String(), args[0]+": io: read/write on closed pipe") {
			t.Errorf("run(%q) = %d and says %q, want 1 and why", args, status, stderr.String())
		}
	}
}
