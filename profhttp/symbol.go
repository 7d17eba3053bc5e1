// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
)

// maxSymbols bounds the body of a request, which is some 10 bytes for each
// program counter.
const maxSymbols = 1 << 20

// symbol answers with the functions of program counters, which the body of a
// POST or the query holds, separated by "+". Older tools ask for it.
func symbol(w http.ResponseWriter, r *http.Request) {
	counters := r.URL.RawQuery
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSymbols))
		if err != nil {
			fail(w, http.StatusBadRequest, "read program counters: "+err.Error())
			return
		}
		counters = string(body)
	}
	var b bytes.Buffer
	// Tools want to know only whether there are any.
	fmt.Fprintln(&b, "num_symbols: 1")
	for text := range strings.SplitSeq(counters, "+") {
		pc, _ := strconv.ParseUint(text, 0, 64)
		if f := runtime.FuncForPC(uintptr(pc)); pc != 0 && f != nil {
			fmt.Fprintf(&b, "%#x %s\n", pc, f.Name())
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
