// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/wire"
	"github.com/spanprof/spanprof/store"
)

// maxNodes bounds the flame graph: narrower frames have no pixel on most screens.
const maxNodes = 1500

// writeFlame writes the flame graph, with the functions of its frames alone.
func writeFlame(ctx context.Context, w http.ResponseWriter, r *http.Request, view store.View, q store.Query) error {
	q.Stacks = true
	answer, err := view.Samples(q)
	if err != nil {
		return err
	}
	summary, err := flame.SummaryWithin(ctx, answer.Stacks, flame.NewFunctions(true))
	if err != nil {
		return err
	}
	all := summary.GraphOf(maxNodes)
	g := *all
	g.Texts, g.Functions, g.Function = []string{""}, flame.FunctionTable{}, make([]int32, len(all.Function))
	texts, functions := map[string]int32{"": 0}, map[int32]int32{-1: -1}
	text := func(i int32) int32 {
		s := all.Texts[i]
		if _, ok := texts[s]; !ok {
			texts[s] = int32(len(g.Texts))
			g.Texts = append(g.Texts, s)
		}
		return texts[s]
	}
	for node, f := range all.Function {
		if _, ok := functions[f]; !ok {
			functions[f] = int32(len(g.Functions.Name))
			from, to := &all.Functions, &g.Functions
			to.Name, to.Type = append(to.Name, text(from.Name[f])), append(to.Type, text(from.Type[f]))
		}
		g.Function[node] = functions[f]
	}
	body, err := json.Marshal(map[string]any{"flame": &g, "unit": answer.Unit, "total": answer.Total, "frameTypes": summary.Types()})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body, _ = wire.Gzipped(body) // into memory, which returns no errors
	}
	_, err = w.Write(body)
	return err
}
