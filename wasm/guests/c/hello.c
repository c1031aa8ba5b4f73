// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// hello is a reconciler that greets each ConfigMap with the label hello=please: it sets data.greeting.

#define KUBE_RECONCILER
#include "kube.h"

const char kube_description[] =
	"{\"abi\":\"kube_v1\",\"profile\":\"reconciler\",\"name\":\"hello\",\"version\":\"1\","
	"\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"list\",\"watch\",\"patch\"]}],"
	"\"controllers\":[{\"name\":\"hello\",\"for\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"ConfigMap\","
	"\"resource\":\"configmaps\",\"namespaced\":true,\"labelSelector\":\"hello=please\"}}]}";

void reconcile(kube_text request, kube_buffer *response) {
	kube_text object = kube_member(request, "object");
	if (!object.data) return;
	kube_text name = KUBE_STRING(request, "name");

	kube_buffer greeting = {0};
	kube_printf(&greeting, "Hello, %s!", name.data);
	kube_text want = {greeting.data, greeting.len};
	if (!kube_is(KUBE_STRING(object, "data", "greeting"), want.data)) {
		kube_printf(response, "{\"apply\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":");
		kube_quote(response, KUBE_STRING(request, "namespace"));
		kube_printf(response, ",\"name\":");
		kube_quote(response, name);
		kube_printf(response, "},\"data\":{\"greeting\":");
		kube_quote(response, want);
		kube_printf(response, "}}]}");
		kube_say("greeted %s", name.data);
	}
	free(greeting.data);
}
