// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
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

// secretError is an error without the values of a Secret.
type secretError struct {
	text string
	err  error
}

func (e *secretError) Error() string { return e.text }
func (e *secretError) Unwrap() error { return e.err }

// minSecret is the length of the shortest value that is removed from an error. A shorter one may be a part of any word.
const minSecret = 4

// hideSecrets removes what may be a value of a Secret from the text of an error. The server's responses to a conflict and
// to a missing permission have none, except for what a webhook adds. All other responses may quote values.
func hideSecrets(content map[string]any, err error) error {
	text := err.Error()
	status, refused := errors.AsType[*core.StatusError](err)
	op, isOp := errors.AsType[*client.OpError](err)
	if refused && isOp && !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrForbidden) && !isNotFound(err) {
		text = fmt.Sprintf("%s %s %v: %s", op.Verb, op.Resource, op.Ref, status.Status.Reason)
		for _, cause := range status.Causes() {
			text += ": " + cause.Field
		}
		text += ": the server's message is hidden, since it may have values of the Secret"
	}
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
					text = strings.ReplaceAll(text, form, hidden)
				}
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return &secretError{text, err}
}
