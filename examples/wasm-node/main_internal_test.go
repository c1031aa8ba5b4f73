// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestMemoryThatNoContainerCanHaveIsRefused(t *testing.T) {
	for _, memory := range []string{"0", "-1", "4294967297"} {
		err := run(t.Context(), []string{"-memory", memory})
		if err == nil || !strings.Contains(err.Error(), "-memory is "+memory) {
			t.Errorf("run with -memory %s = %v, want an error that names the flag", memory, err)
		}
	}
	if err := run(t.Context(), []string{"-memory", "4294967296", "-graph"}); err != nil {
		t.Error(err)
	}
}
