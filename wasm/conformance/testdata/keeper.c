// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// A guest that keeps the items of a response. When it has 64, it reads a few of them after each delay. The first
// argument is the path.

#define KUBE_ACTOR
#include "kube.h"

const char kube_description[] = "{\"abi\":\"kube_v1\",\"profile\":\"actor\"}";

static int64_t reading, timer; // ids
static int most, wrong, items, bytes;

int start(kube_text startup) {
	kube_text args = kube_member(startup, "args");
	kube_buffer m = {0};
	size_t at = 0;
	kube_request(&m, "GET", kube_string(kube_element(args, &at)), NULL, (kube_text){0});
	reading = kube_submit(KUBE_REQUEST, m.data, (uint32_t)m.len, 0);
	free(m.data);
	timer = kube_delay(5);
	return reading < 0 ? (int)reading : timer < 0 ? (int)timer : 0;
}

int wake(int64_t id, kube_text item, int flags) {
	(void)item;
	if (id == reading) {
		kube_keep();
		return 0;
	}
	if (id != timer) return 0;
	int kept = kube_kept(reading);
	if (kept > most) most = kept;
	for (int n = 0; most >= 64 && n < 7 && kube_next(reading, &item, &flags); n++) {
		if (items++) { // the first one is the head of the response
			for (size_t i = 0; i < item.len; i++) wrong += item.data[i] != 'x';
			bytes += (int)item.len;
		}
		if (flags & KUBE_LAST) {
			kube_say("read %d bytes of the body, %d of them wrong, at most %d items kept", bytes, wrong, most);
			return 0;
		}
	}
	timer = kube_delay(5);
	return timer < 0 ? (int)timer : 0;
}
