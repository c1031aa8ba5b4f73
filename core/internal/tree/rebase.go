// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tree

// Rebase applies the changes between from and to to the value onto, which from was decoded from. Values of onto that
// are also in from change as in to; values that only onto has are kept. The result may share memory with onto and to.
//
// Values that only onto has are deleted with the object or the element of a list that has them. An element of to keeps
// those of the element that it was made of, see [Origins].
func Rebase(onto, from, to any) any {
	if Equal(from, to) {
		return onto
	}
	switch to := to.(type) {
	case map[string]any:
		onto, isObject := objectOrNil(onto)
		from, wasObject := objectOrNil(from)
		if isObject && wasObject {
			return rebaseObject(onto, from, to)
		}
	case []any:
		onto, isList := onto.([]any)
		from, wasList := from.([]any)
		if isList && wasList && len(onto) == len(from) {
			return rebaseList(onto, from, to)
		}
	}
	return to
}

// objectOrNil returns an object. A null or missing one is empty: an encoding may omit an object in which it knows no
// field.
func objectOrNil(v any) (object map[string]any, ok bool) {
	object, ok = v.(map[string]any)
	return object, ok || v == nil
}

func rebaseObject(onto, from, to map[string]any) map[string]any {
	result := make(map[string]any, len(onto))
	for name, value := range onto {
		_, was := from[name]
		if _, is := to[name]; is || !was {
			result[name] = value
		}
	}
	for name, value := range to {
		if old, was := from[name]; !was || !Equal(old, value) { // an equal one that onto lacks was added by the encoding
			result[name] = Rebase(onto[name], old, value)
		}
	}
	return result
}

// rebaseList expects that the elements of from were decoded from those of onto with the same indexes. Where a name
// shows that they were not, such as in a list that a type sorts, the element is that of to.
func rebaseList(onto, from, to []any) []any {
	result := make([]any, len(to))
	for j, i := range Origins(from, to) {
		if result[j] = to[j]; i >= 0 && isContainer(to[j]) && mayBeOf(onto[i], from[i]) {
			result[j] = Rebase(onto[i], from[i], to[j])
		}
	}
	return result
}

// mayBeOf reports whether an element can have been decoded from another one. It need not declare the name.
func mayBeOf(onto, from any) bool {
	key, name := identity(from)
	object, _ := onto.(map[string]any)
	return name == "" || object[key] == name
}

// isContainer reports whether a value can have undeclared ones.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
