// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package nettest

import (
	"fmt"
	"math/rand/v2"
)

// loopback returns an address to listen on. It is one that no other socket gets while
// the Proxy refuses connections and does not hold it.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}
