// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure compares a value of the SDK with a bar, and with the values of peers.
type figure struct {
	name  string
	unit  unit
	ours  value
	peers []value
	bar   bar
}

// value is a value of a trial.
type value struct {
	label string // the library, for the table
	trial *trial
	name  string // in the values of the trial
}

// bar is what a figure must reach. The zero value of a field demands nothing.
type bar struct {
	ratio   float64 // of ours to the best peer
	limit   float64 // in the unit of the figure
	more    float64 // the limit of the difference of ours and the best peer, in the unit of the figure
	atLeast bool    // the ratio and the limit are lower bounds, and greater values are better
}

// unit formats values.
type unit func(float64) string

func inBytes(v float64) string { return fmt.Sprintf("%.0f B", v) }
func inMB(v float64) string    { return fmt.Sprintf("%.1f MB", v/1e6) }
func inCount(v float64) string { return fmt.Sprintf("%.4g", v) }
func inRate(v float64) string  { return fmt.Sprintf("%.0f k/s", v/1e3) }
func inMS(v float64) string    { return fmt.Sprintf("%.4g ms", v*1e3) }
func inUS(v float64) string    { return fmt.Sprintf("%.3g µs", v*1e6) }

// figures returns all figures.
func figures() []*figure {
	return slices.Concat(heapFigures(), syncFigures(), readFigures(), queueFigures(), reconcileFigures(),
		machineFigures(), latencyFigures(), startFigures(), takeoverFigures(), metricsFigures())
}

func selected(pattern *regexp.Regexp) []*figure {
	return slices.DeleteFunc(figures(), func(f *figure) bool { return !pattern.MatchString(f.name) })
}

// trialsOf returns the trials of figures, each once.
func trialsOf(figures []*figure) []*trial {
	var trials []*trial
	known := map[string]bool{}
	for _, f := range figures {
		for _, v := range append([]value{f.ours}, f.peers...) {
			if !known[v.trial.name] {
				known[v.trial.name] = true
				trials = append(trials, v.trial)
			}
		}
	}
	return trials
}

func findTrial(name string) (*trial, error) {
	for _, t := range trialsOf(figures()) {
		if t.name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("case %q does not exist", name)
}

// row is the result of a figure.
type row struct {
	ours, best float64 // the best peer, or NaN
	ratio      float64 // of ours to the best peer, or NaN
	passed     bool
}

func (f *figure) row(r results) row {
	w := row{ours: r.median(f.ours), best: math.NaN(), ratio: math.NaN()}
	for _, p := range f.peers {
		if v := r.median(p); math.IsNaN(w.best) || f.bar.atLeast == (v > w.best) {
			w.best, w.ratio = v, r.ratio(f.ours, p)
		}
	}
	meets := func(v, bound float64) bool {
		return bound == 0 || v == bound || f.bar.atLeast == (v > bound)
	}
	w.passed = meets(w.ratio, f.bar.ratio) && meets(w.ours, f.bar.limit) && meets(w.ours-w.best, f.bar.more)
	return w
}

// ratio returns the median of the ratios of two values in the same round. Other programs that use the machine disturb
// both values of a round about equally.
func (r results) ratio(v, to value) float64 {
	mine, others := r.all(v), r.all(to)
	ratios := make([]float64, min(len(mine), len(others)))
	for i := range ratios {
		ratios[i] = mine[i] / others[i]
	}
	return median(ratios)
}

// all returns a value in all rounds.
func (r results) all(v value) []float64 {
	var all []float64
	for _, round := range r[v.trial.name] {
		all = append(all, round[v.name])
	}
	return all
}

// median returns the median of a value in all rounds.
func (r results) median(v value) float64 { return median(r.all(v)) }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// cell formats the median and the best of a value.
func (f *figure) cell(r results, v value) string {
	best := slices.Min(r.all(v))
	if f.bar.atLeast {
		best = slices.Max(r.all(v))
	}
	text := f.unit(r.median(v))
	if b := f.unit(best); b != text {
		text += " (best " + b + ")"
	}
	return text
}

func (b bar) String() string {
	sign, bounds := "<=", []string{}
	if b.atLeast {
		sign = ">="
	}
	if b.ratio != 0 {
		bounds = append(bounds, fmt.Sprintf("ratio %s %.3g", sign, b.ratio))
	}
	if b.limit != 0 {
		bounds = append(bounds, sign+" limit")
	}
	if b.more != 0 {
		bounds = append(bounds, sign+" peer + more")
	}
	return strings.Join(bounds, ", ")
}

// printTable prints the results and reports whether all figures reach their bars.
func printTable(out io.Writer, figures []*figure, r results) (met bool) {
	met = true
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tOURS\tPEERS\tRATIO\tBAR\tRESULT")
	for _, f := range figures {
		row := f.row(r)
		peers := make([]string, len(f.peers))
		for i, p := range f.peers {
			peers[i] = p.label + " " + f.cell(r, p)
		}
		ratio, result := "-", "pass"
		if !math.IsNaN(row.ratio) {
			ratio = fmt.Sprintf("%.3f", row.ratio)
		}
		text := strings.NewReplacer("limit", f.unit(f.bar.limit), "more", f.unit(f.bar.more)).Replace(f.bar.String())
		switch {
		case f.bar == bar{}, f.bar == bar{atLeast: true}:
			result, text = "-", "-"
		case !row.passed:
			result, met = "MISS", false
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", f.name, f.cell(r, f.ours), strings.Join(peers, "; "), ratio, text, result)
	}
	_ = w.Flush() // out is the standard output
	return met
}
