// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// pprof answers with the samples that q selects, labels included.
func (h *handler) pprof(q query) (response, error) {
	p, err := h.store.Profile(q.store())
	if err != nil {
		return response{}, queryError("profile", q, err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return response{}, fmt.Errorf("encode %s: %w", q, err)
	}
	return response{
		contentType: "application/octet-stream",
		disposition: fmt.Sprintf("attachment; filename=%q", fileName(q.flameQL)),
		body:        b.Bytes(),
	}, nil
}

// fileName names a download after what was asked for, in characters that no
// shell or file system minds.
func fileName(q flameQL) string {
	id, _ := q.spanID()
	name, _ := q.value("span_name")
	base := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, cmp.Or(q.app, "spanprof")+"."+q.typ.name+"."+cmp.Or(id, name, "all"))
	return base[:min(len(base), 120)] + ".pb.gz"
}
