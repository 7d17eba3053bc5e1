// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBoundedMap(t *testing.T) {
	for _, size := range []int{0, 1, 8, 9, 1000} {
		b := newBoundedMap[string](size)
		var stored, refused atomic.Int64
		var adders sync.WaitGroup
		for range 4 {
			adders.Go(func() {
				for i := range size + 50 {
					key := strconv.Itoa(i)
					value, ok := b.add(key, key)
					if again, known := b.add(key, "another"); known != ok || again != value {
						t.Errorf("size %d, key %s: %q, %t, then %q, %t", size, key, value, ok, again, known)
					}
					switch {
					case ok && value == key:
						stored.Add(1)
					case !ok && value == "":
						refused.Add(1)
					default:
						t.Errorf("size %d, key %s: %q, %t", size, key, value, ok)
					}
				}
			})
		}
		adders.Wait()
		if stored.Load() != int64(4*size) || refused.Load() != 4*50 {
			t.Errorf("size %d: %d stored, %d refused", size, stored.Load(), refused.Load())
		}
		for i := range size {
			if value, ok := b.get(strconv.Itoa(i)); !ok || value != strconv.Itoa(i) {
				t.Errorf("size %d: key %d has %q, %t when the map is full", size, i, value, ok)
			}
		}
	}
}

// A map with room for many keys must not be copied for each of them.
func BenchmarkBoundedMapFill(b *testing.B) {
	keys := make([]string, 20_000)
	for i := range keys {
		keys[i] = "operation " + strconv.Itoa(i)
	}
	for b.Loop() {
		m := newBoundedMap[string](len(keys))
		for _, key := range keys {
			m.add(key, key)
		}
	}
}

// Keys of one slot are found, each with its own value.
func TestBoundedMapSlots(t *testing.T) {
	b := newBoundedMap[string](100)
	keys := []string{"", "axbxc", "aybxc", "axbyc", "another"}
	if slotOf(keys[1]) != slotOf(keys[2]) || slotOf(keys[1]) != slotOf(keys[3]) {
		t.Fatal("the keys have slots of their own")
	}
	for range 20 {
		for _, key := range keys {
			b.add(key, "of "+key)
		}
	}
	for range 3 {
		for _, key := range keys {
			if value, ok := b.get(key); !ok || value != "of "+key {
				t.Errorf("%q: %q, %t", key, value, ok)
			}
		}
		for _, key := range []string{"aybyc", "b"} {
			if value, ok := b.get(key); ok {
				t.Errorf("%q, which was not added: %q", key, value)
			}
		}
	}
}
