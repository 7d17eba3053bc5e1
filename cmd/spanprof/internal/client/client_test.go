// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"strings"
	"testing"
)

func TestCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		environment           map[string]string
		authorization, tenant string
		err                   string
	}{
		"nothing":            {nil, "", "", ""},
		"token and tenant":   {map[string]string{"SPANPROF_TOKEN": "t0ken", "SPANPROF_TENANT": "team-a"}, "Bearer t0ken", "team-a", ""},
		"user and password":  {map[string]string{"SPANPROF_USER": "ann", "SPANPROF_PASSWORD": "secret"}, "Basic YW5uOnNlY3JldA==", "", ""},
		"password":           {map[string]string{"SPANPROF_PASSWORD": "secret"}, "Basic OnNlY3JldA==", "", ""},
		"token and user":     {map[string]string{"SPANPROF_TOKEN": "secret", "SPANPROF_USER": "ann"}, "", "", "room for one"},
		"token and password": {map[string]string{"SPANPROF_TOKEN": "t0ken", "SPANPROF_PASSWORD": "secret"}, "", "", "room for one"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.environment {
				t.Setenv(key, value)
			}
			header, err := credentials()
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want %q", err, test.err)
				}
				return
			}
			if err != nil || header.Get("Authorization") != test.authorization || header.Get("X-Scope-OrgID") != test.tenant || header.Get("User-Agent") != "spanprof" {
				t.Errorf("%v, %v", header, err)
			}
		})
	}
}
