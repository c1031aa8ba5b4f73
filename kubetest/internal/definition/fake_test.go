// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/definition"
)

// fake is a server of definitions and their objects without features that this package does not have.
type fake struct {
	tb      testing.TB
	crds    []*unstructured.Unstructured
	objects map[string]*unstructured.Unstructured // by plural and name, in the storage version
	version int
}

func newFake(tb testing.TB) *fake {
	tb.Helper()
	return &fake{tb: tb, objects: map[string]*unstructured.Unstructured{}}
}

func (f *fake) do(s step) response {
	serve := f.definition
	if s.Plural != "" {
		serve = f.object
	}
	obj, warnings, err := serve(s)
	if err != nil {
		status, ok := errors.AsType[*core.StatusError](err)
		if !ok {
			f.tb.Fatalf("%s %s: %v is not a StatusError", s.Verb, s.Name, err)
		}
		body, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&status.Status)
		body["kind"], body["apiVersion"] = "Status", "v1"
		return response{int(status.Status.Code), warnings, body}
	}
	code := http.StatusOK
	if s.Verb == "create" {
		code = http.StatusCreated
	}
	return response{code, warnings, obj.DeepCopy().Object}
}

// input returns the body of a request with the metadata that a server sets.
func (f *fake) input(s step, old *unstructured.Unstructured) *unstructured.Unstructured {
	obj := (&unstructured.Unstructured{Object: s.Body}).DeepCopy()
	f.numbers(obj)
	if _, ok := obj.Object["metadata"].(map[string]any); !ok {
		return obj
	}
	f.version++
	obj.SetResourceVersion(strconv.Itoa(f.version))
	if s.Unconditional {
		obj.SetResourceVersion("")
	}
	obj.SetCreationTimestamp(metav1.Now())
	if old != nil {
		obj.SetUID(old.GetUID())
		obj.SetCreationTimestamp(old.GetCreationTimestamp())
	}
	return obj
}

// numbers converts the numbers that a YAML decoder returns to those of unstructured objects.
func (f *fake) numbers(obj *unstructured.Unstructured) {
	body := encode(f.tb, obj.Object)
	if err := obj.UnmarshalJSON(body); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *fake) find(name string) (int, *unstructured.Unstructured) {
	i := slices.IndexFunc(f.crds, func(u *unstructured.Unstructured) bool { return u.GetName() == name })
	if i < 0 {
		return i, nil
	}
	return i, f.crds[i]
}

func (f *fake) definition(s step) (*unstructured.Unstructured, []string, error) {
	i, old := f.find(s.Name)
	switch s.Verb {
	case "get":
		return old, nil, nil
	case "delete":
		f.crds = slices.Delete(f.crds, i, i+1)
		for i, crd := range f.crds {
			next, err := definition.Accept(crd, f.crds)
			if err != nil {
				return nil, nil, err
			}
			f.crds[i] = next
		}
		return &unstructured.Unstructured{}, nil, nil
	case "create":
		crd, err := definition.Admit(f.input(s, nil), nil, f.crds)
		if err == nil {
			f.crds = append(f.crds, crd)
		}
		return crd, nil, err
	}
	admit := definition.Admit
	if s.Verb == "updateStatus" {
		admit = definition.AdmitStatus
	}
	crd, err := admit(f.input(s, old), old, f.crds)
	if err == nil {
		f.crds[i] = crd
	}
	return crd, nil, err
}

func (f *fake) object(s step) (*unstructured.Unstructured, []string, error) {
	_, crd := f.find(s.Plural + "." + group)
	def, err := definition.New(crd, nil)
	if err != nil {
		f.tb.Fatal(err)
	}
	versions := def.Versions()
	i := slices.IndexFunc(versions, func(v *definition.Version) bool { return v.Resource.Version == s.Version })
	if i < 0 {
		return nil, nil, &core.StatusError{Status: apierrors.NewNotFound(schema.GroupResource{}, "").ErrStatus}
	}
	v, key := versions[i], s.Plural+"/"+s.Name
	var warnings []string
	if v.Deprecation != "" {
		warnings = append(warnings, v.Deprecation)
	}
	if s.Verb == "get" {
		obj, err := v.Convert(f.objects[key])
		return obj, warnings, err
	}
	obj, more, err := f.write(v, key, s)
	warnings = append(warnings, more...)
	if err != nil {
		return nil, warnings, err
	}
	stored, err := def.Storage().Convert(obj)
	if err != nil {
		return nil, warnings, err
	}
	f.objects[s.Plural+"/"+obj.GetName()] = stored
	out, err := v.Convert(stored)
	return out, warnings, err
}

func (f *fake) write(v *definition.Version, key string, s step) (*unstructured.Unstructured, []string, error) {
	obj := f.input(s, nil)
	unknown, err := v.Decode(obj)
	if err == nil && s.FieldValidation == "Strict" && len(unknown) > 0 {
		err = fmt.Errorf("strict decoding error: %s", strings.Join(unknown, ", "))
	}
	if err != nil {
		text := fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", obj.GetKind(), s.Version, obj.GetKind(), err)
		return nil, nil, &core.StatusError{Status: apierrors.NewBadRequest(text).ErrStatus}
	}
	if s.FieldValidation == "Ignore" {
		unknown = nil
	}
	obj.SetNamespace("default")
	var more []string
	if s.Verb == "create" {
		more, err = v.Create(obj)
	} else {
		var old *unstructured.Unstructured
		if old, err = v.Convert(f.objects[key]); err != nil {
			return nil, nil, err
		}
		if !s.Unconditional {
			obj.SetResourceVersion(old.GetResourceVersion())
		}
		more, err = v.Update(obj, old, map[string]string{"updateStatus": "status"}[s.Verb])
	}
	return obj, append(unknown, more...), err
}
