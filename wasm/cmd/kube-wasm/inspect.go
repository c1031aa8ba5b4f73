// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/internal/binary"
	"github.com/kube-go/sdk/wasm/registry"
)

// The limits of a module that describes itself.
const (
	describeTime  = 30 * time.Second
	describePages = 256 << 20 / 65536
	maxText       = 256 // bytes of a name or a version
)

// inspection is what is known of a module.
type inspection struct {
	module           *registry.Module
	refused          error // why hosts refuse it; nil if they don't
	imports, exports []string
	description      *abi.Description // nil if it can't be read
	problem          error            // why it can't be read
}

// inspectFile prints what is known of a module.
func inspectFile(ctx context.Context, args []string, stdout io.Writer) error {
	file, err := oneFile(flag.NewFlagSet("inspect", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	i, err := inspect(ctx, file)
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, i.String())
	return err
}

// inspect reads a module and lets it describe itself.
func inspect(ctx context.Context, file string) (*inspection, error) {
	m, err := registry.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if _, err := binary.Read(m.Binary); err != nil { // wazero reserves memory for what a damaged module claims to have
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, describeTime,
		fmt.Errorf("the module did not describe itself within %v", describeTime))
	defer cancel()
	// The interpreter starts faster than the compiler.
	config := wazero.NewRuntimeConfigInterpreter().WithCloseOnContextDone(true).WithMemoryLimitPages(describePages)
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer func() { _ = r.Close(context.WithoutCancel(ctx)) }()
	compiled, err := r.CompileModule(ctx, m.Binary)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	i := &inspection{module: m, refused: host.CheckModule(m.Binary)}
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		i.imports = append(i.imports, clean(module)+" "+clean(name))
	}
	for name := range compiled.ExportedFunctions() {
		i.exports = append(i.exports, clean(name))
	}
	slices.Sort(i.imports)
	i.imports = slices.Compact(i.imports)
	slices.Sort(i.exports)
	i.description, i.problem = describe(ctx, r, compiled)
	return i, nil
}

// describe calls kube_describe. The module can do nothing else: each function of the host fails.
func describe(ctx context.Context, r wazero.Runtime, compiled wazero.CompiledModule) (*abi.Description, error) {
	if compiled.ExportedFunctions()[abi.Describe] == nil {
		return nil, fmt.Errorf("it does not export %s", abi.Describe)
	}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, err
	}
	b := r.NewHostModuleBuilder(abi.Module)
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == abi.Module {
			refuses := api.GoModuleFunc(refuse(f.ResultTypes()))
			b.NewFunctionBuilder().WithGoModuleFunction(refuses, f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return nil, err
	}
	mod, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithArgs("inspect").WithSysWalltime().WithSysNanotime().WithNanosleep(func(ns int64) { sleep(ctx, ns) }))
	if err != nil {
		return nil, firstLine(err)
	}
	results, err := mod.ExportedFunction(abi.Describe).Call(ctx)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), firstLine(err))
	}
	if len(results) != 1 || mod.Memory() == nil {
		return nil, fmt.Errorf("%s does not return a message", abi.Describe)
	}
	ptr, size := uint32(results[0]>>32), uint32(results[0])
	data, ok := mod.Memory().Read(ptr, size)
	if !ok || size > abi.MaxMessage {
		return nil, fmt.Errorf("%s: the message is not within the memory of the module, or too long", abi.Describe)
	}
	d := new(abi.Description)
	if err := wire.UnmarshalJSON(data, d); err != nil {
		return nil, fmt.Errorf("%s: %w", abi.Describe, err)
	}
	return d, nil
}

// sleep waits for a number of nanoseconds, or until ctx ends.
func sleep(ctx context.Context, ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// refuse returns a function of the host that fails.
func refuse(results []api.ValueType) func(context.Context, api.Module, []uint64) {
	return func(_ context.Context, _ api.Module, stack []uint64) {
		if len(results) > 0 {
			code := int64(abi.UnknownOperation)
			stack[0] = uint64(code)
		}
	}
}

// firstLine returns an error without the stack of a module.
func firstLine(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line)
}

// String returns the inspection for people.
func (i *inspection) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s"+format+"\n", append([]any{name}, args...)...)
	}
	line("digest", "%s", i.module.Digest)
	line("size", "%d bytes", len(i.module.Binary))
	if i.refused != nil {
		line("refused", "hosts refuse the module: %s", clean(i.refused.Error()))
	}
	if d := i.description; d != nil {
		line("name", "%s", clean(d.Name))
		line("version", "%s", clean(d.Version))
		line("interface", "%s", clean(d.ABI))
		line("profile", "%s", clean(d.Profile))
		for _, f := range d.Features {
			line("feature", "%s", clean(f))
		}
		for _, r := range d.Rules {
			line("rule", "%s", clean(fmt.Sprintf("%q of %q in %q", r.Verbs, r.Resources, r.APIGroups)))
		}
		for _, c := range d.Controllers {
			line("controller", "%s for %s", clean(c.Name), clean(c.For.Kind))
		}
	} else {
		line("description", "none: %s", clean(i.problem.Error()))
	}
	for _, name := range i.imports {
		line("import", "%s", name)
	}
	for _, name := range i.exports {
		line("export", "%s", name)
	}
	return b.String()
}

// clean returns the beginning of a text of a module for a terminal.
func clean(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return printable(text)
}

// printable returns a text of a module on one line, without what a terminal would do in place of printing it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
