// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package credential reads what the environment has for the servers of the command line.
// Every client of the command takes it from here, so that all have the same rules.
package credential

import (
	"errors"
	"net/http"
	"os"
)

// Header returns the header of each request: Authorization by SPANPROF_TOKEN, or by
// SPANPROF_USER and SPANPROF_PASSWORD; X-Scope-OrgID by SPANPROF_TENANT; and the name of
// the program. It is an error if both a token and a user or a password are set.
func Header() (http.Header, error) {
	header := http.Header{"User-Agent": {"spanprof"}}
	user, password, token := os.Getenv("SPANPROF_USER"), os.Getenv("SPANPROF_PASSWORD"), os.Getenv("SPANPROF_TOKEN")
	switch {
	case token != "" && (user != "" || password != ""):
		return nil, errors.New("both SPANPROF_TOKEN and SPANPROF_USER or SPANPROF_PASSWORD are set: a request has room for one")
	case token != "":
		header.Set("Authorization", "Bearer "+token)
	case user != "" || password != "":
		r := http.Request{Header: header}
		r.SetBasicAuth(user, password)
	}
	if tenant := os.Getenv("SPANPROF_TENANT"); tenant != "" {
		header.Set("X-Scope-OrgID", tenant)
	}
	return header, nil
}
