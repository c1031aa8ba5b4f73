// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// The guest of the conformance suite in C, as an actor or, with -DRECONCILER, as a reconciler. It does what the suite
// asks for; see doc.go of the suite for the commands and the reports.

#include "kube.h"

#include <time.h>
#include <wasi/api.h>

// Reports.

static char self[256] = "?"; // the name of the module, or the key of the reconciled object

__attribute__((format(printf, 1, 2))) static void report(const char *format, ...) {
	static char text[4096];
	int head = snprintf(text, sizeof text, "@%s ", self);
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text + head, sizeof text - (size_t)head, format, args);
	va_end(args);
	size_t len = (size_t)head + (size_t)n;
	kube_log(KUBE_INFO, text, (uint32_t)(len < sizeof text ? len : sizeof text - 1));
}

// Violations: the host must not call an export while another one runs, or after a trap.

static int inside, trapped, violations;

static void enter(const char *export) {
	if (inside || trapped) {
		violations++;
		report("! %s was called %s", export, trapped ? "after a trap" : "while an export ran");
	}
	inside++;
}

static void leave(void) {
	inside--;
	kube_free_temp();
}

// Commands.

static kube_text word(kube_text *rest) {
	while (rest->len && *rest->data == ' ') rest->data++, rest->len--;
	kube_text w = {rest->data, 0};
	while (rest->len && *rest->data != ' ') rest->data++, rest->len--, w.len++;
	return w;
}

static int64_t number(kube_text *rest) {
	char digits[24] = {0};
	kube_text w = word(rest);
	memcpy(digits, w.data, w.len < sizeof digits ? w.len : sizeof digits - 1);
	return strtoll(digits, NULL, 0);
}

static unsigned nibble(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

static kube_text hex(kube_text *rest) {
	kube_text w = word(rest);
	char *out = kube_temp(w.len / 2 + 1);
	for (size_t i = 0; i + 1 < w.len; i += 2) out[i / 2] = (char)(nibble(w.data[i]) << 4 | nibble(w.data[i + 1]));
	out[w.len / 2] = 0;
	return (kube_text){out, w.len / 2};
}

static void *pointer(int64_t address) { return (void *)(uintptr_t)(uint32_t)address; }

static int64_t monotonic(void) {
	__wasi_timestamp_t t = 0;
	return __wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 1, &t) ? -1 : (int64_t)t;
}

static volatile int zero;

__attribute__((noinline)) static int recurse(int n) {
	volatile char frame[256];
	frame[n & 255] = (char)n;
	return zero ? 0 : recurse(n + 1) + frame[n & 255];
}

// Waits in poll_oneoff for a clock, without descriptor 100.
static int64_t wait_for(int64_t millis) {
	__wasi_subscription_t in;
	__wasi_event_t out;
	__wasi_size_t n = 0;
	memset(&in, 0, sizeof in);
	in.u.tag = __WASI_EVENTTYPE_CLOCK;
	in.u.u.clock.id = __WASI_CLOCKID_MONOTONIC;
	in.u.u.clock.timeout = (uint64_t)millis * 1000000;
	return __wasi_poll_oneoff(&in, &out, 1, &n) ? -1 : (int64_t)n;
}

static char *volatile last; // of the memory that was allocated; without it, the compiler removes the allocations

static void trap(kube_text kind) {
	report("trap");
	trapped = 1;
	if (kube_is(kind, "unreachable")) __builtin_trap();
	if (kube_is(kind, "panic")) abort();
	if (kube_is(kind, "exit0")) __wasi_proc_exit(0);
	if (kube_is(kind, "exit3")) __wasi_proc_exit(3);
	if (kube_is(kind, "stack")) zero = recurse(1);
	if (kube_is(kind, "deadlock")) wait_for(1000LL * 3600 * 24);
	if (kube_is(kind, "memory")) {
		for (;;) {
			char *p = malloc(1 << 20);
			if (!p) abort();
			memset(p, 1, 1 << 20);
			last = p;
		}
	}
	if (kube_is(kind, "loop")) {
		while (!zero) {}
	}
	__builtin_trap();
}

// The result of a call, whose beginning is printed.
static void result(const char *seq, int64_t n, const char *out, size_t cap) {
	int len = n < 0 ? 0 : n > (int64_t)cap ? 0 : n > 1800 ? 1800 : (int)n;
	char shown[1801];
	for (int i = 0; i < len; i++) shown[i] = out[i] && out[i] != '\n' ? out[i] : ' ';
	report("= %s %lld %.*s", seq, (long long)n, len, shown);
}

static int wasi(kube_text name) {
	__wasi_fd_t fd;
	__wasi_prestat_t prestat;
	__wasi_filestat_t stat;
	__wasi_size_t n;
	uint16_t flags;
	uint8_t buf[64] = "x";
	__wasi_iovec_t in = {buf, sizeof buf};
	__wasi_ciovec_t out = {buf, 1};
	if (kube_is(name, "path_open")) return __wasi_path_open(3, 0, "etc/passwd", 0, 2, 0, 0, &fd);
	if (kube_is(name, "fd_prestat_get")) return __wasi_fd_prestat_get(3, &prestat);
	if (kube_is(name, "path_filestat_get")) return __wasi_path_filestat_get(3, 0, "etc/passwd", &stat);
	if (kube_is(name, "path_create_directory")) return __wasi_path_create_directory(3, "x");
	if (kube_is(name, "path_unlink_file")) return __wasi_path_unlink_file(3, "x");
	if (kube_is(name, "fd_read_0")) return __wasi_fd_read(0, &in, 1, &n);
	if (kube_is(name, "fd_read_3")) return __wasi_fd_read(3, &in, 1, &n);
	if (kube_is(name, "fd_write_3")) return __wasi_fd_write(3, &out, 1, &n);
	if (kube_is(name, "fd_readdir")) return __wasi_fd_readdir(3, buf, sizeof buf, 0, &n);
	if (kube_is(name, "sock_recv")) return __wasi_sock_recv(3, &in, 1, 0, &n, &flags);
	if (kube_is(name, "sock_send")) return __wasi_sock_send(3, &out, 1, 0, &n);
	if (kube_is(name, "sock_shutdown")) return __wasi_sock_shutdown(3, 3);
	return -1;
}

// The commands of both profiles. Returns false if there is no such command.
static bool common(const char *seq, kube_text name, kube_text rest) {
	if (kube_is(name, "call")) {
		int32_t op = (int32_t)number(&rest);
		uint32_t cap = (uint32_t)number(&rest);
		kube_text message = hex(&rest);
		char *out = malloc(cap + 1);
		memset(out, '#', cap + 1);
		int64_t n = kube_call(op, message.data, (uint32_t)message.len, out, cap);
		if (n > cap) {
			size_t i = 0;
			while (i <= cap && out[i] == '#') i++;
			report("= %s %lld %s", seq, (long long)n, i > cap ? "untouched" : "written");
		} else {
			result(seq, n, out, cap);
		}
		free(out);
	} else if (kube_is(name, "fetch")) {
		uint32_t cap = (uint32_t)number(&rest);
		char *out = malloc(cap + 1);
		result(seq, kube_fetch(out, cap), out, cap);
		free(out);
	} else if (kube_is(name, "submit-pointer")) {
		int32_t op = (int32_t)number(&rest);
		int64_t p = number(&rest), len = number(&rest);
		report("= %s %lld", seq, (long long)kube_submit(op, pointer(p), (uint32_t)len, 0));
	} else if (kube_is(name, "call-pointer")) {
		int32_t op = (int32_t)number(&rest);
		kube_text message = hex(&rest);
		int64_t p = number(&rest), cap = number(&rest);
		report("= %s %lld", seq, (long long)kube_call(op, message.data, (uint32_t)message.len, pointer(p), (uint32_t)cap));
	} else if (kube_is(name, "fetch-pointer")) {
		int64_t p = number(&rest), cap = number(&rest);
		report("= %s %lld", seq, (long long)kube_fetch(pointer(p), (uint32_t)cap));
	} else if (kube_is(name, "log-pointer")) {
		int64_t p = number(&rest), len = number(&rest);
		kube_log(0, pointer(p), (uint32_t)len);
		report("= %s done", seq);
	} else if (kube_is(name, "submit-filled")) { // a request with a body of some length
		int32_t op = (int32_t)number(&rest);
		uint32_t len = (uint32_t)number(&rest);
		char *message = calloc(1, len);
		report("= %s %lld", seq, (long long)kube_submit(op, message, len, 0));
		free(message);
	} else if (kube_is(name, "log")) {
		int32_t level = (int32_t)number(&rest);
		kube_text text = hex(&rest);
		kube_log(level, text.data, (uint32_t)text.len);
		report("= %s done", seq);
	} else if (kube_is(name, "log-filled")) {
		uint32_t len = (uint32_t)number(&rest);
		char *text = malloc(len);
		memset(text, 'x', len);
		kube_log(0, text, len);
		free(text);
		report("= %s done", seq);
	} else if (kube_is(name, "log-many")) {
		for (int64_t i = 0, n = number(&rest); i < n; i++) kube_log(0, "flood", 5);
		report("= %s done", seq);
	} else if (kube_is(name, "wasi")) {
		report("= %s %d", seq, wasi(word(&rest)));
	} else if (kube_is(name, "clock")) {
		report("= %s %lld", seq, (long long)monotonic());
	} else if (kube_is(name, "wait")) {
		report("= %s %lld", seq, (long long)wait_for(number(&rest)));
	} else if (kube_is(name, "random")) {
		uint64_t r = 0;
		if (!__wasi_random_get((uint8_t *)&r, sizeof r)) report("= %s %016llx", seq, (unsigned long long)r);
	} else if (kube_is(name, "environ")) {
		extern char **environ;
		kube_buffer b = {0};
		for (char **e = environ; e && *e; e++) kube_printf(&b, " %s", *e);
		report("= %s%s", seq, b.data ? b.data : "");
		free(b.data);
	} else if (kube_is(name, "arguments")) {
		__wasi_size_t count = 0, size = 0;
		if (!__wasi_args_sizes_get(&count, &size)) report("= %s %d", seq, (int)count);
	} else if (kube_is(name, "print")) {
		kube_text text = hex(&rest);
		__wasi_ciovec_t out = {(const uint8_t *)text.data, text.len};
		__wasi_size_t n = 0;
		if (!__wasi_fd_write(1, &out, 1, &n)) report("= %s %d", seq, (int)n);
	} else if (kube_is(name, "trap")) {
		trap(word(&rest));
	} else {
		return false;
	}
	return true;
}

#ifdef RECONCILER

#define KIND "\"group\":\"conformance.test\",\"version\":\"v1\",\"namespaced\":true"
#define TASKS "{" KIND ",\"kind\":\"Task\",\"resource\":\"tasks\"}"
#define NOTES "{" KIND ",\"kind\":\"Note\",\"resource\":\"notes\"}"

static const char description[] =
	"{\"abi\":\"kube_v1\",\"profile\":\"reconciler\",\"name\":\"conformance\",\"version\":\"1\",\"unknown\":{},"
	"\"controllers\":[{\"name\":\"tasks\",\"for\":" TASKS ",\"owns\":[" NOTES "]}]}";

// A script is the list spec.do.
static void script(kube_text request, kube_buffer *response) {
	kube_text commands = KUBE_AT(request, "object", "spec", "do"), command;
	kube_buffer apply = {0}, delete = {0}, events = {0};
	size_t at = 0;
	kube_printf(response, "{\"unknown\":1");
	while ((command = kube_element(commands, &at)).data) {
		kube_text rest = kube_string(command), name = word(&rest);
		if (kube_is(name, "apply")) {
			kube_printf(&apply, "%s%.*s", apply.len ? "," : "", (int)rest.len, rest.data);
		} else if (kube_is(name, "delete")) {
			kube_printf(&delete, "%s%.*s", delete.len ? "," : "", (int)rest.len, rest.data);
		} else if (kube_is(name, "event")) {
			kube_printf(&events, "%s%.*s", events.len ? "," : "", (int)rest.len, rest.data);
		} else if (kube_is(name, "status")) {
			kube_printf(response, ",\"status\":%.*s", (int)rest.len, rest.data);
		} else if (kube_is(name, "requeue")) {
			kube_printf(response, ",\"requeueAfterMillis\":%.*s", (int)rest.len, rest.data);
		} else if (kube_is(name, "error")) {
			kube_printf(response, ",\"error\":");
			kube_quote(response, rest);
		} else if (kube_is(name, "garbage")) {
			kube_printf(response, "]]");
		} else if (!common("0", name, rest)) {
			report("? %.*s", (int)name.len, name.data);
		}
	}
	if (apply.len) kube_printf(response, ",\"apply\":[%s]", apply.data);
	if (delete.len) kube_printf(response, ",\"delete\":[%s]", delete.data);
	if (events.len) kube_printf(response, ",\"events\":[%s]", events.data);
	kube_printf(response, "}");
	free(apply.data), free(delete.data), free(events.data);
}

KUBE_EXPORT(kube_reconcile) int64_t reconcile_export(char *message, uint32_t len) {
	static kube_buffer response;
	kube_text request = {message, len}, owned = kube_member(request, "owned"), object;
	int owns = 0;
	size_t at = 0;
	response.len = 0;
	enter("kube_reconcile");
	snprintf(self, sizeof self, "%s/%s", KUBE_STRING(request, "namespace").data, KUBE_STRING(request, "name").data);
	while ((object = kube_element(owned, &at)).data) {
		report("o %s %s", KUBE_STRING(object, "kind").data, KUBE_STRING(object, "metadata", "name").data);
		owns++;
	}
	report("r %s %s %d", KUBE_STRING(request, "controller").data, KUBE_AT(request, "object").data ? "present" : "absent",
		owns);
	script(request, &response);
	free(message);
	leave();
	return kube_packed(response.data, response.len);
}

#else

static const char description[] =
	"{\"abi\":\"kube_v1\",\"profile\":\"actor\",\"name\":\"conformance\",\"version\":\"1\",\"unknown\":{}}";

// Modes of operations.
enum {
	LOUD = 'l',    // reports each item
	QUIET = 'q',   // counts
	HOLD = 'h',    // does not read items until the command read
	KEEP = 'H',    // is like HOLD for a watch, and reports the changes when it reads them
	CHANGES = 'w', // reports the changes of a watch
	TIMER = 'd',   // one of many delays
	CONTROL = 'c', // the stream of commands
};

typedef struct {
	int64_t id, due;
	int mode, flags, ended;
	int64_t items, bytes, changes;
} operation;

static operation *operations;
static size_t count, room;
static int64_t asks, ticks, quiesces, counter, failing_allocs, quiesce_code;
static struct { int64_t left, early, twice; } timers;
static kube_text startup; // kept

static operation *find(int64_t id) {
	size_t low = 0, high = count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (operations[mid].id == id) return &operations[mid];
		if (operations[mid].id < id) low = mid + 1;
		else high = mid;
	}
	return NULL;
}

static int64_t begin(int mode, int64_t id) {
	if (id <= 0) return id;
	if (count && operations[count - 1].id >= id) {
		violations++;
		report("! id %lld follows %lld", (long long)id, (long long)operations[count - 1].id);
		return id;
	}
	if (count == room) operations = realloc(operations, (room = 2 * room + 16) * sizeof *operations);
	operations[count++] = (operation){.id = id, .mode = mode};
	return id;
}

static void show(const operation *o, kube_text text, int flags) {
	char shown[1501];
	size_t len = text.len < 1500 ? text.len : 1500;
	if ((o->mode == CHANGES || o->mode == KEEP) && !(flags & KUBE_ERROR)) {
		kube_text change, object;
		uint32_t size = (uint32_t)text.len;
		while (kube_change(&text, &change, &object)) {
			report("~ %lld %d %.*s %u %.*s", (long long)o->id, flags, (int)change.len, change.data, (unsigned)object.len,
				object.len < 1500 ? (int)object.len : 1500, object.data);
		}
		if (text.len) report("! %u bytes follow the changes", (unsigned)text.len);
		report("+ %lld %d %u", (long long)o->id, flags, (unsigned)size);
		return;
	}
	for (size_t i = 0; i < len; i++) shown[i] = text.data[i] && text.data[i] != '\n' ? text.data[i] : ' ';
	report("+ %lld %d %u %.*s", (long long)o->id, flags, (unsigned)text.len, (int)len, shown);
}

static void tally(operation *o, kube_text text, int flags) {
	o->items++;
	o->bytes += (int64_t)text.len;
	o->flags |= flags;
	kube_text change, object;
	if ((o->mode == QUIET || o->mode == HOLD) && flags != KUBE_LAST) {
		while (kube_change(&text, &change, &object)) o->changes += !kube_is(KUBE_STRING(change, "type"), "seen");
	}
}

// Runs a command. Its first word is a number that the report repeats.
static void run(kube_text line) {
	kube_text rest = line, w = word(&rest), name = word(&rest);
	char seq[16] = {0};
	if (!name.len) return;
	memcpy(seq, w.data, w.len < 15 ? w.len : 15);
	if (common(seq, name, rest)) return;
	if (kube_is(name, "submit")) {
		int mode = *word(&rest).data;
		int32_t op = (int32_t)number(&rest);
		int64_t deadline = number(&rest);
		kube_text message = hex(&rest);
		report("= %s %lld", seq, (long long)begin(mode, kube_submit(op, message.data, (uint32_t)message.len, deadline)));
	} else if (kube_is(name, "cancel")) {
		int64_t id = number(&rest);
		operation *o = find(id);
		if (o) o->ended = 1;
		kube_cancel(id);
		report("= %s done", seq);
	} else if (kube_is(name, "submit-cancel")) { // without a return to the host in between
		int32_t op = (int32_t)number(&rest);
		kube_text message = hex(&rest);
		int64_t id = begin(LOUD, kube_submit(op, message.data, (uint32_t)message.len, 0));
		operation *o = find(id);
		if (o) o->ended = 1;
		kube_cancel(id);
		kube_cancel(id);
		report("= %s %lld", seq, (long long)id);
	} else if (kube_is(name, "read")) {
		operation *o = find(number(&rest));
		int64_t n = number(&rest), read = 0;
		kube_text text;
		int flags;
		for (; o && read < n && kube_next(o->id, &text, &flags); read++) {
			if (o->mode == KEEP) show(o, text, flags);
		}
		report("= %s %lld", seq, (long long)read);
	} else if (kube_is(name, "statistics")) {
		operation *o = find(number(&rest));
		if (!o) report("= %s none", seq);
		else report("= %s %lld %lld %lld %d %d", seq, (long long)o->items, (long long)o->bytes, (long long)o->changes,
			o->flags, kube_kept(o->id));
	} else if (kube_is(name, "delays")) {
		int64_t n = number(&rest), within = number(&rest), refused = 0;
		timers.left = 0, timers.early = 0, timers.twice = 0;
		for (int64_t i = 0; i < n; i++) {
			int64_t millis = i * 7919 % within, due = monotonic() + millis * 1000000;
			operation *o = find(begin(TIMER, kube_delay(millis)));
			if (!o) refused++;
			else o->due = due, timers.left++;
		}
		report("= %s %lld", seq, (long long)refused);
	} else if (kube_is(name, "startup")) {
		report("= %s %.*s", seq, (int)startup.len, startup.data);
	} else if (kube_is(name, "count")) {
		report("= %s %lld", seq, (long long)++counter);
	} else if (kube_is(name, "counters")) {
		report("= %s violations=%d asks=%lld ticks=%lld quiesces=%lld", seq, violations, (long long)asks, (long long)ticks,
			(long long)quiesces);
	} else if (kube_is(name, "fail-alloc")) {
		failing_allocs = number(&rest);
		report("= %s done", seq);
	} else if (kube_is(name, "quiesce")) {
		quiesce_code = number(&rest);
		report("= %s done", seq);
	} else {
		report("= %s unknown command %.*s", seq, (int)name.len, name.data);
	}
}

static void control(kube_text chunk) {
	static kube_buffer line;
	for (size_t i = 0; i < chunk.len; i++) {
		if (chunk.data[i] != '\n') {
			kube_write(&line, &chunk.data[i], 1);
			continue;
		}
		run((kube_text){line.data, line.len});
		line.len = 0;
	}
}

// Handles an item. Returns whether the guest keeps it.
static bool receive(int64_t id, kube_text text, int flags) {
	operation *o = find(id);
	if (!o) return false;
	if (o->ended) {
		violations++;
		report("! item of %lld after its end", (long long)id);
		return false;
	}
	if (flags & KUBE_LAST) o->ended = 1;
	if ((flags & KUBE_ERROR) && !(flags & KUBE_LAST)) report("! error of %lld is not the last item", (long long)id);
	tally(o, text, flags);
	switch (o->mode) {
	case CONTROL:
		if (o->items > 1) control(text);
		break;
	case LOUD:
	case CHANGES:
		show(o, text, flags);
		break;
	case TIMER:
		if (monotonic() < o->due) timers.early++;
		if (flags != KUBE_LAST || text.len) violations++;
		if (--timers.left == 0) report("d %lld", (long long)timers.early);
		break;
	}
	return o->mode == HOLD || o->mode == KEEP;
}

KUBE_EXPORT(kube_start) int32_t start_export(char *message, uint32_t len) {
	enter("kube_start");
	startup = (kube_text){message, len};
	snprintf(self, sizeof self, "%s", KUBE_STRING(startup, "module").data);
	report("start");
	kube_text args = kube_member(startup, "args"), arg;
	int32_t code = 0;
	size_t at = 0;
	while ((arg = kube_element(args, &at)).data) {
		kube_text line = kube_string(arg), rest = line, name = word(&rest);
		if (kube_is(name, "control")) {
			kube_buffer message = {0};
			char *url = kube_temp(512);
			snprintf(url, 512, "/test/control/%s", self);
			kube_request(&message, "GET", kube_c(url), NULL, (kube_text){0});
			int64_t id = begin(CONTROL, kube_submit(KUBE_REQUEST, message.data, (uint32_t)message.len, 0));
			free(message.data);
			if (id < 0) report("! control: %lld", (long long)id);
		} else if (kube_is(name, "code")) {
			code = (int32_t)number(&rest);
		} else {
			run(line);
		}
	}
	leave();
	return code;
}

KUBE_EXPORT(kube_wake) int32_t wake_export(int64_t id, char *data, uint32_t len, int32_t flags) {
	enter("kube_wake");
	if (!len) data = NULL;
	if (!len && !flags) asks++;
	else if (receive(id, (kube_text){data, len}, flags)) kube_add(id, data, len, flags);
	else free(data);
	leave();
	return kube_kept(id);
}

KUBE_EXPORT(kube_tick) void tick_export(void) {
	enter("kube_tick");
	ticks++;
	leave();
}

KUBE_EXPORT(kube_quiesce) int32_t quiesce_export(int32_t reason) {
	enter("kube_quiesce");
	quiesces++;
	report("q %d", (int)reason);
	leave();
	return (int32_t)quiesce_code;
}

#endif

KUBE_EXPORT(kube_alloc) void *alloc_export(uint32_t size) {
	void *p = NULL;
	enter("kube_alloc");
#ifndef RECONCILER
	if (failing_allocs > 0) {
		failing_allocs--;
		leave();
		return NULL;
	}
#endif
	p = malloc(size ? size : 1);
	leave();
	return p;
}

KUBE_EXPORT(kube_describe) int64_t describe_export(void) { return kube_packed(description, strlen(description)); }
