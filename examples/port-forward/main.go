// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Port-forward forwards local ports to a pod, or to the pods of a service, a deployment or another kind.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kube-go/sdk/examples/internal/args"
	"github.com/kube-go/sdk/kube"
)

const usage = `port-forward forwards local ports to ports of a pod.

  port-forward [-n NAMESPACE] [-address ADDRESS,...] [KIND/]NAME [LOCAL:]PORT...

Without KIND, NAME is a pod. With a KIND such as svc or deploy, each connection goes to one of its ready pods.
PORT is a number or a name. LOCAL is the local port, 0 for any free port; default: the number of PORT.
ADDRESS is the local address; default: localhost. Flags and names may be mixed. Press Ctrl-C to stop.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil && ctx.Err() == nil:
		fmt.Fprintln(os.Stderr, "port-forward:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, line []string) error {
	flags := flag.NewFlagSet("port-forward", flag.ContinueOnError)
	namespace := flags.String("n", "", "")
	addresses := flags.String("address", "localhost", "")
	words, err := args.Parse(flags, line)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return errors.New("specify a pod and a port; use -h for help")
	}
	kind, name, ok := strings.Cut(words[0], "/")
	if !ok {
		kind, name = "pods", words[0]
	}

	c, err := kube.NewClient(ctx, nil)
	if err != nil {
		return err
	}
	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		return err
	}
	res, err := disc.Resolve(kind)
	if err != nil {
		return err
	}
	objects := kube.Dynamic(c, res).In(cmp.Or(*namespace, c.Namespace()))
	// Without this check, a wrong name would be reported only at the first connection.
	if _, err := objects.Metadata().Get(ctx, name, nil); err != nil {
		return err
	}
	forwarder, err := kube.PortForwardTo(ctx, objects, name, nil)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, ports := range words[1:] {
		listener, err := listen(ctx, forwarder, strings.Split(*addresses, ","), ports)
		if err != nil {
			return err // the program ends, which closes the listeners that are already open
		}
		group.Go(func() error { return listener.Run(ctx) })
	}
	return group.Wait()
}

// listen opens the local port for an argument such as 8080:http.
func listen(ctx context.Context, f *kube.PortForwarder, addresses []string, ports string) (*kube.PortListener, error) {
	local, port, ok := strings.Cut(ports, ":")
	if !ok {
		port = local
	}
	number, err := strconv.ParseUint(local, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s: the local port must be a number from 0 to 65535, such as 8080:http", ports)
	}
	listener, err := f.Listen(ctx, port, &kube.ListenOptions{
		Addresses: addresses,
		LocalPort: uint16(number),
		OnConnect: func(local, remote net.Addr) { fmt.Println("connected", local, "to", remote) },
		OnError:   func(err error) { fmt.Fprintln(os.Stderr, "port-forward:", err) },
	})
	if err != nil {
		return nil, err
	}
	for _, addr := range listener.Addrs() {
		fmt.Println("forwarding", addr, "to port", port)
	}
	return listener, nil
}
