// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance tests that an API server behaves as users of kubetest may expect. The same tests pass with the
// server of kubetest and with a real one.
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, c) // c is a *client.Client with all permissions
//	}
//
// # Scripts
//
// Most cases are scripts: requests, each with the response that a real server of Kubernetes 1.37 sent. A script is a
// file below the folder scripts. The line "== claim" begins a case, and steps are separated by empty lines:
//
//	== A create with a name that exists is a conflict
//
//	POST configmaps
//	metadata: {name: a}
//	-> 201
//	metadata.name: a
//	…
//
// The first line of a step is a verb with a path. The verbs are the methods of HTTP; APPLY, MERGE, STRATEGIC and
// JSONPATCH, which are the types of PATCH; and these:
//
//	WATCH w secrets?watch=1    begins a watch with the name w
//	EVENTS w 3                 waits for the next three events of the watch w
//	END w                      waits until the server ends the watch w
//
// A path without a leading slash is in the namespace of the case: "configmaps/a", or "apps/v1:deployments/a" for a kind
// in a group. The values of a query are not escaped.
//
// Lines that begin with @ are options of the step:
//
//	@show metadata.name spec   show only these fields, also of the items of a list and of events
//	@brief                     show only the code and the reason of an error
//	@ignore                    accept any response
//	@until text                repeat the request until the response contains the text
//	@accept media/type         the header Accept; default: application/json
//	@type media/type           the header Content-Type; default: that of the verb
//	@as name                   impersonate a user
//	@group name                impersonate a group, too
//
// The rest is the body, in YAML. A body that begins with a brace is sent unchanged. The response follows the line
// "-> ": its code, its reason if it is an error, and one line for each field. Managed fields are shown only if @show
// names metadata.managedFields. The causes of an error are sorted, and each is shown once; a list of them in the
// message is shown as <causes>.
//
// # Names
//
// The values that differ between runs have names in requests and responses: $ns is the namespace of the case, and
// $group is the API group of the script. Resource versions are $rv1, $rv2 and so on, in the order in which the case
// shows them, and likewise UIDs ($uid1), generated names ($name1), the versions of lists ($list1) and continue tokens
// ($continue1). Two equal names are equal values: if an update is shown with $rv1 as well, it changed nothing. Times
// that are close to the current one are shown as <time>.
//
// # Recording
//
// The following command replaces the responses in all scripts by those of a server. Review the differences:
//
//	KUBECONFIG=… go test ./kubetest/conformance -run TestScripts -record
package conformance
