// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package contextkey finds the unexported keys under which packages keep their
// values in a context.
package contextkey

import "context"

// Asked returns the last key that ask looks up in the context that it is given.
func Asked(ask func(context.Context)) any {
	ctx := &asked{Context: context.Background()}
	ask(ctx)
	return ctx.key
}

// asked remembers the last key that it was asked for.
type asked struct {
	context.Context
	key any
}

func (c *asked) Value(key any) any {
	c.key = key
	return nil
}
