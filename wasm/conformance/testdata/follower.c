// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// A guest that watches a resource, with the arguments GROUP VERSION KIND RESOURCE NAMESPACE, and logs what it receives:
// "begin", "set NAME VALUE" with the field data.value, "gone NAME", "synced", and "ended CODE". Then it submits another
// watch.

#define KUBE_ACTOR
#include "kube.h"

const char kube_description[] = "{\"abi\":\"kube_v1\",\"profile\":\"actor\"}";

static char watch[2048];
static int64_t watching, timer; // ids

static int submit_watch(void) {
	watching = kube_submit(KUBE_WATCH, watch, (uint32_t)strlen(watch), 0);
	return watching < 0 ? (int)watching : 0;
}

int start(kube_text startup) {
	kube_text args = kube_member(startup, "args"), arg[5];
	size_t at = 0;
	for (int n = 0; n < 5; n++) arg[n] = kube_string(kube_element(args, &at));
	snprintf(watch, sizeof watch, "{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\",\"resource\":\"%s\","
		"\"namespaced\":true,\"namespace\":\"%s\"}", arg[0].data, arg[1].data, arg[2].data, arg[3].data, arg[4].data);
	return submit_watch();
}

int wake(int64_t id, kube_text item, int flags) {
	if (id == timer) return submit_watch();
	if (id != watching) return 0;
	if (flags & KUBE_LAST) {
		kube_say("ended %s", KUBE_STRING(item, "code").data);
		timer = kube_delay(200);
		return timer < 0 ? (int)timer : 0;
	}
	if (flags & KUBE_SYNC_BEGIN) kube_say("begin");
	for (kube_text change, object; kube_change(&item, &change, &object);) {
		kube_text type = KUBE_STRING(change, "type"), name = KUBE_STRING(change, "name");
		if (kube_is(type, "set")) kube_say("set %s %s", name.data, KUBE_STRING(object, "data", "value").data);
		if (kube_is(type, "gone")) kube_say("gone %s", name.data);
	}
	if (flags & KUBE_SYNCED) kube_say("synced");
	return 0;
}
