// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// A guest that reads one ConfigMap again and again, with the arguments NAMESPACE NAME [FIELD-SELECTOR]: from a watch of
// the namespace, and by a request. It logs each attempt with both results, which are the field data.value, or otherwise
// the code or the status. After the end of its watch it submits another one.

#define KUBE_ACTOR
#include "kube.h"

const char kube_description[] = "{\"abi\":\"kube_v1\",\"profile\":\"actor\"}";

static char namespace[256], name[256], fields[256], out[1 << 20];
static int64_t timer, watching; // ids
static int attempts, refusal;   // refusal is the code of the last watch, which has ended

static int64_t submit_watch(void) {
	char m[1024];
	int n = snprintf(m, sizeof m, "{\"version\":\"v1\",\"kind\":\"ConfigMap\",\"resource\":\"configmaps\","
		"\"namespaced\":true,\"namespace\":\"%s\",\"labelSelector\":\"greet=please\",\"fieldSelector\":\"%s\"}",
		namespace, fields);
	return kube_submit(KUBE_WATCH, m, (uint32_t)n, 0);
}

static kube_text code(int64_t n) {
	char *text = kube_temp(24);
	snprintf(text, 24, "%lld", (long long)n);
	return kube_c(text);
}

// Returns the value in the cache of the host.
static kube_text cached(void) {
	char m[1024];
	if (!watching) return code(refusal);
	int len = snprintf(m, sizeof m, "{\"watch\":%lld,\"namespace\":\"%s\",\"name\":\"%s\"}", (long long)watching,
		namespace, name);
	int64_t n = kube_call(KUBE_GET, m, (uint32_t)len, out, sizeof out);
	if (n < 0 || n > (int64_t)sizeof out) return code(n);
	return KUBE_STRING(((kube_text){out, (size_t)n}), "data", "value");
}

// Returns the value on the server.
static kube_text live(void) {
	char path[1024];
	kube_buffer m = {0};
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps/%s", namespace, name);
	kube_request(&m, "GET", kube_c(path), "{\"Accept\":[\"application/json\"]}", (kube_text){0});
	int64_t n = kube_call(KUBE_REQUEST, m.data, (uint32_t)m.len, out, sizeof out);
	free(m.data);
	if (n < 0 || n > (int64_t)sizeof out) return code(n);
	kube_text body = {out, (size_t)n}, head = kube_unframe(&body), status = KUBE_STRING(head, "status");
	return kube_is(status, "200") ? KUBE_STRING(body, "data", "value") : status;
}

int start(kube_text startup) {
	kube_text args = kube_member(startup, "args");
	size_t at = 0;
	snprintf(namespace, sizeof namespace, "%s", kube_string(kube_element(args, &at)).data);
	snprintf(name, sizeof name, "%s", kube_string(kube_element(args, &at)).data);
	kube_text selector = kube_element(args, &at);
	if (selector.len) snprintf(fields, sizeof fields, "%s", kube_string(selector).data);
	watching = submit_watch();
	timer = kube_delay(0);
	return watching < 0 ? (int)watching : timer < 0 ? (int)timer : 0;
}

int wake(int64_t id, kube_text item, int flags) {
	if (id == watching && flags & KUBE_LAST) {
		refusal = flags & KUBE_ERROR ? atoi(KUBE_STRING(item, "code").data) : 0;
		watching = 0;
	}
	if (id != timer) return 0;
	kube_text of_cache = cached(), of_server = live();
	kube_say("attempt %d cache=%s live=%s", ++attempts, of_cache.data, of_server.data);
	if (!watching) watching = submit_watch();
	timer = kube_delay(100);
	return watching < 0 ? (int)watching : timer < 0 ? (int)timer : 0;
}
