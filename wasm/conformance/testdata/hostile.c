// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Guests that try to harm the host or other guests. As an actor, the first argument names what the guest does, the
// second one is a number, and the third one is a path. With -DRECONCILER, it is the name of the reconciled object. With
// -DEARLY, the module uses the functions of the host in its initialisation.

#ifdef RECONCILER
#define KUBE_RECONCILER
#else
#define KUBE_ACTOR
#endif
#include "kube.h"

#include <wasi/api.h>

static KUBE_UNUSED char big[4 << 20];
static char out[1 << 20];

static int64_t call(const char *method, const char *url) {
	kube_buffer m = {0};
	kube_request(&m, method, kube_c(url), NULL, (kube_text){0});
	int64_t n = kube_call(KUBE_REQUEST, m.data, (uint32_t)m.len, out, sizeof out);
	free(m.data);
	return n;
}

#ifdef RECONCILER

const char kube_description[] =
	"{\"abi\":\"kube_v1\",\"profile\":\"reconciler\",\"controllers\":[{\"name\":\"hostile\",\"for\":{\"group\":"
	"\"conformance.test\",\"version\":\"v1\",\"kind\":\"Task\",\"resource\":\"tasks\",\"namespaced\":true}}]}";

void reconcile(kube_text request, kube_buffer *response) {
	kube_text name = KUBE_STRING(request, "name");
	if (kube_is(name, "endless")) {
		kube_say("calls");
		kube_say("returned %lld", (long long)call("GET", "/test/stall?for=endless"));
	}
	int changes = kube_is(name, "many") ? 100000 : kube_is(name, "often") ? 30 : 0;
	kube_printf(response, "{\"requeueAfterMillis\":1,\"apply\":[");
	for (int i = 0; i < changes; i++) {
		kube_printf(response, "%s{\"apiVersion\":\"conformance.test/v1\",\"kind\":\"Note\",\"metadata\":{\"namespace\":\"x\","
			"\"name\":\"n%d\"}}", i ? "," : "", i);
	}
	kube_printf(response, "]}");
}

#else

const char kube_description[] = "{\"abi\":\"kube_v1\",\"profile\":\"actor\"}";

#ifdef EARLY
static long long early[4];

__attribute__((constructor)) static void initialise(void) {
	early[0] = call("GET", "/test/stall?for=early");
	early[1] = kube_delay(1);
	early[2] = kube_fetch(out, sizeof out);
	kube_cancel(1);
}
#endif

static int64_t watch(int64_t selector) {
	char m[256];
	int n = snprintf(m, sizeof m, "{\"version\":\"v1\",\"kind\":\"ConfigMap\",\"resource\":\"configmaps\",\"namespaced\":"
		"true,\"labelSelector\":\"a=v%lld\"}", (long long)selector);
	return kube_submit(KUBE_WATCH, m, (uint32_t)n, 0);
}

static char path[512];

// Submits a request with a body of some length.
static int64_t submit(const char *method, size_t len) {
	kube_buffer m = {0};
	kube_request(&m, method, kube_c(path), NULL, (kube_text){big, len});
	int64_t id = kube_submit(KUBE_REQUEST, m.data, (uint32_t)m.len, 0);
	free(m.data);
	return id;
}

static char *volatile last; // of the memory that was allocated; without it, the compiler removes the allocations
static bool endless;         // each request that has ended is submitted again

// Writes 400 GB by one call of fd_write.
static void write_much(void) {
	static __wasi_ciovec_t vectors[100000];
	__wasi_size_t written = 0;
	for (int i = 0; i < 100000; i++) vectors[i] = (__wasi_ciovec_t){(const uint8_t *)big, sizeof big};
	int code = __wasi_fd_write(1, vectors, 100000, &written);
	kube_say("fd_write %d", code);
}

// Calls functions of WASI that a guest does not have.
static void system_calls(void) {
	__wasi_fd_t fd = 0;
	__wasi_prestat_t prestat;
	__wasi_filestat_t stat;
	__wasi_filesize_t size;
	__wasi_size_t n = 0;
	uint8_t buf[64] = "x";
	uint16_t flags = 0;
	__wasi_iovec_t in = {buf, sizeof buf};
	__wasi_ciovec_t data = {buf, 1};
	struct { const char *name; int code; } all[] = {
		{"fd_advise", __wasi_fd_advise(1, 0, 0, 0)},
		{"fd_allocate", __wasi_fd_allocate(1, 0, 0)},
		{"fd_close", __wasi_fd_close(1)},
		{"fd_datasync", __wasi_fd_datasync(1)},
		{"fd_fdstat_set_rights", __wasi_fd_fdstat_set_rights(1, 0, 0)},
		{"fd_filestat_get", __wasi_fd_filestat_get(1, &stat)},
		{"fd_filestat_set_size", __wasi_fd_filestat_set_size(1, 0)},
		{"fd_filestat_set_times", __wasi_fd_filestat_set_times(1, 0, 0, 0)},
		{"fd_pread", __wasi_fd_pread(0, &in, 1, 0, &n)},
		{"fd_prestat_dir_name", __wasi_fd_prestat_dir_name(3, buf, sizeof buf)},
		{"fd_prestat_get", __wasi_fd_prestat_get(3, &prestat)},
		{"fd_pwrite", __wasi_fd_pwrite(1, &data, 1, 0, &n)},
		{"fd_read", __wasi_fd_read(0, &in, 1, &n)},
		{"fd_readdir", __wasi_fd_readdir(3, buf, sizeof buf, 0, &n)},
		{"fd_renumber", __wasi_fd_renumber(1, 2)},
		{"fd_seek", __wasi_fd_seek(1, 0, 0, &size)},
		{"fd_sync", __wasi_fd_sync(1)},
		{"fd_tell", __wasi_fd_tell(1, &size)},
		{"fd_write", __wasi_fd_write(3, &data, 1, &n)},
		{"path_create_directory", __wasi_path_create_directory(3, "x")},
		{"path_filestat_get", __wasi_path_filestat_get(3, 0, "/etc/passwd", &stat)},
		{"path_filestat_set_times", __wasi_path_filestat_set_times(3, 0, "x", 0, 0, 0)},
		{"path_link", __wasi_path_link(3, 0, "x", 3, "y")},
		{"path_open", __wasi_path_open(3, 0, "/etc/passwd", 0, 2, 0, 0, &fd)},
		{"path_readlink", __wasi_path_readlink(3, "x", buf, sizeof buf, &n)},
		{"path_remove_directory", __wasi_path_remove_directory(3, "x")},
		{"path_rename", __wasi_path_rename(3, "x", 3, "y")},
		{"path_symlink", __wasi_path_symlink("x", 3, "y")},
		{"path_unlink_file", __wasi_path_unlink_file(3, "x")},
		{"sock_accept", __wasi_sock_accept(3, 0, &fd)},
		{"sock_recv", __wasi_sock_recv(3, &in, 1, 0, &n, &flags)},
		{"sock_send", __wasi_sock_send(3, &data, 1, 0, &n)},
		{"sock_shutdown", __wasi_sock_shutdown(3, 3)},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) kube_say("%s %d", all[i].name, all[i].code);
}

int start(kube_text startup) {
	kube_text args = kube_member(startup, "args");
	size_t at = 0;
	kube_text act = kube_string(kube_element(args, &at)), number = kube_string(kube_element(args, &at));
	kube_text url = kube_string(kube_element(args, &at));
	int64_t n = number.data ? strtoll(number.data, NULL, 10) : 0, done = 0, id = 0;
	snprintf(path, sizeof path, "%s", url.data ? url.data : "");
#ifdef EARLY
	kube_say("early %lld %lld %lld", early[0], early[1], early[2]);
	kube_say("id %lld", (long long)kube_delay(1));
#endif
	if (kube_is(act, "call")) {
		kube_say("calls");
		kube_say("returned %lld", (long long)call("GET", number.data ? number.data : "/test/stall?for=call"));
	} else if (kube_is(act, "write")) {
		write_much();
	} else if (kube_is(act, "random")) {
		kube_say("random %d", __wasi_random_get((uint8_t *)big, sizeof big));
	} else if (kube_is(act, "trap")) {
		__builtin_trap();
	} else if (kube_is(act, "memory")) {
		for (char *p; (p = malloc(1 << 20)); done++) last = memset(p, 1, 1 << 20);
		kube_say("has allocated %lld MiB", (long long)done);
		abort();
	} else if (kube_is(act, "deadlock")) {
		__wasi_subscription_t in = {0};
		__wasi_event_t event;
		__wasi_size_t events = 0;
		in.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
		in.u.u.clock.timeout = 24LL * 3600 * 1000 * 1000 * 1000;
		(void)!__wasi_poll_oneoff(&in, &event, 1, &events); // and returns
	} else if (kube_is(act, "loop")) {
		for (volatile int i = 0;; i++) {}
	} else if (kube_is(act, "invalid")) {
		for (;;) kube_call(KUBE_REQUEST, big, 0, out, 0);
	} else if (kube_is(act, "watches")) {
		while (done < n && watch(done) > 0) done++;
		kube_say("accepted %lld", (long long)done);
	} else if (kube_is(act, "cancelled")) {
		for (; done < n; done++) kube_cancel(watch(done));
		kube_say("accepted %lld", (long long)done);
	} else if (kube_is(act, "bodies") || kube_is(act, "requests")) {
		size_t len = kube_is(act, "bodies") ? 3 << 20 : 0;
		endless = !len;
		while (done < n && (id = submit(len ? "PUT" : "GET", len)) > 0) done++;
		kube_say("accepted %lld, then %lld", (long long)done, (long long)id);
	} else if (kube_is(act, "logs")) {
		for (; done < n; done++) kube_say("flood");
	} else if (kube_is(act, "system")) {
		system_calls();
	} else if (kube_is(act, "never")) {
		kube_say("delay %lld", (long long)kube_delay(INT64_MAX));
	}
	return 0;
}

int wake(int64_t id, kube_text item, int flags) {
	(void)item;
	if (endless) {
		if (flags & KUBE_LAST) submit("GET", 0);
		return 0;
	}
	kube_say("item %lld %d", (long long)id, flags);
	return 1000; // unread
}

#endif
