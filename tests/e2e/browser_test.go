// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium. It speaks the DevTools protocol over a pipe, see
// https://chromedevtools.github.io/devtools-protocol.
type browser struct {
	commands io.Writer

	mu       sync.Mutex // guards the fields below
	last     int        // the number of the last command
	waiting  map[int]chan reply
	requests []string // the URLs of all requests of pages
	troubles []string // exceptions and log messages of pages
}

// reply is a response to a command, or an event.
type reply struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method string `json:"method"`
	Params struct {
		Request struct {
			URL string `json:"url"`
		} `json:"request"`
		Entry struct {
			Text string `json:"text"`
		} `json:"entry"`
		ExceptionDetails json.RawMessage `json:"exceptionDetails"`
	} `json:"params"`
}

// newBrowser starts a browser, or skips the test if Chromium is not installed. If KUBECLUSTER_NODE is set, as in CI,
// the test fails.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		const missing = "needs Chromium: install it, on Debian with scripts/chromium"
		if os.Getenv("KUBECLUSTER_NODE") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	var files [4]*os.File // the browser reads from the first one and writes to the last one
	for i := 0; i < 4; i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", //nolint:noctx // the test ends it
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{files[0], files[3]}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	files[0].Close()
	files[3].Close()
	b := &browser{commands: files[1], waiting: map[int]chan reply{}}
	var wg sync.WaitGroup
	wg.Go(func() { b.receive(files[2]) })
	t.Cleanup(func() {
		// The children of a browser that is killed still write to its directory while that is removed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := b.call(ctx, "", "Browser.close", nil, nil); err != nil {
			_ = cmd.Process.Kill() // it may have ended
		}
		_ = cmd.Wait()
		files[1].Close()
		wg.Wait()
		files[2].Close()
	})
	return b
}

// receive receives replies and events until the browser ends.
func (b *browser) receive(r io.Reader) {
	messages := bufio.NewScanner(r)
	messages.Buffer(nil, 64<<20)
	messages.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for messages.Scan() {
		var m reply
		if json.Unmarshal(messages.Bytes(), &m) == nil {
			b.dispatch(&m)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ch := range b.waiting {
		close(ch)
	}
	b.waiting = nil
}

func (b *browser) dispatch(m *reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch m.Method {
	case "":
		if ch := b.waiting[m.ID]; ch != nil {
			ch <- *m
			delete(b.waiting, m.ID)
		}
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, m.Params.Request.URL)
	case "Runtime.exceptionThrown":
		b.troubles = append(b.troubles, string(m.Params.ExceptionDetails))
	case "Log.entryAdded":
		b.troubles = append(b.troubles, m.Params.Entry.Text)
	}
}

// call sends a command, and waits for its result.
func (b *browser) call(ctx context.Context, session, method string, params, result any) error {
	ch := make(chan reply, 1)
	b.mu.Lock()
	if b.waiting == nil {
		b.mu.Unlock()
		return errors.New("the browser has ended")
	}
	b.last++
	id := b.last
	b.waiting[id] = ch
	message, err := json.Marshal(struct {
		ID        int    `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err == nil {
		_, err = b.commands.Write(append(message, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m, ok := <-ch:
		switch {
		case !ok:
			return errors.New("the browser has ended")
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// seen returns the URLs of all requests, and the exceptions and messages.
func (b *browser) seen() (requests, troubles []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests), slices.Clone(b.troubles)
}

// tab is a page of a browser.
type tab struct {
	browser *browser
	session string
}

// open opens a URL.
func (b *browser) open(t *testing.T, url string) *tab {
	t.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	tb := &tab{browser: b}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	err := b.call(limit(t), "", "Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true}, &target)
	if err == nil {
		attach := map[string]any{"targetId": target.TargetID, "flatten": true}
		err = b.call(limit(t), "", "Target.attachToTarget", attach, &session)
	}
	tb.session = session.SessionID
	for _, domain := range []string{"Network", "Runtime", "Log"} {
		err = errors.Join(err, b.call(limit(t), tb.session, domain+".enable", nil, nil))
	}
	err = errors.Join(err, b.call(limit(t), tb.session, "Page.navigate", map[string]string{"url": url}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// eval stores the value of an expression.
func (tb *tab) eval(ctx context.Context, expression string, value any) error {
	var result struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if err := tb.browser.call(ctx, tb.session, "Runtime.evaluate", params, &result); err != nil {
		return err
	}
	if e := result.ExceptionDetails; e != nil {
		return fmt.Errorf("%s: %s", e.Text, e.Exception.Description)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(result.Result.Value, value)
}
