// Package hash was in another directory before.
package hash

type Hash struct{ state uint64 }

func New() *Hash { return &Hash{state: 1} }

//go:noinline
func (h *Hash) Sum(x uint64) uint64 {
	for range 40000 {
		h.state = h.state*31 + x
		h.state ^= h.state / 5
	}
	return h.state
}
