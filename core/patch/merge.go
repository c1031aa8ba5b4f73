// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"errors"
	"fmt"

	"github.com/kube-go/sdk/core/internal/tree"
)

// Options are the options of a diff.
type Options struct {
	// Lock makes the server refuse the patch with core.ErrConflict if the object no longer has the resource version of
	// the diff's from. For a JSON patch, the error is core.ErrInvalid if a path of an operation does not exist any
	// more. An empty diff stays empty, and a resource version that to lacks is not a difference. Default: the patch
	// applies to any version.
	Lock bool

	// Raw is the JSON that from was decoded from. The patch then makes the changes between from and to in Raw, so that
	// fields that the type of from does not declare are kept, also in lists, which a merge patch replaces; see
	// the documentation of the package. Default: from.
	Raw []byte
}

// DiffMerge returns the JSON merge patch, RFC 7396, that turns from into to: the body for request.MergePatch. It is
// empty if they are equal. A null counts as absent, since a merge patch can't set a null.
func DiffMerge(from, to any, o *Options) (map[string]any, error) {
	a, b, err := mergeable(from, to, o)
	if err != nil {
		return nil, err
	}
	diff := diffObjects(a, b)
	if o == nil || !o.Lock || len(diff) == 0 {
		return diff, nil
	}
	version, err := lockedVersion(a, b)
	if err != nil {
		return nil, err
	}
	keepVersion(b, version)
	if diff = diffObjects(a, b); len(diff) == 0 {
		return diff, nil
	}
	metadata, _ := diff["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		diff["metadata"] = metadata
	}
	metadata["resourceVersion"] = version
	return diff, nil
}

func diffObjects(from, to map[string]any) map[string]any {
	diff := map[string]any{}
	for name, old := range from {
		if old != nil && to[name] == nil {
			diff[name] = nil
		}
	}
	for name, value := range to {
		old := from[name]
		object, isObject := value.(map[string]any)
		oldObject, wasObject := old.(map[string]any)
		switch {
		case value == nil:
		case isObject:
			// A value that was not an object is replaced as a whole.
			if inner := diffObjects(oldObject, object); len(inner) > 0 || !wasObject {
				diff[name] = inner
			}
		case !tree.Equal(old, value):
			diff[name] = value
		}
	}
	return diff
}

// values returns the JSON values before and after the patch.
func values(from, to any, o *Options) (a, b any, err error) {
	if a, err = tree.Of(from); err != nil {
		return nil, nil, fmt.Errorf("from: %w", err)
	}
	if b, err = tree.Of(to); err != nil {
		return nil, nil, fmt.Errorf("to: %w", err)
	}
	if o == nil || o.Raw == nil {
		return a, b, nil
	}
	raw, err := tree.Of(o.Raw)
	if err != nil {
		return nil, nil, fmt.Errorf("raw: %w", err)
	}
	return raw, tree.Rebase(raw, a, b), nil
}

// mergeable returns the values before and after a merge patch, which are JSON objects.
func mergeable(from, to any, o *Options) (a, b map[string]any, err error) {
	before, after, err := values(from, to, o)
	if err != nil {
		return nil, nil, err
	}
	var ok bool
	if a, ok = before.(map[string]any); !ok {
		return nil, nil, errors.New("from: must be a JSON object")
	}
	if b, ok = after.(map[string]any); !ok {
		return nil, nil, errors.New("to: must be a JSON object")
	}
	return a, b, nil
}

// lockedVersion returns the resource version that the object must have for the patch.
func lockedVersion(from, to any) (string, error) {
	was, is := resourceVersion(from), resourceVersion(to)
	switch {
	case was == "":
		return "", errors.New("lock: from has no metadata.resourceVersion; use an object that the server returned")
	case is != "" && is != was:
		return "", fmt.Errorf(
			"lock: from has metadata.resourceVersion %q and to has %q; change a copy of one object",
			was,
			is,
		)
	}
	return was, nil
}

func resourceVersion(v any) string {
	object, _ := v.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	return version
}
