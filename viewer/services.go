// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"slices"

	"github.com/spanprof/spanprof/store"
)

// services are the names of the services that profiles are held of, in
// alphabetical order. A process has one, but a store may be fed by several.
type services []string

func (h *handler) services() services {
	var names services
	for _, w := range h.store.Windows(store.WindowQuery{}) {
		if !slices.Contains(names, w.Service) {
			names = append(names, w.Service)
		}
	}
	slices.Sort(names)
	return names
}

// several says whether work has to be told apart by its service.
func (s services) several() bool { return len(s) > 1 }

// among says whether name is one of several.
func (s services) among(name string) bool { return s.several() && slices.Contains(s, name) }

// query returns the query for the CPU of one of them.
func (s services) query(name string) flameQL {
	q := newFlameQL(name)
	if q.app == "" && s.among(name) {
		// FlameQL cannot spell it.
		return q.with("service_name", name)
	}
	return q
}

// resolve has a query select the service that it names, where there are several
// to select from. Where it names none of them, it is about all of them: what
// spanprof.WithAppName puts into the addresses need not be a service.
func (h *handler) resolve(q query) query {
	if q.app != "" && h.services().among(q.app) {
		q.service = q.app
	}
	return q
}
