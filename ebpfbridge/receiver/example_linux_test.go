// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/store"
)

func ExampleReceiver() {
	spans, err := store.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := receiver.New(spans, spans.Lookup)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "") // only this user may write there
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	listener, err := receiver.Listen(filepath.Join(dir, "otlp.sock"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.ServeGRPC(ctx, listener) }()
	// ... an agent sends to unix://DIR/otlp.sock ...
	stop()
	fmt.Println(<-done, r.Status().Messages)
	// Output: <nil> 0
}
