// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// tailBytes is the size of the end of a log that is searched for telling lines.
const tailBytes = 256 << 10

// maxLine is the maximum length of a line in an error, in bytes.
const maxLine = 400

// telling matches lines with the reason why a program ended: errors of klog, etcd and containerd, cobra's "Error:", the
// kubelet's err="…" and Go's panics. It is never changed.
var telling = regexp.MustCompile(`^[EF]\d{4} |^Error|^panic:|^fatal error:` +
	`|"level":"(error|fatal|panic)"|level=(error|fatal|panic)` +
	`|^\S*: .*(denied|no such|not found)`) // errors of a shell

// TellingLines returns up to n lines of the current run's log that report an error, oldest first, or the last lines
// without such lines. It omits repetitions of a message.
func (p *Process) TellingLines(n int) []string { return p.tellingLines(p.current(), n) }

func (p *Process) tellingLines(r *run, n int) []string {
	text, err := readTail(p.spec.LogFile, r.offset)
	if err != nil {
		return nil
	}
	return tellingLines(text, n)
}

// readTail returns the end of the file: at most tailBytes, and only what follows offset.
func readTail(path string, offset int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if _, err := file.Seek(max(offset, info.Size()-tailBytes), io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, tailBytes))
	return string(text), err
}

func tellingLines(text string, n int) []string {
	var told, rest []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "…"
		}
		rest = append(rest, line)
		if key := message(line); telling.MatchString(line) && !seen[key] {
			seen[key] = true
			told = append(told, line)
		}
	}
	if len(told) == 0 {
		told = rest
	}
	return told[max(0, len(told)-n):]
}

// message removes the parts in which repetitions of a log line differ: the time stamps of klog and JSON.
func message(line string) string {
	if _, after, ok := strings.Cut(line, "] "); ok {
		return after
	}
	if _, after, ok := strings.Cut(line, `"msg":`); ok {
		return after
	}
	if _, after, ok := strings.Cut(line, "msg="); ok {
		return after
	}
	return line
}
