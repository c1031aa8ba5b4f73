// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Guest is a container of the tests. Build it with GOOS=wasip1 GOARCH=wasm.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	fmt.Println("hello from", os.Args[0], os.Getenv("COLOR"))
	switch os.Args[1] {
	case "serve": // until it is asked to end
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Print("bye")
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "sleep":
		time.Sleep(time.Hour)
	case "loop":
		for {
		}
	case "grow":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "talk":
		n, _ := strconv.Atoi(os.Args[2])
		for i := range n {
			fmt.Println("line", i)
		}
	}
}
