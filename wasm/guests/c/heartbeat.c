// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// heartbeat is an actor without a scheduler: every ten seconds it writes the number of its heartbeat to the ConfigMap
// heartbeat. Its only timer is the operation delay.

#define KUBE_ACTOR
#include "kube.h"

const char kube_description[] =
	"{\"abi\":\"kube_v1\",\"profile\":\"actor\",\"name\":\"heartbeat\",\"version\":\"1\","
	"\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"create\",\"patch\"]}]}";

static char path[512];        // of the ConfigMap
static int64_t timer, writing; // ids
static int beats;

static int64_t beat(void) {
	kube_buffer message = {0};
	char body[160];
	int n = snprintf(body, sizeof body,
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"heartbeat\"},\"data\":{\"beat\":\"%d\"}}",
		++beats);
	kube_request(&message, "PATCH", kube_c(path), "{\"Content-Type\":[\"application/apply-patch+yaml\"]}",
		(kube_text){body, (size_t)n});
	int64_t id = kube_submit(KUBE_REQUEST, message.data, (uint32_t)message.len, 5000);
	free(message.data);
	return id;
}

int start(kube_text startup) {
	kube_text namespace = KUBE_STRING(startup, "namespace");
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/configmaps/heartbeat?fieldManager=heartbeat&force=true",
		namespace.len ? namespace.data : "default");
	timer = kube_delay(0);
	return timer < 0 ? (int)timer : 0;
}

int wake(int64_t id, kube_text item, int flags) {
	if (id == timer) {
		writing = beat();
		timer = kube_delay(10000);
	} else if (flags & KUBE_ERROR) {
		kube_say("heartbeat failed: %s", KUBE_STRING(item, "message").data);
	} else if (id == writing) {
		writing = 0; // further items are the body
		kube_say("heartbeat %d: status %s", beats, KUBE_STRING(item, "status").data);
	}
	return 0;
}
