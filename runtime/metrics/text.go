// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/kube-go/sdk/runtime/histogram"
)

// contentType is that of the text format, see https://prometheus.io/docs/instrumenting/exposition_formats/.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// writeText writes families in the text format of Prometheus. Families without samples are left out.
func writeText(w io.Writer, families []Family) error {
	var t text
	for i := range families {
		t.family(&families[i])
	}
	_, err := w.Write(t.buf)
	return err
}

// text is families in the text format.
type text struct{ buf []byte }

func (t *text) family(f *Family) {
	if len(f.Samples) == 0 {
		return
	}
	t.write("# HELP ", f.Name, " ", escape(f.Help, false), "\n")
	t.write("# TYPE ", f.Name, " ", string(f.Type), "\n")
	for i := range f.Samples {
		s := &f.Samples[i]
		if f.Type == Histogram {
			t.histogram(f, s.Labels, &s.Histogram)
		} else {
			t.sample(f, "", s.Labels, "", s.Value)
		}
	}
}

func (t *text) histogram(f *Family, labels []string, h *histogram.Histogram) {
	for _, b := range h.Buckets {
		t.sample(f, "_bucket", labels, number(b.UpperBound.Seconds()), float64(b.Count))
	}
	t.sample(f, "_bucket", labels, "+Inf", float64(h.Count))
	t.sample(f, "_sum", labels, "", h.Sum.Seconds())
	t.sample(f, "_count", labels, "", float64(h.Count))
}

// sample writes a line. The label le is written unless it is empty.
func (t *text) sample(f *Family, suffix string, labels []string, le string, value float64) {
	t.write(f.Name, suffix)
	begin := "{"
	for i, name := range f.Labels {
		t.write(begin, name, `="`, escape(labels[i], true), `"`)
		begin = ","
	}
	if le != "" {
		t.write(begin, `le="`, le, `"`)
		begin = ","
	}
	if begin == "," {
		t.write("}")
	}
	t.write(" ", number(value), "\n")
}

func (t *text) write(all ...string) {
	for _, s := range all {
		t.buf = append(t.buf, s...)
	}
}

// escape escapes a help text, or the value of a label, which is quoted.
func escape(s string, quoted bool) string {
	special := "\\\n"
	if quoted {
		special += `"`
	}
	if !strings.ContainsAny(s, special) {
		return s
	}
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, "\n", `\n`)
	if quoted {
		s = strings.ReplaceAll(s, `"`, `\"`)
	}
	return s
}

// number writes a number.
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
