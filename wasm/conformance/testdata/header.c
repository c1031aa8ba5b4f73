// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// A program that checks the functions of kube.h that read and write JSON. It prints what is wrong.

#include "kube.h"

static void check(const char *what, kube_text got, const char *want) {
	if (want ? !kube_is(got, want) : got.data != NULL) {
		printf("%s = %.*s, want %s\n", what, (int)got.len, got.data ? got.data : "nothing", want ? want : "nothing");
	}
}

// Returns a copy of the text that ends where the memory ends, so that reading beyond it is a trap.
static kube_text at_end(const char *page, const char *text, size_t len) {
	char *to = (char *)page + 65536 - len;
	memcpy(to, text, len);
	return (kube_text){to, len};
}

int main(void) {
	kube_temp(1); // the allocator takes the memory that exists at its first call
	const char *page = (const char *)(__builtin_wasm_memory_grow(0, 1) * 65536);
	static const char document[] =
		" { \"a\" : {\"b\": [1, {\"c\":\"}\"}, -2.5e3], \"b2\":null}, \"q\\u0075ote\":\"x\\\"\\\\\\n\\u00e9\\ud83d\\ude00\","
		"\"long name\":true,\"empty\":\"\",\"o\":{}, \"last\" : \"z\" } ";
	kube_text d = at_end(page, document, sizeof document - 1);
	check("a.b", KUBE_AT(d, "a", "b"), "[1, {\"c\":\"}\"}, -2.5e3]");
	check("a.b2", KUBE_AT(d, "a", "b2"), "null");
	check("quote", KUBE_STRING(d, "quote"), "x\"\\\n\xc3\xa9\xf0\x9f\x98\x80");
	check("long name", KUBE_AT(d, "long name"), "true");
	check("empty", KUBE_STRING(d, "empty"), "");
	check("o", KUBE_AT(d, "o"), "{}");
	check("last", KUBE_STRING(d, "last"), "z");
	check("absent", KUBE_AT(d, "absent"), NULL);
	check("a.absent.x", KUBE_AT(d, "a", "absent", "x"), NULL);
	check("last.x", KUBE_AT(d, "last", "x"), NULL);

	size_t at = 0;
	kube_text list = KUBE_AT(d, "a", "b");
	check("element 0", kube_element(list, &at), "1");
	check("element 1", kube_element(list, &at), "{\"c\":\"}\"}");
	check("element 2", kube_element(list, &at), "-2.5e3");
	check("element 3", kube_element(list, &at), NULL);
	at = 0;
	check("element of an empty list", kube_element(kube_c("[]"), &at), NULL);

	// No prefix of the document, and no broken text, makes a function read beyond the text or run forever.
	for (size_t n = 0; n < sizeof document - 1; n++) {
		kube_text t = at_end(page, document, n);
		KUBE_STRING(t, "last", "x");
		KUBE_STRING(t, "quote");
		KUBE_STRING(t, "a", "b");
		at = 0;
		while (kube_element(t, &at).data) {}
	}
	static const char *const broken[] = {
		"{", "}", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\":\"\\", "{\"a\":\"\\u", "{\"a\":\"\\u12\"}", "{,}",
		"{:}", "{\"a\" 1}", "[[[[", "]]]]", "{\"a\":1,,}", "\"\\ud83d\"", "\"\\ud83d\\u\"", "\\", "{\"a\":\x01}", "",
	};
	for (size_t n = 0; n < sizeof broken / sizeof *broken; n++) {
		kube_text t = at_end(page, broken[n], strlen(broken[n]));
		KUBE_STRING(t, "a");
		kube_string(t);
		at = 0;
		while (kube_element(t, &at).data) {}
	}
	kube_text zeros = at_end(page, "{\"a\":\0\0\0\0}", 10);
	KUBE_STRING(zeros, "a");

	kube_buffer b = {0};
	kube_quote(&b, (kube_text){"a\"\\\n\0\xc3\xa9", 7});
	check("quoted", (kube_text){b.data, b.len}, "\"a\\\"\\\\\\u000a\\u0000\xc3\xa9\"");

	b.len = 0;
	kube_frame(&b, kube_c("{\"type\":\"set\"}"));
	kube_frame(&b, kube_c("{}"));
	kube_frame(&b, kube_c("{\"type\":\"gone\"}"));
	kube_frame(&b, kube_c(""));
	for (size_t n = 0; n <= b.len; n++) {
		kube_text item = at_end(page, b.data, n), change, object;
		int changes = 0;
		while (kube_change(&item, &change, &object)) {
			check("type", KUBE_STRING(change, "type"), changes++ ? "gone" : "set");
		}
		if (n == b.len && (changes != 2 || item.len)) printf("%d changes, and a rest of %zu\n", changes, item.len);
	}

	b.len = 0;
	kube_request(&b, "PUT", kube_c("/a\"b"), "{\"X\":[\"y\"]}", kube_c("body"));
	kube_text message = {b.data, b.len};
	check("head", kube_unframe(&message), "{\"method\":\"PUT\",\"url\":\"/a\\\"b\",\"header\":{\"X\":[\"y\"]}}");
	check("body", message, "body");

	kube_free_temp();
	return 0;
}
