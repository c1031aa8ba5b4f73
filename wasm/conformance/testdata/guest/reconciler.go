// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1 && reconciler

package main

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core/abi"
)

const description = `{"abi":"kube_v1","profile":"reconciler","name":"conformance","version":"1","unknown":{},` +
	`"controllers":[{"name":"tasks","for":{"group":"conformance.test","version":"v1","kind":"Task",` +
	`"resource":"tasks","namespaced":true},"owns":[{"group":"conformance.test","version":"v1","kind":"Note",` +
	`"resource":"notes","namespaced":true}]}]}`

// task is an object whose list spec.do has commands.
type task struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct{ Do []string }
}

func decode[T any](data []byte) T {
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		report("! %v", err)
	}
	return value
}

//go:wasmexport kube_reconcile
func reconcileExport(ptr, n uint32) int64 {
	enter("kube_reconcile")
	defer leave()
	request := decode[abi.ReconcileRequest](take(ptr, n))
	self = request.Namespace + "/" + request.Name
	present := "absent"
	var t task
	if request.Object != nil {
		present, t = "present", decode[task](request.Object)
	}
	for _, object := range request.Owned {
		o := decode[task](object)
		report("o %s %s", o.Kind, o.Metadata.Name)
	}
	report("r %s %s %d", request.Controller, present, len(request.Owned))
	return packed(script(t.Spec.Do))
}

func script(commands []string) []byte {
	var response abi.ReconcileResponse
	garbage := ""
	for _, command := range commands {
		w := &words{command}
		name := w.next()
		switch name {
		case "apply":
			response.Apply = append(response.Apply, jsontext.Value(w.rest))
		case "delete":
			response.Delete = append(response.Delete, decode[abi.Reference]([]byte(w.rest)))
		case "event":
			response.Events = append(response.Events, decode[abi.Event]([]byte(w.rest)))
		case "status":
			response.Status = jsontext.Value(w.rest)
		case "requeue":
			response.Requeue = w.number()
		case "error":
			response.Error = w.rest
		case "garbage":
			garbage = "]]"
		default:
			if !common("0", name, w) {
				report("? %s", name)
			}
		}
	}
	data, err := json.Marshal(response)
	if err != nil {
		report("! %v", err)
	}
	return fmt.Appendf(nil, "%s%s", garbage, data)
}

// deadlock waits for nothing. No other goroutine runs.
func deadlock() { select {} }

//go:wasmexport kube_alloc
func allocExport(size uint32) uint32 {
	enter("kube_alloc")
	defer leave()
	return alloc(size)
}
