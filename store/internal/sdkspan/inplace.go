// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package sdkspan

// InPlace says whether fields of the SDK's spans are read in place: by the build tag purego
// they are not.
const InPlace = true
