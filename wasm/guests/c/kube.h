// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// kube.h is the guest side of the interface kube_v1 (wasm/ABI.md) for C. A guest is one file that includes it:
//
//	#define KUBE_RECONCILER // or KUBE_ACTOR
//	#include "kube.h"
//
// and defines kube_description, the JSON of its Description, and the functions of its profile:
//
//	void reconcile(kube_text request, kube_buffer *response); // a reconciler: writes a ReconcileResponse
//
//	int start(kube_text startup);                             // an actor: returns 0 or a code
//	int wake(int64_t id, kube_text item, int flags);          // an actor: returns 0 or a code
//
// Without KUBE_RECONCILER and KUBE_ACTOR the header exports nothing.
//
// The text of a message, and all memory of kube_temp, is valid until the export returns. Copy what you keep.
//
// An actor that can't use an item yet calls kube_keep in wake, and later kube_next, which returns the kept items of the
// id in their order. kube_next can be called in any wake, also for another id. The host sends no more items of an id
// while 64 of them are kept, and goes on when kube_next has removed some. kube_cancel does not remove kept items: read
// them to free their memory.
//
// Build with: clang --target=wasm32-wasi -mexec-model=reactor -O2 -o guest.wasm guest.c

#ifndef KUBE_H
#define KUBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KUBE_IMPORT(name) __attribute__((import_module("kube_v1"), import_name(#name)))
#define KUBE_EXPORT(name) __attribute__((export_name(#name), used))
#define KUBE_UNUSED __attribute__((unused))

// The operations.
enum { KUBE_REQUEST = 1, KUBE_HTTP, KUBE_WATCH, KUBE_DELAY, KUBE_GET, KUBE_LIST };

// The flags of an item.
enum { KUBE_LAST = 1, KUBE_ERROR = 2, KUBE_SYNC_BEGIN = 4, KUBE_SYNCED = 8 };

// The codes.
enum {
	KUBE_UNKNOWN_OPERATION = -1,
	KUBE_INVALID = -2,
	KUBE_TOO_LARGE = -3,
	KUBE_OVER_LIMIT = -4,
	KUBE_FORBIDDEN = -5,
	KUBE_NOT_FOUND = -6,
	KUBE_DEADLINE_EXCEEDED = -7,
	KUBE_UNAVAILABLE = -8,
	KUBE_BAD_POINTER = -9,
	KUBE_NOT_READY = -10,
	KUBE_INTERNAL = -11,
};

// The levels of kube_log.
enum { KUBE_DEBUG = -4, KUBE_INFO = 0, KUBE_WARNING = 4, KUBE_FAILURE = 8 };

// The functions of the host.
int64_t kube_submit(int32_t op, const void *message, uint32_t len, int64_t deadline) KUBE_IMPORT(submit);
void kube_cancel(int64_t id) KUBE_IMPORT(cancel);
int64_t kube_call(int32_t op, const void *message, uint32_t len, void *out, uint32_t cap) KUBE_IMPORT(call);
int64_t kube_fetch(void *out, uint32_t cap) KUBE_IMPORT(fetch);
void kube_log(int32_t level, const void *text, uint32_t len) KUBE_IMPORT(log);

// kube_text is text that need not end with a zero byte. A missing value has the data NULL.
typedef struct {
	const char *data;
	size_t len;
} kube_text;

// kube_buffer grows as it is written. Its zero value is empty. Its data ends with a zero byte unless it is NULL.
typedef struct {
	char *data;
	size_t len, cap;
} kube_buffer;

// kube_block is the head of temporary memory.
typedef struct kube_block {
	struct kube_block *next;
} kube_block;

static kube_block *kube_blocks;

// kube_temp returns memory that is freed when the export returns.
KUBE_UNUSED static void *kube_temp(size_t size) {
	kube_block *b = malloc(sizeof(kube_block) + size);
	if (!b) abort();
	b->next = kube_blocks;
	kube_blocks = b;
	return b + 1;
}

KUBE_UNUSED static void kube_free_temp(void) {
	while (kube_blocks) {
		kube_block *next = kube_blocks->next;
		free(kube_blocks);
		kube_blocks = next;
	}
}

KUBE_UNUSED static kube_text kube_c(const char *s) { return (kube_text){s, strlen(s)}; }

KUBE_UNUSED static bool kube_is(kube_text t, const char *s) {
	return t.data && t.len == strlen(s) && !memcmp(t.data, s, t.len);
}

// Writing.

KUBE_UNUSED static void kube_reserve(kube_buffer *b, size_t more) {
	if (b->cap - b->len > more) return;
	b->cap = 2 * b->cap + more + 64;
	b->data = realloc(b->data, b->cap);
	if (!b->data) abort();
}

KUBE_UNUSED static void kube_write(kube_buffer *b, const void *data, size_t len) {
	kube_reserve(b, len);
	if (len) memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = 0;
}

__attribute__((format(printf, 2, 3))) KUBE_UNUSED static void kube_printf(kube_buffer *b, const char *format, ...) {
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0) abort();
	kube_reserve(b, (size_t)n);
	vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
	va_end(again);
	b->len += (size_t)n;
}

// kube_quote writes text as a JSON string.
KUBE_UNUSED static void kube_quote(kube_buffer *b, kube_text t) {
	kube_write(b, "\"", 1);
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.data[i];
		if (c == '"' || c == '\\') {
			kube_printf(b, "\\%c", c);
		} else if (c < 0x20) {
			kube_printf(b, "\\u%04x", c);
		} else {
			kube_write(b, &t.data[i], 1);
		}
	}
	kube_write(b, "\"", 1);
}

// kube_frame writes a length and the data.
KUBE_UNUSED static void kube_frame(kube_buffer *b, kube_text t) {
	uint32_t len = (uint32_t)t.len;
	kube_write(b, &len, sizeof len);
	kube_write(b, t.data, t.len);
}

// kube_request writes the message of a request. The header is a JSON object of lists, or NULL.
KUBE_UNUSED static void kube_request(kube_buffer *b, const char *method, kube_text url, const char *header,
                                     kube_text body) {
	kube_buffer head = {0};
	kube_printf(&head, "{\"method\":\"%s\",\"url\":", method);
	kube_quote(&head, url);
	if (header) kube_printf(&head, ",\"header\":%s", header);
	kube_write(&head, "}", 1);
	kube_frame(b, (kube_text){head.data, head.len});
	kube_write(b, body.data, body.len);
	free(head.data);
}

// kube_delay submits a delay and returns its id or a code.
KUBE_UNUSED static int64_t kube_delay(int64_t millis) {
	char message[48];
	int n = snprintf(message, sizeof message, "{\"millis\":%lld}", (long long)millis);
	return kube_submit(KUBE_DELAY, message, (uint32_t)n, 0);
}

// kube_say writes a record at the level info.
__attribute__((format(printf, 1, 2))) KUBE_UNUSED static void kube_say(const char *format, ...) {
	char text[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n < 0) return;
	kube_log(KUBE_INFO, text, (size_t)n < sizeof text ? (uint32_t)n : (uint32_t)sizeof text - 1);
}

// Reading. These functions never read beyond the text, and return a missing value if the JSON ends too early.

KUBE_UNUSED static const char *kube_space(const char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
	return p;
}

// kube_skip returns the end of the value at p, or NULL.
KUBE_UNUSED static const char *kube_skip(const char *p, const char *end) {
	int depth = 0;
	while ((p = kube_space(p, end)) < end) {
		char c = *p;
		if (c == '"') {
			for (p++; p < end && *p != '"'; p++) p += *p == '\\';
			if (p >= end) return NULL;
			p++;
		} else if (c == '{' || c == '[') {
			depth++, p++;
		} else if (c == '}' || c == ']') {
			if (--depth < 0) return NULL;
			p++;
		} else if (c == ',' || c == ':') {
			if (!depth) return NULL;
			p++;
		} else {
			do p++;
			while (p < end && (!*p || !strchr(" \n\t\r,:]}[{\"", *p)));
		}
		if (!depth) return p;
	}
	return NULL;
}

KUBE_UNUSED static kube_text kube_value(const char *p, const char *end) {
	const char *q = kube_skip(p, end);
	return q ? (kube_text){p, (size_t)(q - p)} : (kube_text){0};
}

// kube_string returns the decoded text of a JSON string, in temporary memory that ends with a zero byte. The result for
// another value is its JSON.
KUBE_UNUSED static kube_text kube_string(kube_text value) {
	if (!value.data) return value;
	char *out = kube_temp(value.len + 1);
	size_t n = 0;
	if (value.len < 2 || value.data[0] != '"') {
		memcpy(out, value.data, value.len);
		out[value.len] = 0;
		return (kube_text){out, value.len};
	}
	for (size_t i = 1; i + 1 < value.len; i++) {
		char c = value.data[i];
		if (c != '\\' || i + 2 >= value.len) {
			out[n++] = c;
			continue;
		}
		switch (c = value.data[++i]) {
		case 'n': out[n++] = '\n'; break;
		case 't': out[n++] = '\t'; break;
		case 'r': out[n++] = '\r'; break;
		case 'b': out[n++] = '\b'; break;
		case 'f': out[n++] = '\f'; break;
		case 'u': {
			unsigned long u = 0, low = 0;
			char hex[5] = {0};
			if (i + 5 >= value.len) break;
			memcpy(hex, value.data + i + 1, 4);
			u = strtoul(hex, NULL, 16);
			i += 4;
			if (u >= 0xD800 && u < 0xDC00 && i + 7 < value.len && value.data[i + 1] == '\\' && value.data[i + 2] == 'u') {
				memcpy(hex, value.data + i + 3, 4);
				low = strtoul(hex, NULL, 16);
				if (low >= 0xDC00 && low < 0xE000) u = 0x10000 + ((u - 0xD800) << 10) + (low - 0xDC00), i += 6;
			}
			// The UTF-8 is never longer than the escape, so it fits.
			if (u < 0x80) {
				out[n++] = (char)u;
			} else if (u < 0x800) {
				out[n++] = (char)(0xC0 | u >> 6);
				out[n++] = (char)(0x80 | (u & 0x3F));
			} else if (u < 0x10000) {
				out[n++] = (char)(0xE0 | u >> 12);
				out[n++] = (char)(0x80 | (u >> 6 & 0x3F));
				out[n++] = (char)(0x80 | (u & 0x3F));
			} else {
				out[n++] = (char)(0xF0 | u >> 18);
				out[n++] = (char)(0x80 | (u >> 12 & 0x3F));
				out[n++] = (char)(0x80 | (u >> 6 & 0x3F));
				out[n++] = (char)(0x80 | (u & 0x3F));
			}
			break;
		}
		default: out[n++] = c;
		}
	}
	out[n] = 0;
	return (kube_text){out, n};
}

// kube_member returns the JSON of a member of an object, or a missing value.
KUBE_UNUSED static kube_text kube_member(kube_text object, const char *name) {
	const char *end = object.data + object.len;
	if (!object.data) return object;
	const char *p = kube_space(object.data, end);
	if (p >= end || *p++ != '{') return (kube_text){0};
	for (;;) {
		kube_text key = kube_value(p = kube_space(p, end), end);
		if (!key.data || *key.data != '"') return (kube_text){0};
		p = kube_space(key.data + key.len, end);
		if (p >= end || *p++ != ':') return (kube_text){0};
		kube_text value = kube_value(p = kube_space(p, end), end);
		if (!value.data) return value;
		if (kube_is(kube_string(key), name)) return value;
		p = kube_space(value.data + value.len, end);
		if (p >= end || *p++ != ',') return (kube_text){0};
	}
}

// kube_element returns the JSON of an element of an array and continues behind it. It begins with *at = 0.
KUBE_UNUSED static kube_text kube_element(kube_text array, size_t *at) {
	const char *end = array.data + array.len;
	if (!array.data) return array;
	const char *p = kube_space(array.data + *at, end);
	if (p >= end || (*p != '[' && *p != ',') || (*p == '[') != (*at == 0)) return (kube_text){0};
	kube_text value = kube_value(kube_space(p + 1, end), end);
	if (value.data) *at = (size_t)(value.data + value.len - array.data);
	return value;
}

KUBE_UNUSED static kube_text kube_path(kube_text object, const char *const *names) {
	for (; *names; names++) object = kube_member(object, *names);
	return object;
}

// KUBE_AT returns the JSON of a field: KUBE_AT(object, "metadata", "name").
#define KUBE_AT(object, ...) kube_path(object, (const char *const[]){__VA_ARGS__, NULL})

// KUBE_STRING returns the text of a field.
#define KUBE_STRING(object, ...) kube_string(KUBE_AT(object, __VA_ARGS__))

// kube_unframe removes a length and its data from the beginning of a text.
KUBE_UNUSED static kube_text kube_unframe(kube_text *rest) {
	uint32_t len;
	if (rest->len < sizeof len) return (kube_text){0};
	memcpy(&len, rest->data, sizeof len);
	if (len > rest->len - sizeof len) return (kube_text){0};
	kube_text t = {rest->data + sizeof len, len};
	*rest = (kube_text){t.data + len, rest->len - sizeof len - len};
	return t;
}

// kube_change removes a change from the beginning of an item of a watch. It returns false if there is none.
KUBE_UNUSED static bool kube_change(kube_text *item, kube_text *change, kube_text *object) {
	*change = kube_unframe(item);
	if (!change->data) return false;
	*object = kube_unframe(item);
	return object->data != NULL;
}

// Kept items.

// kube_item is an item that the guest has not read.
typedef struct kube_item {
	struct kube_item *next;
	int64_t id;
	char *data;
	size_t len;
	int flags;
} kube_item;

static kube_item *kube_items; // in the order in which they have arrived

// kube_add adds an item to the kept ones. The data is memory of malloc or NULL, and now belongs to the list.
KUBE_UNUSED static void kube_add(int64_t id, char *data, size_t len, int flags) {
	kube_item **end = &kube_items, *i = malloc(sizeof *i);
	if (!i) abort();
	while (*end) end = &(*end)->next;
	*i = (kube_item){.id = id, .data = data, .len = len, .flags = flags};
	*end = i;
}

// kube_next removes the oldest kept item of an id. It returns false if there is none. The text is valid until the
// export returns.
KUBE_UNUSED static bool kube_next(int64_t id, kube_text *item, int *flags) {
	for (kube_item **at = &kube_items, *i; (i = *at); at = &i->next) {
		if (i->id != id) continue;
		char *copy = kube_temp(i->len + 1);
		if (i->len) memcpy(copy, i->data, i->len);
		*item = (kube_text){copy, i->len};
		*flags = i->flags;
		*at = i->next;
		free(i->data);
		free(i);
		return true;
	}
	return false;
}

// kube_kept returns the number of kept items of an id.
KUBE_UNUSED static int kube_kept(int64_t id) {
	int n = 0;
	for (kube_item *i = kube_items; i; i = i->next) n += i->id == id;
	return n;
}

// Exports.

KUBE_UNUSED static int64_t kube_packed(const void *data, size_t len) {
	return (int64_t)((uint64_t)(uintptr_t)data << 32 | (uint32_t)len);
}

#if defined(KUBE_RECONCILER) || defined(KUBE_ACTOR)
extern const char kube_description[];

KUBE_EXPORT(kube_alloc) void *kube_alloc(uint32_t size) { return malloc(size ? size : 1); }

KUBE_EXPORT(kube_describe) int64_t kube_describe(void) {
	return kube_packed(kube_description, strlen(kube_description));
}
#endif

#ifdef KUBE_RECONCILER
void reconcile(kube_text request, kube_buffer *response);

KUBE_EXPORT(kube_reconcile) int64_t kube_reconcile(char *request, uint32_t len) {
	static kube_buffer response; // the host reads it after the export has returned
	response.len = 0;
	reconcile((kube_text){request, len}, &response);
	if (!response.len) kube_printf(&response, "{}");
	kube_free_temp();
	free(request);
	return kube_packed(response.data, response.len);
}
#endif

#ifdef KUBE_ACTOR
int start(kube_text startup);
int wake(int64_t id, kube_text item, int flags);

static bool kube_keeps;

// kube_keep keeps the item that wake has received.
KUBE_UNUSED static void kube_keep(void) { kube_keeps = true; }

KUBE_EXPORT(kube_start) int kube_start(char *startup, uint32_t len) {
	int code = start((kube_text){startup, len});
	kube_free_temp();
	free(startup);
	return code;
}

KUBE_EXPORT(kube_wake) int kube_wake(int64_t id, char *item, uint32_t len, int flags) {
	if (!len && !flags) return kube_kept(id); // the host asks for the number of unread items
	if (!len) item = NULL;
	kube_keeps = false;
	int code = wake(id, (kube_text){item, len}, flags);
	if (kube_keeps) kube_add(id, item, len, flags);
	else free(item);
	kube_free_temp();
	return code < 0 ? code : code + kube_kept(id);
}

// A guest without a scheduler has no timers of its own.
KUBE_EXPORT(kube_tick) void kube_tick(void) {}
#endif

#endif
