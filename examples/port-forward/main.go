// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Port-forward connects local ports with those of a pod, of a service, or of anything else that has pods.
package main

import (
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

const usage = `port-forward connects local ports with those of a pod.

  port-forward [-n NAMESPACE] [-address ADDRESS,...] [KIND/]NAME [LOCAL:]PORT...

Without a KIND, NAME is a pod. With one, such as svc or deploy, each connection goes to a pod of it that is ready.
PORT is a number or a name. LOCAL is the same number unless it is given; 0 is any that is free.
ADDRESS is localhost unless it is given. Flags may stand anywhere. It ends with Ctrl-C.
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
		return errors.New("name a pod and a port; -h says more")
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
	if *namespace == "" {
		*namespace = c.Namespace()
	}
	objects := kube.Dynamic(c, res).In(*namespace)
	if _, err := objects.Metadata().Get(ctx, name, nil); err != nil { // else only who connects would be told
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
			return err // what listens already has no connections yet, and ends with the program
		}
		group.Go(func() error { return listener.Run(ctx) })
	}
	return group.Wait()
}

// listen opens the local port of an argument such as 8080:http.
func listen(ctx context.Context, f *kube.PortForwarder, addresses []string, ports string) (*kube.PortListener, error) {
	local, port, ok := strings.Cut(ports, ":")
	if !ok {
		port = local
	}
	number, err := strconv.ParseUint(local, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%s: the local port must be a number from 0 to 65535: write it before the name, as in 8080:http", ports)
	}
	listener, err := f.Listen(ctx, port, &kube.ListenOptions{
		Addresses: addresses,
		LocalPort: uint16(number),
		OnConnect: func(local, remote net.Addr) { fmt.Println("connected", local, "with", remote) },
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
