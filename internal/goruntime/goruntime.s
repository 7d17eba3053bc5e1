// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// This file is empty on purpose: the compiler accepts functions without a body,
// which hooks.go links to the runtime, only in packages with assembly.
