// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/derive/generate"
)

// BenchmarkCRDs writes the CRDs of each API with kube-derive and with controller-gen, alternately. It reports the time
// of kube-derive divided by that of controller-gen: the median of all pairs, because other load on the machine slows
// both runs of a pair.
//
//	GOWORK=off go test -run '^$' -bench CRDs -benchtime 9x .
func BenchmarkCRDs(b *testing.B) {
	for _, a := range apis() {
		b.Run(a.name, func(b *testing.B) {
			ours, theirs := b.TempDir(), b.TempDir()
			var ratios []float64
			for b.Loop() {
				start := time.Now()
				writeOurs(b, a.packages, ours)
				middle := time.Now()
				writeTheirs(b, a.packages, theirs)
				ratios = append(ratios, float64(middle.Sub(start))/float64(time.Since(middle)))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ours/theirs")
			b.ReportMetric(0, "ns/op") // the time of both together is meaningless
		})
	}
}

// asControllerGen makes the test binary a process that writes CRDs with controller-gen. Its value is the directory for
// them, and the arguments of the process are the packages.
const asControllerGen = "WRITE_AS_CONTROLLER_GEN"

func TestMain(m *testing.M) {
	dir := os.Getenv(asControllerGen)
	if dir == "" {
		m.Run()
		return
	}
	if err := runControllerGen(os.Args[1:], dir); err != nil {
		panic(err)
	}
}

// BenchmarkCheckouts runs kube-derive crd and controller-gen as processes in the checkouts of projects, alternately,
// with the build cache of the user and with an empty one. It reports the wall time and the CPU time of kube-derive
// divided by those of controller-gen. Both programs are built before.
//
//	GOWORK=off go test -run '^$' -bench Checkouts -benchtime 5x .
func BenchmarkCheckouts(b *testing.B) {
	command := filepath.Join(b.TempDir(), "kube-derive")
	goOutput(b, "build", "-o", command, "github.com/kube-go/sdk/derive/cmd/kube-derive")
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range checkouts() {
		dir := b.TempDir()
		copySources(b, strings.TrimSpace(goOutput(b, "list", "-m", "-f", "{{.Dir}}", c.module)), dir)
		for _, cache := range []string{"warm", "empty"} {
			b.Run(c.module+"/"+cache, func(b *testing.B) {
				var wall, cpu []float64
				for b.Loop() {
					var used [2]spent
					for i, args := range [][]string{{command, "crd", "--lenient", "--out", b.TempDir()}, {self}} {
						cmd := exec.CommandContext(b.Context(), args[0], append(args[1:], c.packages...)...)
						cmd.Dir = dir
						cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath")
						if args[0] == self {
							cmd.Env = append(cmd.Env, asControllerGen+"="+b.TempDir())
						}
						if cache == "empty" {
							cmd.Env = append(cmd.Env, "GOCACHE="+b.TempDir())
						}
						used[i] = measure(b, cmd)
					}
					wall = append(wall, float64(used[0].wall)/float64(used[1].wall))
					cpu = append(cpu, float64(used[0].cpu)/float64(used[1].cpu))
					b.Logf("kube-derive takes %v, controller-gen %v", used[0], used[1])
				}
				slices.Sort(wall)
				slices.Sort(cpu)
				b.ReportMetric(wall[len(wall)/2], "wall-ours/theirs")
				b.ReportMetric(cpu[len(cpu)/2], "cpu-ours/theirs")
				b.ReportMetric(0, "ns/op") // the time of both together is meaningless
			})
		}
	}
}

// spent is the time that a process and its children used.
type spent struct{ wall, cpu time.Duration }

func (s spent) String() string {
	return fmt.Sprintf("%v (CPU %v)", s.wall.Round(time.Millisecond), s.cpu.Round(time.Millisecond))
}

// measure runs a command that must succeed.
func measure(b *testing.B, cmd *exec.Cmd) spent {
	b.Helper()
	var problems bytes.Buffer
	cmd.Stderr = &problems
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd.Path, err, &problems)
	}
	return spent{time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// writeOurs writes the CRDs of kube-derive into a directory.
func writeOurs(b *testing.B, packages []string, dir string) {
	b.Helper()
	files, err := generate.CRDs(b.Context(), packages, &generate.Options{Out: dir})
	if err != nil {
		b.Fatalf("CRDs: %v", err)
	}
	if _, err := files.Write(); err != nil {
		b.Fatal(err)
	}
}
