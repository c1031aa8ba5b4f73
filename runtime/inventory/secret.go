// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
)

const hidden = "(hidden)"

// lastApplied is the annotation in which kubectl stores the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func isSecret(kind schema.GroupKind) bool { return kind == schema.GroupKind{Kind: "Secret"} }

// withoutSecrets returns a copy of a Secret, or of a patch of one, without values. It keeps a null.
func withoutSecrets(secret map[string]any) map[string]any {
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		if values, ok := secret[field].(map[string]any); ok {
			values = maps.Clone(values)
			for name := range values {
				if values[name] != nil {
					values[name] = hidden
				}
			}
			secret[field] = values
		}
	}
	metadata, _ := secret["metadata"].(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		annotations[lastApplied] = hidden
		metadata["annotations"], secret["metadata"] = annotations, metadata
	}
	return secret
}

// mergeStringData moves the stringData of a Secret into its data, as a server does. A server never returns stringData,
// so a live object can only be compared with data. Invalid fields stay, so that the server rejects them.
func mergeStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	old, valid := secret["data"].(map[string]any)
	if !ok || !valid && secret["data"] != nil {
		return
	}
	data := make(map[string]any, len(old)+len(text))
	maps.Copy(data, old)
	for name, value := range text {
		s, ok := value.(string)
		if !ok {
			return
		}
		data[name] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	delete(secret, "stringData")
	secret["data"] = data
}

// secretError is an error without the values of a Secret. The errors that it wraps have none either.
type secretError struct {
	text string
	err  error
}

func (e *secretError) Error() string { return e.text }
func (e *secretError) Unwrap() error { return e.err }

// minSecret is the length of the shortest value that is removed from an error. A shorter one may be a part of any word.
const minSecret = 4

// hideSecrets removes what may be a value of a Secret from an error, and from the server's response in it. The server's
// responses to a conflict and to a missing permission have none, except for what a webhook adds. All other responses
// may quote values.
func hideSecrets(content map[string]any, err error) error {
	status, refused := errors.AsType[*core.StatusError](err)
	op, isOp := errors.AsType[*client.OpError](err)
	text := withoutValues(content, err.Error())
	if !refused || !isOp {
		if text == err.Error() {
			return err
		}
		return &secretError{text, err}
	}
	quotes := !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrForbidden) && !isNotFound(err)
	changed := quotes
	hide := func(message string) string {
		clean := hidden
		if !quotes || message == "" {
			clean = withoutValues(content, message)
		}
		changed = changed || clean != message
		return clean
	}
	clean := new(*status)
	clean.Status = *status.Status.DeepCopy()
	clean.Status.Message = hide(status.Status.Message)
	if hide(string(status.Body)) != string(status.Body) {
		clean.Body = nil
	}
	causes := clean.Causes()
	for i := range causes {
		causes[i].Message = hide(causes[i].Message)
	}
	if !changed {
		return err
	}
	if quotes {
		text = fmt.Sprintf("%s %s %v: %s", op.Verb, op.Resource, op.Ref, status.Status.Reason)
		for _, cause := range causes {
			text += ": " + cause.Field
		}
		text = withoutValues(content, text+": the server's message is hidden, since it may have values of the Secret")
	}
	return &secretError{text, &client.OpError{Verb: op.Verb, Resource: op.Resource, Ref: op.Ref, Err: clean}}
}

// withoutValues replaces the values of a Secret in a text.
func withoutValues(content map[string]any, text string) string {
	var all []string
	for _, field := range []string{"data", "stringData"} {
		values, _ := content[field].(map[string]any)
		for _, value := range values {
			s, _ := value.(string)
			decoded, err := base64.StdEncoding.DecodeString(s)
			if field == "stringData" || err != nil {
				decoded = []byte(s)
			}
			quoted := strconv.Quote(string(decoded))
			for _, form := range []string{
				string(decoded), quoted[1 : len(quoted)-1], base64.StdEncoding.EncodeToString(decoded),
			} {
				if len(form) >= minSecret {
					all = append(all, form)
				}
			}
		}
	}
	// The longest first: a value may be a part of another one.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, form := range all {
		pairs = append(pairs, form, hidden)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
