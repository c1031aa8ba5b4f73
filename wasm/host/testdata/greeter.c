// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// The program of greeter/main.go as a reconciler in C, with the arguments OUTPUT NAMESPACE TEXT.

#include "kube.h"

#include <wasi/api.h>

static char *arg(size_t n) {
	static char **all;
	__wasi_size_t count = 0, size = 0;
	if (!all && !__wasi_args_sizes_get(&count, &size)) {
		all = calloc(count + 1, sizeof *all);
		if (__wasi_args_get((uint8_t **)all, malloc(size))) abort();
	}
	return all[n];
}

KUBE_EXPORT(kube_alloc) void *kube_alloc(uint32_t size) { return malloc(size ? size : 1); }

KUBE_EXPORT(kube_describe) int64_t kube_describe(void) {
	static char text[1024];
	int n = snprintf(text, sizeof text,
		"{\"abi\":\"kube_v1\",\"profile\":\"reconciler\",\"controllers\":[{\"name\":\"greeter\",\"for\":{\"group\":\"\","
		"\"version\":\"v1\",\"kind\":\"ConfigMap\",\"resource\":\"configmaps\",\"namespaced\":true,\"namespace\":\"%s\","
		"\"labelSelector\":\"greet=please\"}}]}", arg(2));
	return kube_packed(text, (size_t)n);
}

KUBE_EXPORT(kube_reconcile) int64_t kube_reconcile(char *message, uint32_t len) {
	static kube_buffer response, text; // the host reads the response after the export has returned
	kube_text request = {message, len}, object = kube_member(request, "object");
	response.len = text.len = 0;
	kube_say("greets %s %s", KUBE_STRING(request, "name").data, KUBE_STRING(object, "data", "value").data);
	kube_printf(&text, "%s %s", arg(3), KUBE_STRING(object, "data", "value").data);
	kube_printf(&response, "{\"apply\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"%s\","
		"\"name\":\"%s-%s\"},\"data\":{\"text\":", KUBE_STRING(request, "namespace").data, arg(1),
		KUBE_STRING(request, "name").data);
	kube_quote(&response, (kube_text){text.data, text.len});
	kube_printf(&response, "}}]}");
	kube_free_temp();
	free(message);
	return kube_packed(response.data, response.len);
}
