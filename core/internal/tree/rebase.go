// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package tree

// Rebase applies the changes between from and to to the value onto. Values of onto that are also in from change as in
// to; values that only onto has are kept. The result may share memory with onto and to.
func Rebase(onto, from, to any) any {
	if Equal(from, to) {
		return onto
	}
	switch to := to.(type) {
	case map[string]any:
		onto, isObject := onto.(map[string]any)
		from, wasObject := from.(map[string]any)
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

func rebaseObject(onto, from, to map[string]any) map[string]any {
	result := make(map[string]any, len(onto))
	for name, value := range onto {
		_, was := from[name]
		if _, is := to[name]; is || !was {
			result[name] = value
		}
	}
	for name, value := range to {
		old, was := from[name]
		beneath, there := onto[name]
		switch {
		case was && there:
			result[name] = Rebase(beneath, old, value)
		case !was || !Equal(old, value): // otherwise the encoding has added it
			result[name] = value
		}
	}
	return result
}

func rebaseList(onto, from, to []any) []any {
	result := make([]any, 0, len(to))
	for _, step := range Align(from, to) {
		switch {
		case step.To < 0:
		case step.Kin:
			result = append(result, Rebase(onto[step.From], from[step.From], to[step.To]))
		default:
			result = append(result, to[step.To])
		}
	}
	return result
}
