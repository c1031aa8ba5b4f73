// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Api-resources prints the resources that a server has, and reports the API groups that could not be discovered.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `api-resources prints the resources of the server, each in the version that the server prefers.

  api-resources [flags]

  -group GROUP        only this API group; "" is the core group
  -namespaced=BOOL    true: only namespaced resources; false: only cluster-scoped resources
  -verbs VERB,VERB    only resources that support all these verbs
  -all-versions       all versions, not only the preferred one
  -o FORMAT           table (default), wide (with verbs and categories), or name

  api-resources -namespaced=false -verbs list,watch
  api-resources -group apps -o wide

API groups that could not be discovered are listed at the end, and the exit status is then 1.
`

// formats are the values of -o.
const formats = "table, wide, name"

// options are the options of the command line.
type options struct {
	group       *string // nil: all
	namespaced  *bool   // nil: both
	verbs       []string
	allVersions bool
	format      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, "api-resources:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string, out, notes io.Writer) error {
	o, err := parse(line)
	if err != nil {
		return err
	}
	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		return err
	}
	resources := disc.Preferred()
	if o.allVersions {
		resources = disc.Resources()
	}
	resources = slices.DeleteFunc(resources, func(r kube.Resource) bool { return !o.wants(r) })
	slices.SortStableFunc(resources, func(a, b kube.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Plural, b.Plural))
	})
	if err := o.print(out, resources); err != nil {
		return err
	}
	if len(resources) == 0 {
		fmt.Fprintln(notes, "no resources found")
	}
	var failed []error
	for _, f := range disc.Failed() {
		if o.group == nil || *o.group == f.GroupVersion.Group {
			failed = append(failed, f)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("the list may be incomplete:\n%w", errors.Join(failed...))
	}
	return nil
}

// parse parses the command line.
func parse(line []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("api-resources", flag.ContinueOnError)
	flags.Func("group", "", func(s string) error {
		o.group = &s
		return nil
	})
	flags.BoolFunc("namespaced", "", func(s string) error {
		namespaced, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("want true or false")
		}
		o.namespaced = &namespaced
		return nil
	})
	flags.Func("verbs", "", func(s string) error {
		o.verbs = strings.Split(s, ",")
		return nil
	})
	flags.BoolVar(&o.allVersions, "all-versions", false, "")
	flags.StringVar(&o.format, "o", "table", "")
	words, err := args.Parse(flags, line)
	switch {
	case err != nil:
		return o, err
	case len(words) > 0:
		return o, fmt.Errorf("unexpected argument %q; use -h for help", words[0])
	case !slices.Contains(strings.Split(formats, ", "), o.format):
		return o, fmt.Errorf("-o %s is invalid: want one of %s", o.format, formats)
	}
	return o, nil
}

// wants reports whether the options select a resource.
func (o options) wants(r kube.Resource) bool {
	switch {
	case o.group != nil && *o.group != r.Group:
		return false
	case o.namespaced != nil && *o.namespaced != r.Namespaced:
		return false
	}
	return !slices.ContainsFunc(o.verbs, func(verb string) bool { return !slices.Contains(r.Verbs, verb) })
}

// print prints a line for each resource.
func (o options) print(out io.Writer, resources []kube.Resource) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := []string{"NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"}
	if o.format == "wide" {
		header = append(header, "VERBS", "CATEGORIES")
	}
	if o.format != "name" && len(resources) > 0 {
		fmt.Fprintln(table, strings.Join(header, "\t"))
	}
	for _, r := range resources {
		line := []string{r.Plural, strings.Join(r.ShortNames, ","), r.APIVersion(), strconv.FormatBool(r.Namespaced), r.Kind}
		switch o.format {
		case "name":
			line = []string{r.String()}
		case "wide":
			line = append(line, strings.Join(r.Verbs, ","), strings.Join(r.Categories, ","))
		}
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	return table.Flush()
}
