// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"path"

	"github.com/google/pprof/profile"
)

// hostSymbols knows the functions of the files that processes of the machine have
// mapped. It reads a file when it is first asked for it, through a process that has it.
type hostSymbols struct {
	files map[hostFile]table
	total int
	// missing are those that could not be read for the message at hand: another
	// process may have them.
	missing map[hostFile]bool
	// unreadable says that some may not be read.
	unreadable bool
}

// hostFile is a file of a process, or of all if it has a build id.
type hostFile struct {
	file
	pid int64
}

const maxHostFunctions = 2_000_000

// begin is called before each message.
func (s *hostSymbols) begin() {
	s.missing, s.unreadable = map[hostFile]bool{}, false
	if s.files == nil {
		s.files = map[hostFile]table{}
	}
}

// name returns the function at an address of a process's file, as ELF counts it.
func (s *hostSymbols) name(pid int64, m *profile.Mapping, address uint64) (string, bool) {
	if len(m.File) > maxFileName || len(m.BuildID) > maxFileName {
		return "", false
	}
	f := hostFile{file{path.Base(m.File), m.BuildID}, pid}
	key := f
	if f.buildID != "" {
		key.pid = 0
	}
	t, ok := s.files[key]
	if !ok {
		if s.missing[f] || len(s.missing) > maxMissing {
			return "", false
		}
		var denied bool
		if t, denied = readMappedOf(pid, f.file); denied {
			s.unreadable = true
		}
		if t == nil {
			s.missing[f] = true
			return "", false
		}
		if s.total+len(t) > maxHostFunctions {
			clear(s.files) // those in use come again
			s.total = 0
		}
		s.files[key] = t
		s.total += len(t)
	}
	return t.at(address)
}

// maxMissing bounds the attempts to read files, for each message.
const maxMissing = 256
