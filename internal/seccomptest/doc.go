// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package seccomptest
