// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/host"
)

// startClaims are the cases of section 2: the exports.
func startClaims() []claim {
	return []claim{{
		name: "kube_start receives the module its namespace and arguments",
		run: func(g *guest) {
			var s abi.Startup
			if err := json.Unmarshal([]byte(g.do("startup")), &s); err != nil {
				g.t.Fatal(err)
			}
			if s.Module != g.module.Name || s.Namespace != "home" || s.Server == "" ||
				!slices.Equal(s.Args, []string{"control"}) || !slices.Equal(s.Features, []string{abi.FeatureSeen}) {
				g.t.Errorf("the message of kube_start is %+v", s)
			}
		},
	}, {
		name: "kube_start receives the environment of the module",
		run: func(g *guest) {
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", Env: map[string]string{"COLOR": "green"}})
			if text := other.do("startup"); !strings.Contains(text, `"COLOR":"green"`) {
				g.t.Errorf("the message of kube_start is %s", text)
			}
		},
	}, {
		name: "a code of kube_start ends the instance",
		run: func(g *guest) {
			name := g.module.Name + "-2"
			g.set(g.t, host.Module{Name: name, Args: []string{"code -2"}})
			g.await(g.t, "the failure of kube_start", func() bool { return g.status(name).Phase == host.Quarantined })
			if err := g.status(name).Err; err == nil {
				g.t.Error("the status has no error")
			}
		},
	}, {
		name: "an item is not lost when kube_alloc returns 0",
		run: func(g *guest) {
			delay := abi.Delay{Millis: 30}
			id := g.submit("l", abi.OpDelay, delay)
			body := g.submit("l", abi.OpRequest, get("/test/echo"))
			g.last(id)
			g.last(body)
			id = g.submit("l", abi.OpRequest, get("/test/big?bytes=100"))
			g.last(id)
			g.do("fail-alloc 1")
			// The result of the command needs memory for the command: it is the item that fails. Either it arrives later, or
			// the instance ends and another one starts.
			word := g.send("count")
			g.await(g.t, "the item, or another instance", func() bool {
				return len(g.reports(word)) > 0 || len(g.reports("start")) > 1
			})
		},
	}}
}

// refused are messages that are not valid, by operation.
func refused() map[string]struct {
	op      abi.Operation
	message []byte
} {
	type refusal = struct {
		op      abi.Operation
		message []byte
	}
	halved, nameless := configMaps("x"), configMaps("x")
	halved.Projection, nameless.Resource = "half", ""
	return map[string]refusal{
		"a request without a head":           {abi.OpRequest, nil},
		"a request with a short head":        {abi.OpRequest, []byte{200, 0, 0, 0, '{', '}'}},
		"a request with a huge head":         {abi.OpRequest, []byte{255, 255, 255, 255, '{', '}'}},
		"a request with invalid JSON":        {abi.OpRequest, []byte{2, 0, 0, 0, '{', '{'}},
		"a request with another type":        {abi.OpRequest, append([]byte{12, 0, 0, 0}, `{"method":1}`...)},
		"a request with a complete URL":      {abi.OpRequest, encode(get("http://other.test/api"))},
		"a request to another host":          {abi.OpRequest, encode(get("//other.test/api"))},
		"a request with a relative path":     {abi.OpRequest, encode(get("api/v1"))},
		"a request with an invalid method":   {abi.OpRequest, encode(abi.Request{Method: "G T", URL: "/test/echo"})},
		"a watch with invalid JSON":          {abi.OpWatch, []byte("{")},
		"a watch with an unknown projection": {abi.OpWatch, encode(halved)},
		"a watch without a resource":         {abi.OpWatch, encode(nameless)},
		"a delay with invalid JSON":          {abi.OpDelay, []byte("millis")},
		"a delay with another type":          {abi.OpDelay, []byte(`{"millis":"soon"}`)},
		"an empty delay":                     {abi.OpDelay, nil},
	}
}

// submitClaims are the cases of sections 3 and 4 that concern ids, and messages that the host refuses.
func submitClaims() []claim {
	all := []claim{{
		name: "ids are positive and increase",
		run: func(g *guest) {
			last := int64(0)
			for range 5 {
				id := g.submit("l", abi.OpDelay, abi.Delay{Millis: 1})
				if id <= last {
					g.t.Errorf("id %d follows %d", id, last)
				}
				last = id
			}
		},
	}, {
		name: "ids are not used again after an operation has ended",
		run: func(g *guest) {
			seen := map[int64]bool{}
			for range 10 {
				id := g.submit("l", abi.OpDelay, abi.Delay{})
				if seen[id] {
					g.t.Errorf("id %d was used twice", id)
				}
				seen[id] = true
				g.last(id)
			}
		},
	}, {
		name: "a refused submit uses no operation and the next one works",
		run: func(g *guest) {
			g.wantCode(abi.Invalid, "submit l %d 0 7b", abi.OpDelay)
			g.last(g.submit("l", abi.OpDelay, abi.Delay{}))
		},
	}, {
		name: "an unknown operation is refused by submit and call",
		run: func(g *guest) {
			for _, op := range []int{0, 99, -1, 1 << 30} {
				g.wantCode(abi.UnknownOperation, "submit l %d 0 7b7d", op)
				g.wantCode(abi.UnknownOperation, "call %d 100 7b7d", op)
			}
		},
	}, {
		name: "get and list can not be submitted",
		run: func(g *guest) {
			g.wantCode(abi.UnknownOperation, "submit l %d 0 %x", abi.OpGet, encode(abi.Get{Watch: 1, Name: "a"}))
			g.wantCode(abi.UnknownOperation, "submit l %d 0 %x", abi.OpList, encode(abi.List{Watch: 1}))
		},
	}, {
		name: "watch and delay can not be called",
		run: func(g *guest) {
			g.wantCode(abi.UnknownOperation, "call %d 100 %x", abi.OpWatch, encode(configMaps("x")))
			g.wantCode(abi.UnknownOperation, "call %d 100 %x", abi.OpDelay, encode(abi.Delay{}))
		},
	}, {
		name: "unknown fields of messages are ignored",
		run: func(g *guest) {
			g.last(g.submit("l", abi.OpDelay, `{"millis":1,"unknown":{"a":[1]}}`))
		},
	}, {
		name: "a message outside of the memory is refused",
		run: func(g *guest) {
			for _, p := range []string{"0xfffffff0 16", "0xffffff00 8", "0x7fffffff 1"} {
				g.wantCode(abi.BadPointer, "submit-pointer %d %s", abi.OpDelay, p)
			}
			for _, p := range []string{"0x7fffffff 0x7fffffff", "0 0xffffffff"} {
				g.wantCodes([]abi.Code{abi.BadPointer, abi.TooLarge}, "submit-pointer %d %s", abi.OpDelay, p)
			}
		},
	}, {
		name: "a pointer whose sum with the length overflows is refused",
		run: func(g *guest) {
			g.wantCode(abi.BadPointer, "submit-pointer %d 0xffffffff 2", abi.OpRequest)
			g.wantCode(abi.BadPointer, "submit-pointer %d 0xfffffff0 0x20", abi.OpRequest)
			for _, p := range []string{"0xffffffff 0xffffffff", "0x80000000 0x80000000", "0x80000000 0x80000001"} {
				g.wantCodes([]abi.Code{abi.BadPointer, abi.TooLarge}, "submit-pointer %d %s", abi.OpRequest, p)
			}
		},
	}, {
		name: "a result outside of the memory is refused",
		run: func(g *guest) {
			message := encode(get("/test/echo"))
			g.wantCode(abi.BadPointer, "call-pointer %d %x 0xfffffff0 4096", abi.OpRequest, message)
			g.wantCode(abi.BadPointer, "call-pointer %d %x 0xffffffff 0xffffffff", abi.OpRequest, message)
			g.last(g.submit("l", abi.OpDelay, abi.Delay{})) // the instance lives
		},
	}, {
		name: "a message longer than the limit is refused",
		run:  func(g *guest) { g.wantCode(abi.TooLarge, "submit-filled %d %d", abi.OpRequest, abi.MaxMessage+1) },
	}, {
		name: "a module has only the allowed number of operations", limits: host.Limits{InFlight: 4},
		run: func(g *guest) {
			var ids []int64
			for range 3 { // the stream of commands is the fourth
				ids = append(ids, g.submit("l", abi.OpDelay, abi.Delay{Millis: 1 << 30}))
			}
			g.wantCode(abi.OverLimit, "submit l %d 0 %x", abi.OpDelay, encode(abi.Delay{}))
			g.do("cancel %d", ids[0])
			g.last(g.submit("l", abi.OpDelay, abi.Delay{}))
		},
	}}
	for name, r := range refused() {
		all = append(all, claim{name: name + " is refused", run: func(g *guest) {
			g.wantCode(abi.Invalid, "submit l %d 0 %x", r.op, r.message)
			if r.op == abi.OpRequest {
				g.wantCode(abi.Invalid, "call %d 100 %x", r.op, r.message)
			}
		}})
	}
	return all
}

// callClaims are the cases of call and fetch.
func callClaims() []claim {
	return []claim{{
		name: "call returns the head and the body of a response",
		run: func(g *guest) {
			message := requestWith(abi.Request{Method: "PUT", URL: "/test/echo"}, []byte("body"))
			text := g.do("call %d 4096 %x", abi.OpRequest, message)
			if !strings.Contains(text, `"status":200`) || !strings.HasSuffix(text, fmt.Sprintf("PUT  %x", "body")) {
				g.t.Errorf("the result is %q", text)
			}
		},
	}, {
		name: "a status that call returns is not an error",
		run: func(g *guest) {
			text := g.do("call %d 4096 %x", abi.OpRequest, encode(get("/test/absent")))
			if !strings.Contains(text, `"status":404`) {
				g.t.Errorf("the result is %q", text)
			}
		},
	}, {
		name: "a result that does not fit is not written and can be fetched",
		run: func(g *guest) {
			message := encode(get("/test/big?bytes=1000"))
			text := g.do("call %d 10 %x", abi.OpRequest, message)
			if !strings.HasSuffix(text, " untouched") {
				g.t.Fatalf("the result is %q, want the length and an untouched buffer", text)
			}
			want := strings.TrimSuffix(text, " untouched")
			if got, _, _ := strings.Cut(g.do("fetch 100000"), " "); got != want {
				g.t.Errorf("fetch = %s, want %s", got, want)
			}
		},
	}, {
		name: "a result is kept until the next call",
		run: func(g *guest) {
			message := encode(get("/test/big?bytes=1000"))
			want := g.number("call %d 10 %x", abi.OpRequest, message)
			for range 2 {
				if got := g.number("fetch 100000"); got != want {
					g.t.Errorf("fetch = %d, want %d", got, want)
				}
			}
			g.number("call %d 100000 %x", abi.OpRequest, message)
			g.wantCode(abi.NotFound, "fetch 100000")
		},
	}, {
		name: "fetch into a buffer that is too small or outside of the memory keeps the result",
		run: func(g *guest) {
			want := g.number("call %d 10 %x", abi.OpRequest, encode(get("/test/big?bytes=1000")))
			if got := g.number("fetch 10"); got >= 0 {
				g.t.Errorf("fetch = %d, want a code", got)
			}
			g.wantCode(abi.BadPointer, "fetch-pointer 0xfffffff0 100000")
			if got := g.number("fetch 100000"); got != want {
				g.t.Errorf("fetch = %d, want %d", got, want)
			}
		},
	}, {
		name: "fetch without a result returns a code",
		run:  func(g *guest) { g.wantCode(abi.NotFound, "fetch 100") },
	}, {
		name: "a failed call discards the kept result",
		run: func(g *guest) {
			g.number("call %d 10 %x", abi.OpRequest, encode(get("/test/big?bytes=1000")))
			g.wantCode(abi.UnknownOperation, "call 99 10 7b7d")
			g.wantCode(abi.NotFound, "fetch 100000")
		},
	}, {
		name: "a result longer than the limit is refused",
		run: func(g *guest) {
			g.wantCode(abi.TooLarge, "call %d 100 %x", abi.OpRequest, encode(get("/test/big?bytes=4194304")))
			g.wantCode(abi.NotFound, "fetch 100")
		},
	}, {
		name: "a called request whose connection breaks returns a code",
		run: func(g *guest) {
			g.wantCode(abi.Unavailable, "call %d 100000 %x", abi.OpRequest, encode(get("/test/cut")))
			g.wantCode(abi.Unavailable, "call %d 100000 %x", abi.OpRequest, encode(get("/test/drop")))
		},
	}}
}

// requestClaims are the cases of section 5.
func requestClaims() []claim {
	all := []claim{{
		name: "a request with a large head is refused, and one with a large body is not",
		run: func(g *guest) {
			large := abi.Request{Method: "POST", URL: "/test/echo", Header: map[string][]string{}}
			for n := range 8000 {
				large.Header[fmt.Sprintf("a%04d", n)] = []string{}
			}
			g.wantCode(abi.TooLarge, "submit l %d 0 %x", abi.OpRequest, encode(large))
			g.wantCode(abi.TooLarge, "call %d 100 %x", abi.OpRequest, encode(large))
			g.wantCode(abi.TooLarge, "call %d 100 %x", abi.OpHTTP, encode(large))
			small := requestWith(abi.Request{Method: "POST", URL: "/test/status?code=200"}, make([]byte, abi.MaxHead))
			g.wantResponse(g.submit("l", abi.OpRequest, small), 200)
		},
	}, {
		name: "a response is a head and then the body",
		run: func(g *guest) {
			id := g.submit("l", abi.OpRequest, abi.Request{
				Method: "GET", URL: "/test/echo?a=b", Header: map[string][]string{"X-Test": {"one"}},
			})
			g.wantResponse(id, 200)
			if body := g.body(id); body != "GET one " {
				g.t.Errorf("the body is %q", body)
			}
		},
	}, {
		name: "the body of a request arrives unchanged",
		run: func(g *guest) {
			sent := "\x00\x01{\"\xff\n" + strings.Repeat("z", 500)
			id := g.submit("l", abi.OpRequest, requestWith(abi.Request{Method: "POST", URL: "/test/echo"}, []byte(sent)))
			if got := unhex(g.t, strings.TrimPrefix(g.body(id), "POST  ")); got != sent {
				g.t.Errorf("the server has received %q", got)
			}
		},
	}, {
		name: "a response of megabytes arrives whole in chunks",
		run: func(g *guest) {
			const size = 3 << 20
			id := g.submit("q", abi.OpRequest, get(fmt.Sprintf("/test/big?bytes=%d", size)))
			s := g.awaitStatistics(id, func(s statistics) bool { return s.flags&abi.FlagLast != 0 })
			if head := s.bytes - size; head <= 0 || head > 2000 {
				g.t.Errorf("%d bytes have arrived, want %d and a head", s.bytes, size)
			}
			if s.items < size/abi.MaxChunk+1 || s.flags != abi.FlagLast {
				g.t.Errorf("%d items with the flags %d have arrived", s.items, s.flags)
			}
		},
	}, {
		name: "a response larger than the limit of a message can be submitted",
		run: func(g *guest) {
			id := g.submit("q", abi.OpRequest, get("/test/big?bytes=5000000"))
			g.awaitStatistics(id, func(s statistics) bool { return s.flags&abi.FlagLast != 0 && s.bytes > 5000000 })
		},
	}, {
		name: "a connection that breaks in the body is an error after the head",
		run: func(g *guest) {
			id := g.submit("l", abi.OpRequest, get("/test/cut"))
			g.wantError(id, abi.Unavailable)
			g.wantResponse(id, 200)
		},
	}, {
		name: "a connection that breaks before the response is an error",
		run: func(g *guest) {
			id := g.submit("l", abi.OpRequest, get("/test/drop"))
			g.wantError(id, abi.Unavailable)
			if n := len(g.items(id)); n != 1 {
				g.t.Errorf("%d items have arrived, want 1", n)
			}
		},
	}, {
		name: "a status is a response and not an error",
		run: func(g *guest) {
			for _, code := range []int{404, 409, 429, 500, 503} {
				g.wantResponse(g.submit("l", abi.OpRequest, get(fmt.Sprintf("/test/status?code=%d", code))), code)
			}
		},
	}, {
		name: "a response without a body ends with the flag last",
		run: func(g *guest) {
			id := g.submit("l", abi.OpRequest, get("/test/status?code=204"))
			g.wantResponse(id, 204)
			if body := g.body(id); body != "" {
				g.t.Errorf("the body is %q", body)
			}
		},
	}, {
		name: "the host adds its credentials and the guest does not see them",
		run: func(g *guest) {
			path := "/api/v1/namespaces/" + g.module.Name + "/configmaps/none"
			g.wantResponse(g.submit("l", abi.OpRequest, get(path)), 404)
			all := g.server.received(func(r received) bool { return r.path == path })
			if len(all) != 1 || !strings.HasPrefix(all[0].header.Get("Authorization"), "Bearer ") {
				g.t.Errorf("the server has received %v", all)
			}
			for _, r := range g.logged(g.module.Name) {
				if strings.Contains(r.text, "a-secret-of-the-host") {
					g.t.Errorf("the guest has seen the credentials: %s", r.text)
				}
			}
		},
	}, {
		name: "a request to a server that is not allowed is refused",
		run: func(g *guest) {
			for _, url := range []string{"http://other.test/", g.server.URL + "/test/echo", "https://127.0.0.1:1/"} {
				g.wantCode(abi.Forbidden, "submit l %d 0 %x", abi.OpHTTP, encode(get(url)))
				g.wantCode(abi.Forbidden, "call %d 100 %x", abi.OpHTTP, encode(get(url)))
			}
		},
	}, {
		name: "a request to an allowed server carries no credentials",
		run: func(g *guest) {
			path := "/test/" + g.module.Name
			outside := httptest.NewServer(g.server.Config.Handler)
			defer outside.Close()
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", Origins: []string{outside.URL}})
			id := other.submit("l", abi.OpHTTP, get(outside.URL+path))
			other.wantResponse(id, 404)
			text := other.do("call %d 4096 %x", abi.OpHTTP, encode(get(outside.URL+path)))
			if !strings.Contains(text, `"status":404`) {
				g.t.Errorf("the result of call is %q", text)
			}
			all := g.server.received(func(r received) bool { return r.path == path })
			if len(all) != 2 || all[0].header.Get("Authorization") != "" {
				g.t.Errorf("the server has received %v", all)
			}
		},
	}, {
		name: "a request to an allowed server may have credentials of the guest",
		run: func(g *guest) {
			outside := httptest.NewServer(g.server.Config.Handler)
			defer outside.Close()
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", Origins: []string{outside.URL}})
			message := func(name string) []byte {
				return encode(abi.Request{
					Method: "GET", URL: outside.URL + "/test/" + g.module.Name, Header: map[string][]string{name: {"x"}},
				})
			}
			for _, name := range []string{"Authorization", "Cookie"} {
				other.wantResponse(other.submit("l", abi.OpHTTP, message(name)), 404)
				if all := g.server.received(func(r received) bool {
					return r.path == "/test/"+g.module.Name && r.header.Get(name) == "x"
				}); len(all) != 1 {
					g.t.Errorf("the server has received %v, want one request with the header %s", all, name)
				}
			}
			for _, name := range []string{"Host", "Connection", "Upgrade", "Transfer-Encoding", "Proxy-Authorization"} {
				other.wantCode(abi.Forbidden, "submit l %d 0 %x", abi.OpHTTP, message(name))
				other.wantCode(abi.Forbidden, "call %d 100 %x", abi.OpHTTP, message(name))
			}
		},
	}, {
		name: "the origin of a URL must be equal to an allowed one",
		run: func(g *guest) {
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2", Origins: []string{"https://other.test"}})
			for url, want := range map[string]abi.Code{
				"https://user@other.test/": abi.Invalid, "https://other.test/#fragment": abi.Invalid,
				"https://OTHER.test/": abi.Forbidden, "https://other.test:443/": abi.Forbidden, "https://other.test./": abi.Forbidden,
				"http://other.test/": abi.Forbidden,
			} {
				other.wantCode(want, "submit l %d 0 %x", abi.OpHTTP, encode(get(url)))
				other.wantCode(want, "call %d 100 %x", abi.OpHTTP, encode(get(url)))
			}
		},
	}, {
		name: "the method CONNECT is refused",
		run: func(g *guest) {
			g.wantCode(abi.Forbidden, "submit l %d 0 %x", abi.OpRequest, encode(abi.Request{Method: "CONNECT", URL: "/test/echo"}))
		},
	}, {
		name: "a negative deadline is refused",
		run: func(g *guest) {
			g.wantCode(abi.Invalid, "submit l %d -1 %x", abi.OpDelay, encode(abi.Delay{}))
		},
	}, {
		name: "a deadline ends a request without a response",
		run: func(g *guest) {
			key := "for=" + g.module.Name
			id := g.number("submit l %d 50 %x", abi.OpRequest, encode(get("/test/hang?"+key)))
			g.wantError(id, abi.DeadlineExceeded)
			g.ended(key)
		},
	}, {
		name: "a deadline ends a response without an end",
		run: func(g *guest) {
			key := "for=" + g.module.Name
			id := g.number("submit l %d 200 %x", abi.OpRequest, encode(get("/test/stall?"+key)))
			g.wantError(id, abi.DeadlineExceeded)
			g.ended(key)
		},
	}, {
		name: "a deadline ends a delay and a watch",
		run: func(g *guest) {
			id := g.number("submit l %d 30 %x", abi.OpDelay, encode(abi.Delay{Millis: 1 << 30}))
			g.wantError(id, abi.DeadlineExceeded)
			id = g.number("submit w %d 30 %x", abi.OpWatch, encode(configMaps(g.module.Name)))
			g.wantError(id, abi.DeadlineExceeded)
		},
	}, {
		name: "an operation that ends before its deadline has no error",
		run: func(g *guest) {
			id := g.number("submit l %d 60 %x", abi.OpDelay, encode(abi.Delay{Millis: 1}))
			other := g.submit("l", abi.OpDelay, abi.Delay{Millis: 150})
			if all := g.last(id); len(all) != 1 || all[0].flags != abi.FlagLast {
				g.t.Errorf("the items are %+v", all)
			}
			g.last(other)
		},
	}}
	for name, spellings := range map[string][]string{
		"Authorization": {"Authorization", "authorization", "AUTHORIZATION"}, "Cookie": {"Cookie"}, "Host": {"Host", "host"},
		"Proxy-Authorization": {"Proxy-Authorization", "proxy-authorization"}, "Proxy-Connection": {"Proxy-Connection"},
		"Impersonate-User": {"Impersonate-User", "impersonate-user"}, "Impersonate-Group": {"Impersonate-Group"},
		"Impersonate-Uid": {"Impersonate-Uid"}, "Impersonate-Extra": {"Impersonate-Extra-Scopes"},
		"Connection": {"Connection", "connection"}, "Upgrade": {"Upgrade", "upgrade"},
		"Transfer-Encoding": {"Transfer-Encoding", "transfer-encoding"},
	} {
		all = append(all, claim{name: "the header " + name + " is refused", run: func(g *guest) {
			for _, spelling := range spellings {
				head := abi.Request{Method: "GET", URL: "/test/echo", Header: map[string][]string{spelling: {"x"}}}
				g.wantCode(abi.Forbidden, "submit l %d 0 %x", abi.OpRequest, encode(head))
				g.wantCode(abi.Forbidden, "call %d 100 %x", abi.OpRequest, encode(head))
			}
		}})
	}
	return all
}

// ended waits until a request that hangs has arrived and ended.
func (g *guest) ended(key string) {
	g.t.Helper()
	g.await(g.t, "the end of the request "+key, func() bool {
		g.server.mu.Lock()
		defer g.server.mu.Unlock()
		n, ok := g.server.hanging[key]
		return ok && n == 0
	})
}

// hangs waits until a request hangs.
func (g *guest) hangs(key string) {
	g.t.Helper()
	g.await(g.t, "the request "+key, func() bool {
		g.server.mu.Lock()
		defer g.server.mu.Unlock()
		return g.server.hanging[key] > 0
	})
}

// cancelClaims are the cases of cancel.
func cancelClaims() []claim {
	return []claim{{
		name: "an operation that is cancelled at once sends no item",
		run: func(g *guest) {
			for _, message := range [][]byte{encode(abi.Delay{}), encode(abi.Delay{Millis: 10})} {
				if id := g.number("submit-cancel %d %x", abi.OpDelay, message); id <= 0 {
					g.t.Errorf("submit = %d", id)
				}
			}
			g.number("submit-cancel %d %x", abi.OpRequest, encode(get("/test/echo")))
			g.number("submit-cancel %d %x", abi.OpWatch, encode(configMaps(g.module.Name)))
			g.barrier()
		},
	}, {
		name: "no item arrives after a cancel of a stream",
		run: func(g *guest) {
			id := g.submit("q", abi.OpRequest, get("/test/endless"))
			g.awaitStatistics(id, func(s statistics) bool { return s.items > 10 })
			g.do("cancel %d", id)
			before := g.statistics(id)
			g.barrier()
			if after := g.statistics(id); after != before {
				g.t.Errorf("the statistics changed from %+v to %+v", before, after)
			}
		},
	}, {
		name: "cancel ends the request on the server",
		run: func(g *guest) {
			key := "for=" + g.module.Name
			id := g.submit("l", abi.OpRequest, get("/test/hang?"+key))
			g.hangs(key)
			g.do("cancel %d", id)
			g.ended(key)
			if all := g.items(id); len(all) > 0 {
				g.t.Errorf("items have arrived after the cancel: %+v", all)
			}
		},
	}, {
		name: "no change arrives after a cancel of a watch",
		run: func(g *guest) {
			id := g.watch("w", configMaps(g.module.Name))
			g.synced(id)
			g.do("cancel %d", id)
			g.put("late", nil)
			g.barrier()
			if all := g.changes(id); len(all) > 0 {
				g.t.Errorf("changes have arrived after the cancel: %+v", all)
			}
		},
	}, {
		name: "cancel can be repeated",
		run: func(g *guest) {
			id := g.submit("l", abi.OpDelay, abi.Delay{Millis: 1 << 30})
			g.do("cancel %d", id)
			g.do("cancel %d", id)
			g.barrier()
		},
	}, {
		name: "a cancel of an operation that has ended is ignored",
		run: func(g *guest) {
			id := g.submit("l", abi.OpDelay, abi.Delay{})
			g.last(id)
			g.do("cancel %d", id)
			g.barrier()
		},
	}, {
		name: "a cancel of an unknown operation is ignored",
		run: func(g *guest) {
			for _, id := range []int64{0, -1, 1 << 40, -1 << 63} {
				g.do("cancel %d", id)
			}
			g.barrier()
		},
	}}
}

// depthClaims are the cases of guests that do not read.
func depthClaims() []claim {
	full := func(g *guest, id int64) {
		g.t.Helper()
		g.awaitStatistics(id, func(s statistics) bool { return s.held >= abi.MaxDepth })
		g.barrier()
		if s := g.statistics(id); s.held != abi.MaxDepth {
			g.t.Errorf("the guest has %d unread items, want at most %d", s.held, abi.MaxDepth)
		}
	}
	return []claim{{
		name: "a guest that does not read receives at most 64 items",
		run: func(g *guest) {
			full(g, g.submit("h", abi.OpRequest, get("/test/endless")))
		},
	}, {
		name: "the rest arrives when the guest has read and nothing is lost",
		run: func(g *guest) {
			const size = 100 * abi.MaxChunk
			id := g.submit("h", abi.OpRequest, get(fmt.Sprintf("/test/big?bytes=%d", size)))
			full(g, id)
			deadline := 0
			for s := g.statistics(id); s.flags&abi.FlagLast == 0; s = g.statistics(id) {
				if s.held > abi.MaxDepth {
					g.t.Fatalf("the guest has %d unread items", s.held)
				}
				if deadline++; deadline > 5000 {
					g.t.Fatalf("the response has not ended: %+v", s)
				}
				g.do("read %d 7", id)
			}
			if s := g.statistics(id); s.bytes <= size || s.bytes > size+2000 {
				g.t.Errorf("%d bytes have arrived, want %d and a head", s.bytes, size)
			}
		},
	}, {
		name: "a stream that is not read does not delay the others",
		run: func(g *guest) {
			full(g, g.submit("h", abi.OpRequest, get("/test/endless")))
			g.wantResponse(g.submit("l", abi.OpRequest, get("/test/echo")), 200)
			g.last(g.submit("l", abi.OpDelay, abi.Delay{Millis: 1}))
			id := g.watch("w", configMaps(g.module.Name))
			g.put("a", nil)
			g.known(id, "a")
		},
	}, {
		name: "a stream that is not read can be cancelled",
		run: func(g *guest) {
			id := g.submit("h", abi.OpRequest, get("/test/endless"))
			full(g, id)
			g.do("cancel %d", id)
			g.do("read %d 100", id)
			g.barrier()
		},
	}, {
		name: "a guest that does not read does not delay other guests",
		run: func(g *guest) {
			mine := g.watch("H", configMaps(g.module.Name))
			g.synced2(mine)
			other := g.start(g.t, host.Module{Name: g.module.Name + "-2"})
			theirs := other.watch("w", configMaps(g.module.Name))
			other.synced(theirs)
			version := ""
			for n := range 3 * abi.MaxDepth {
				version = g.put("busy", object{"n": fmt.Sprint(n)})
			}
			other.version(theirs, "busy", version)
			if s := g.statistics(mine); s.held > abi.MaxDepth {
				g.t.Errorf("the guest has %d unread items, want at most %d", s.held, abi.MaxDepth)
			}
		},
	}}
}

// delayClaims are the cases of delays.
func delayClaims() []claim {
	return []claim{{
		name: "a delay is one empty item with the flag last",
		run: func(g *guest) {
			for _, millis := range []int64{0, 1, 30} {
				id := g.submit("l", abi.OpDelay, abi.Delay{Millis: millis})
				if all := g.last(id); len(all) != 1 || all[0].flags != abi.FlagLast || all[0].size != 0 {
					g.t.Errorf("the items are %+v", all)
				}
			}
		},
	}, {
		name: "a shorter delay ends before a longer one that was submitted first",
		run: func(g *guest) {
			long := g.submit("l", abi.OpDelay, abi.Delay{Millis: 3000})
			short := g.submit("l", abi.OpDelay, abi.Delay{Millis: 5})
			g.last(long)
			var order []string
			for _, line := range g.reports("+") {
				order = append(order, strings.Fields(line)[0])
			}
			if want := []string{fmt.Sprint(short), fmt.Sprint(long)}; !slices.Equal(order, want) {
				g.t.Errorf("the delays ended in the order %v, want %v", order, want)
			}
		},
	}, {
		name: "each of ten thousand delays ends once and none too early",
		run: func(g *guest) {
			if refused := g.number("delays 10000 1500"); refused != 0 {
				g.t.Errorf("%d delays were refused", refused)
			}
			g.awaitFor(g.t, 2*patience, "the end of all delays", func() bool { return len(g.reports("d")) > 0 })
			if early := g.reports("d")[0]; early != "0" {
				g.t.Errorf("%s delays ended too early", early)
			}
			g.barrier()
		},
	}, {
		name: "timers of a scheduler run", only: "Go",
		run: func(g *guest) {
			for _, millis := range []int{3000, 1, 30} {
				g.do("sleep %d", millis)
			}
			g.await(g.t, "the end of all timers", func() bool { return len(g.reports("t")) == 3 })
			if order := g.reports("t"); !slices.Equal(order, []string{"2", "3", "1"}) {
				g.t.Errorf("the timers ended in the order %v", order)
			}
		},
	}}
}
