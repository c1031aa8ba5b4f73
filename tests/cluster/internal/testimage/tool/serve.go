// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// serve responds to these requests:
//
//	GET  /                   the name of the host, which is that of the pod
//	POST /echo               the request's body
//	GET  /bytes?size=SIZE    what `write SIZE` prints
//	GET  /healthz            200 "ok", or the status of the last POST
//	POST /healthz?status=N   sets the status
func serve(ctx context.Context, args []string, std streams) error {
	listener, err := listen(ctx, args[0], std.out)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(), ReadHeaderTimeout: time.Minute}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func listen(ctx context.Context, port string, out io.Writer) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(out, "serving on", listener.Addr())
	return listener, err
}

func handler() http.Handler {
	var health atomic.Int64
	health.Store(http.StatusOK)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		name, err := os.Hostname()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, name)
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// A response before the end of the request needs this. A recorder does not support it and does not need it.
		_ = control.EnableFullDuplex()
		_, _ = io.Copy(flusher{w, control}, r.Body)
	})
	mux.HandleFunc("GET /bytes", func(w http.ResponseWriter, r *http.Request) {
		size, err := parseSize(r.FormValue("size"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		_, _ = io.Copy(w, stream(size))
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		status := int(health.Load())
		w.WriteHeader(status)
		if status == http.StatusOK {
			fmt.Fprintln(w, "ok")
		}
	})
	mux.HandleFunc("POST /healthz", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.ParseInt(r.FormValue("status"), 10, 64)
		if err != nil || status < 200 || status > 599 {
			http.Error(w, "want a status from 200 to 599", http.StatusBadRequest)
			return
		}
		health.Store(status)
	})
	return mux
}

// flusher flushes each write immediately.
type flusher struct {
	io.Writer
	control *http.ResponseController
}

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.control.Flush()
}

func echoServer(ctx context.Context, args []string, std streams) error {
	listener, err := listen(ctx, args[0], std.out)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		connections.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			_, _ = io.Copy(conn, conn) // until either side closes
		})
	}
}

func get(ctx context.Context, args []string, std streams) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	if err != nil {
		return usageError(err.Error())
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(std.out, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return errors.New(resp.Status)
	}
	return nil
}
