// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/operator"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// loopsModule returns a module with a function of many loops, which a host would need long to compile.
func loopsModule(loops int) []byte {
	section := func(id byte, content ...byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	code := slices.Concat([]byte{0}, bytes.Repeat([]byte{0x03, 0x40, 0x0b}, loops), []byte{0x0b}) // loop, end
	return slices.Concat(
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, 1, 0x60, 0, 0), // a type without parameters and results
		section(3, 1, 0),
		section(10, append(binary.AppendUvarint([]byte{1}, uint64(len(code))), code...)...),
	)
}

// TestWasmControllerThatIsTooComplexIsRefused checks that a module which exceeds a limit of the compiler is not
// compiled, that its object says why, and that other modules continue. Another module then replaces it.
func TestWasmControllerThatIsTooComplexIsRefused(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	ready := kube.StatusCondition[v1alpha1.WasmController]("Ready", metav1.ConditionTrue)
	s.create(t, "other", v1alpha1.WasmControllerSpec{Image: s.registry.Push(wasmVersion('1'))})
	s.await(t, "other", 1, "Running", ready)
	since := wasmSince(h.host, s.ns+"/other")

	s.create(t, "complex", v1alpha1.WasmControllerSpec{Image: s.registry.Push(loopsModule(2001))})
	obj := s.await(t, "complex", 1, "Quarantined")
	const want = "function 0 has 2001 loops: at most 2000 are supported"
	for _, c := range obj.Status.Conditions {
		if c.Type == "Stalled" && (c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, want)) {
			t.Errorf("the condition is %+v, want the message %q", c, want)
		}
	}
	if kube.StatusCondition[v1alpha1.WasmController]("Stalled", metav1.ConditionTrue)(obj) != nil || ready(obj) == nil {
		t.Errorf("the conditions are %+v, want Stalled and not Ready", obj.Status.Conditions)
	}
	if !strings.Contains(obj.Status.LastError, want) || obj.Status.Digest != "" {
		t.Errorf("the status is %+v, want the error %q and no digest", obj.Status, want)
	}
	eventually(t, "the event", func(ctx context.Context) error {
		got, err := reasonsOf(ctx, s.client, s.ns, "complex")
		if err == nil && !slices.Contains(got, "Rejected") {
			err = fmt.Errorf("the events are %q", got)
		}
		return err
	})
	if err := wasmNames(h.host, s.ns+"/other"); err != nil {
		t.Error(err)
	}
	s.await(t, "other", 1, "Running", ready)
	if now := wasmSince(h.host, s.ns+"/other"); now != since {
		t.Errorf("the other module was restarted: it runs since %v, before %v", now, since)
	}

	generation := s.change(t, "complex", map[string]any{"image": s.registry.Push(wasmVersion('2'))})
	obj = s.await(t, "complex", generation, "Running", ready, digestOf(t, wasmVersion('2')))
	if obj.Status.LastError != "" {
		t.Errorf("the last error of the replaced module is %q", obj.Status.LastError)
	}
	for _, name := range []string{"complex", "other"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// greeterSpec returns the spec of a greeter in C, which writes a text about each source to an object of its own.
func (s *wasmSuite) greeterSpec(t *testing.T, name, account string) v1alpha1.WasmControllerSpec {
	t.Helper()
	return v1alpha1.WasmControllerSpec{
		Image: s.registry.Push(buildInC(t, "wasm/host/testdata/greeter.c")), Args: []string{name, s.ns, "hello"},
		ServiceAccountName: account,
	}
}

// TestDeletedWasmControllerStops deletes the objects of modules that run: one in an endless loop, whose call may take
// five minutes, and a reconciler, which no longer reconciles. Another reconciler continues.
func TestDeletedWasmControllerStops(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	shared := &crowd{client: s.client, host: h.host, ns: s.ns}
	shared.account(t, "greeter")
	for _, name := range []string{"deleted", "other"} {
		s.create(t, name, s.greeterSpec(t, name, "greeter"))
	}
	s.create(t, "loop", v1alpha1.WasmControllerSpec{
		Image: s.registry.Push(buildInGo(t, wasmGuest)), Args: []string{"loop"},
		Limits: v1alpha1.Limits{CallTimeout: &metav1.Duration{Duration: 5 * time.Minute}},
	})
	const source = "source"
	write := func(value string) {
		t.Helper()
		if err := shared.write(limit(t), s.ns, source, value); err != nil {
			t.Fatal(err)
		}
	}
	written := func(want map[string]string) {
		t.Helper()
		eventually(t, fmt.Sprintf("the objects are %v", want), func(ctx context.Context) error {
			got, err := shared.texts(ctx)
			for name, text := range want {
				if err == nil && got[name+"-"+source] != text {
					err = fmt.Errorf("module %s has written %q", name, got[name+"-"+source])
				}
			}
			return err
		})
	}
	write("1")
	written(map[string]string{"deleted": "hello 1", "other": "hello 1"})
	eventually(t, "the loop has begun", func(context.Context) error {
		if status := shared.status(s.ns + "/loop"); status.Stats.Starts == 0 && status.Phase != host.Starting {
			return fmt.Errorf("the state is %+v", status)
		}
		return nil
	})
	for _, name := range []string{"loop", "deleted"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := wasmNames(h.host, s.ns+"/other"); err != nil {
		t.Error(err)
	}
	for _, value := range []string{"2", "3"} { // a module that still runs would have reconciled the first of them
		write(value)
		written(map[string]string{"deleted": "hello 1", "other": "hello " + value})
	}
	if err := kube.DeleteAndWait(limit(t), s.objects, "other", nil); err != nil {
		t.Fatal(err)
	}
}

// TestLogsOfAFailingReconcilerAreLimited runs a reconciler that may not write, so that each of its runs fails, and
// checks that the limit of its log records includes those of the host about its runs. Those of another module are
// complete.
func TestLogsOfAFailingReconcilerAreLimited(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	shared := &crowd{client: s.client, host: h.host, ns: s.ns, log: h}
	shared.account(t, "greeter")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	if _, err := kube.Namespaced[corev1.ServiceAccount](s.client, s.ns).Create(limit(t), account, nil); err != nil {
		t.Fatal(err)
	}
	grant(t, s.client, s.ns, "system:serviceaccount:"+s.ns+":reader", "configmaps")
	sources := map[string]string{}
	for n := range 20 {
		sources[fmt.Sprint("source-", n)] = ""
	}
	shared.writeAll(t, sources, "1")
	began := time.Now()
	failing := s.greeterSpec(t, "failing", "reader")
	failing.Limits.LogsPerSecond = 1
	s.create(t, "failing", failing)
	s.create(t, "other", s.greeterSpec(t, "other", "greeter"))
	eventually(t, "many records are dropped", func(context.Context) error {
		if status := shared.status(s.ns + "/failing"); status.Stats.Dropped < 100 {
			return fmt.Errorf("the state is %+v", status)
		}
		return nil
	})
	records := shared.logged(s.ns+"/failing", "")
	const burst, ofHost = 10, 10 // the host also logs that the module starts
	if most := burst + ofHost + int(time.Since(began).Seconds()); len(records) > most {
		t.Errorf("the log has %d records of the module, want at most %d, such as\n%s",
			len(records), most, strings.Join(records[:most], "\n"))
	}
	eventually(t, "the other module has logged all runs", func(context.Context) error {
		var missing error
		for name := range sources {
			if len(shared.logged(s.ns+"/other", fmt.Sprintf("greets %s 1", name))) == 0 {
				missing = errors.Join(missing, fmt.Errorf("no record about %s", name))
			}
		}
		return missing
	})
	if status := shared.status(s.ns + "/other"); status.Stats.Dropped > 0 {
		t.Errorf("%d records of the other module are dropped", status.Stats.Dropped)
	}
	for _, name := range []string{"failing", "other"} {
		if err := kube.DeleteAndWait(limit(t), s.objects, name, nil); err != nil {
			t.Fatal(err)
		}
	}
}
