// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package args_test

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/examples/internal/args"
)

func TestParseTakesFlagsAndNamesInAnyOrder(t *testing.T) {
	for _, tc := range []struct {
		name, in  string
		want      []string
		namespace string
		follow    bool
		err       string
	}{
		{name: "an empty command line"},
		{name: "only names", in: "a b", want: []string{"a", "b"}},
		{name: "flags before names", in: "-n prod -f a", want: []string{"a"}, namespace: "prod", follow: true},
		{
			name: "flags between and after names", in: "a -n prod b -f",
			want: []string{"a", "b"}, namespace: "prod", follow: true,
		},
		{name: "names that look like flags", in: "a -f -- -n b", want: []string{"a", "-n", "b"}, follow: true},
		{name: "no names after --", in: "a --", want: []string{"a"}},
		{name: "an unknown flag", in: "a -x", err: "flag provided but not defined: -x; use -h for help"},
		{name: "a flag without a value", in: "a -n", err: "flag needs an argument: -n; use -h for help"},
		{name: "a request for help", in: "a --help", err: "flag: help requested"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			flags := flag.NewFlagSet("test", flag.ContinueOnError)
			var printed strings.Builder
			flags.SetOutput(&printed)
			namespace, follow := flags.String("n", "", ""), flags.Bool("f", false, "")
			got, err := args.Parse(flags, strings.Fields(tc.in))
			if printed.Len() > 0 {
				t.Errorf("Parse prints %q, want nothing", printed.String())
			}
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("error = %v, want %s", err, tc.err)
				}
				if errors.Is(err, flag.ErrHelp) != strings.Contains(tc.in, "help") {
					t.Errorf("%v: errors.Is(flag.ErrHelp) = %t", err, errors.Is(err, flag.ErrHelp))
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if *namespace != tc.namespace || *follow != tc.follow {
				t.Errorf("-n %s -f=%t, want %s, %t", *namespace, *follow, tc.namespace, tc.follow)
			}
		})
	}
}
