// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package inprocess_test

import (
	"context"
	"errors"

	"github.com/spanprof/spanprof/exporter"
)

// failing is an exporter that refuses each profile.
type failing struct{}

var errRefused = errors.New("refused")

func (failing) Export(context.Context, *exporter.Profile) error { return errRefused }
func (failing) ForceFlush(context.Context) error                { return nil }
func (failing) Shutdown(context.Context) error                  { return nil }
