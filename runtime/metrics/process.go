// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// process returns the metrics of the process. It does not use package runtime/metrics, whose init function and
// descriptions add 20 kB to each program that imports this package, even if it is not used.
func process() []Family {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	all := []Family{
		value("go_goroutines", "Number of goroutines that currently exist.", Gauge, float64(runtime.NumGoroutine())),
		value("go_info", "Information about the Go environment.", Gauge, 1),
		value("go_memstats_heap_alloc_bytes", "Number of heap bytes allocated and currently in use.", Gauge,
			float64(memory.HeapAlloc)),
		value("go_memstats_sys_bytes", "Number of bytes obtained from system.", Gauge, float64(memory.Sys)),
	}
	all[1].Labels, all[1].Samples[0].Labels = []string{"version"}, []string{runtime.Version()}
	own, _ := os.ReadFile("/proc/self/stat") // only Linux has these files
	system, _ := os.ReadFile("/proc/stat")
	p, ok := parseProcess(string(own), string(system))
	if !ok {
		return all
	}
	return append(all,
		value("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", Counter, p.cpu),
		value("process_resident_memory_bytes", "Resident memory size in bytes.", Gauge, p.pages*float64(os.Getpagesize())),
		value("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", Gauge, p.start),
	)
}

// value returns a family without labels.
func value(name, help string, t Type, v float64) Family {
	return Family{Name: name, Help: help, Type: t, Samples: []Sample{{Value: v}}}
}

// ticks is the number of ticks per second in the files of Linux, on all architectures of Go.
const ticks = 100

// processStat is the numbers of a process.
type processStat struct{ cpu, start, pages float64 }

// parseProcess reads /proc/self/stat and /proc/stat, see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
func parseProcess(own, system string) (p processStat, ok bool) {
	_, rest, found := strings.Cut(own[strings.LastIndexByte(own, ')')+1:], " ") // the name may have spaces
	fields := strings.Fields(rest)                                              // from the third one
	_, boot, booted := strings.Cut(system, "\nbtime ")
	boot, _, _ = strings.Cut(boot, "\n")
	if !found || !booted || len(fields) < 22 {
		return p, false
	}
	numbers := make([]float64, 0, 5)
	for _, s := range []string{fields[11], fields[12], fields[19], fields[21], boot} {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return p, false
		}
		numbers = append(numbers, n)
	}
	return processStat{(numbers[0] + numbers[1]) / ticks, numbers[4] + numbers[2]/ticks, numbers[3]}, true
}
