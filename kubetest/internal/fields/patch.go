// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kube-go/sdk/core"
)

// maxOperations is how many operations a JSON patch may have.
const maxOperations = 10000

// Patched is the result of a patch.
type Patched struct {
	Object map[string]any

	// Problems is what the validation of fields reports about the patch, such as duplicate fields. It is empty if field
	// validation is Ignore. It does not have the unknown fields of the object.
	Problems []string

	text string // how the server quotes it in errors
}

// Invalid returns the error of a patch whose result the server can't decode, for the given reason.
func (p *Patched) Invalid(reason string) error {
	return invalidPatch(p.text, reason)
}

// InvalidFields returns the error of a patch for strict field validation, with the problems of the patch and those of
// the patched object.
func (p *Patched) InvalidFields(problems []string) error {
	var errs []error
	for _, list := range [][]string{p.Problems, problems} {
		for _, problem := range list {
			errs = append(errs, errors.New(problem))
		}
	}
	return invalidPatch(p.text, runtime.NewStrictDecodingError(errs).Error())
}

func invalidPatch(text, reason string) error {
	return statusError(apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), text, reason),
	}))
}

// CheckType returns an error if objects of the kind have no patches of a content type. The server checks this first.
func (m *Manager) CheckType(contentType string) error {
	status := metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
	}
	switch types.PatchType(contentType) {
	case types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType:
		return nil
	case types.StrategicMergePatchType:
		if m.custom == nil {
			return nil
		}
	}
	if m.custom == nil {
		status.Message, status.Details = "415: Unsupported Media Type", &metav1.StatusDetails{}
	} else {
		status.Message = "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join([]string{
				string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType),
			}, ", ")
	}
	return &core.StatusError{Status: status}
}

// Patch returns live with the changes of a JSON patch, merge patch or strategic merge patch. FieldValidation is that of
// the request. The error is a *core.StatusError.
func (m *Manager) Patch(live map[string]any, patchType string, patch []byte, fieldValidation string) (*Patched, error) {
	if err := m.CheckType(patchType); err != nil {
		return nil, err
	}
	live = m.normalize(&unstructured.Unstructured{Object: live}).Object
	validate := fieldValidation != metav1.FieldValidationIgnore
	if types.PatchType(patchType) == types.StrategicMergePatchType {
		return m.mergeStrategically(live, patch, validate)
	}
	document, err := json.Marshal(live)
	if err != nil {
		return nil, statusError(err)
	}
	apply := mergePatch
	if types.PatchType(patchType) == types.JSONPatchType {
		apply = jsonPatch
	}
	document, problems, err := apply(document, patch, validate)
	if err != nil {
		return nil, err
	}
	patched := &Patched{Problems: problems, text: string(document)}
	if err := m.decode(document, patched); err != nil {
		return nil, err
	}
	return patched, nil
}

// decode decodes a patched object, which may not have the kind of the manager any more.
func (m *Manager) decode(document []byte, patched *Patched) error {
	var typeMeta struct { // the server's errors have this type
		APIVersion string `json:"apiVersion,omitempty"`
		Kind       string `json:"kind,omitempty"`
	}
	if err := json.Unmarshal(document, &typeMeta); err != nil {
		return patched.Invalid("couldn't get version/kind; json parse error: " + err.Error())
	}
	if err := json.Unmarshal(document, &patched.Object); err != nil {
		return patched.Invalid(err.Error())
	}
	apiVersion, kind := m.kind.ToAPIVersionAndKind()
	switch {
	case m.custom != nil && typeMeta.Kind == "":
		return statusError(apierrors.NewInternalError(runtime.NewMissingKindErr("object has no kind field ")))
	case m.custom != nil && typeMeta.APIVersion == "":
		return statusError(apierrors.NewInternalError(runtime.NewMissingVersionErr("object has no apiVersion field")))
	case m.custom != nil:
		return nil // validation refuses another kind
	}
	typeMeta.APIVersion = cmp.Or(typeMeta.APIVersion, apiVersion)
	typeMeta.Kind = cmp.Or(typeMeta.Kind, kind)
	if typeMeta.APIVersion != apiVersion || typeMeta.Kind != kind {
		return patched.Invalid(fmt.Sprintf("no kind %q is registered for version %q in scheme \"pkg/runtime/scheme.go:111\"",
			typeMeta.Kind, typeMeta.APIVersion))
	}
	patched.Object["apiVersion"], patched.Object["kind"] = apiVersion, kind
	return nil
}

func mergePatch(document, patch []byte, validate bool) ([]byte, []string, error) {
	var problems []string
	if validate {
		var err error
		if problems, err = decodeStrictly(patch, &map[string]any{}); err != nil {
			return nil, nil, badRequest("error decoding patch: " + err.Error())
		}
	}
	patched, err := jsonpatch.MergePatch(document, patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, badRequest(err.Error())
	}
	if err != nil {
		return nil, nil, statusError(err)
	}
	return patched, problems, nil
}

// jsonPatchOp has the members of an operation of a JSON patch. Errors of the server have this name.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func jsonPatch(document, patch []byte, validate bool) ([]byte, []string, error) {
	var problems []string
	if validate {
		var err error
		if problems, err = decodeStrictly(patch, &[]jsonPatchOp{}); err != nil {
			message := strings.Replace(err.Error(), "fields.jsonPatchOp", "handlers.jsonPatchOp", 1)
			return nil, nil, badRequest("error decoding patch: " + message)
		}
		for i := range problems {
			problems[i] = "json patch " + problems[i]
		}
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, nil, badRequest(err.Error())
	}
	if len(operations) > maxOperations {
		return nil, nil, statusError(apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(operations))))
	}
	patched, err := operations.Apply(document)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return patched, problems, nil
}

func (m *Manager) mergeStrategically(live map[string]any, patch []byte, validate bool) (*Patched, error) {
	patched, changes := &Patched{}, map[string]any{}
	var err error
	if validate {
		patched.Problems, err = decodeStrictly(patch, &changes)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(patch, &changes)
	}
	if err != nil {
		return nil, badRequest(err.Error())
	}
	patched.Object, err = strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(live, changes,
		strategicpatch.PatchMetaFromOpenAPIV3{Schema: m.model, SchemaList: m.schemas})
	switch {
	case err == nil:
		patched.text = fmt.Sprintf("%+v", changes)
		patched.Object["apiVersion"], patched.Object["kind"] = m.kind.ToAPIVersionAndKind()
		return patched, nil
	case isAny(err, mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList,
		mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return nil, badRequest(err.Error())
	case isAny(err, mergepatch.ErrNoListOfLists, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return nil, unprocessable(err)
	default:
		return nil, statusError(err)
	}
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func unprocessable(err error) error {
	return statusError(apierrors.NewGenericServerResponse(
		http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false))
}

// decodeStrictly decodes JSON into a value, and returns the problems that strict validation reports.
func decodeStrictly(data []byte, into any) ([]string, error) {
	errs, err := kjson.UnmarshalStrict(data, into)
	var problems []string
	for _, err := range errs {
		problems = append(problems, err.Error())
	}
	return problems, err
}
