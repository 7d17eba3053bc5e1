// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package file

// Stats counts what became of the profiles. Each that was given to Export is
// either written or dropped.
type Stats struct {
	// Written are the profiles of which a file was made.
	Written uint64
	// Dropped are the profiles of which none was: the disk was full of other
	// things, or the directory gone, or the profile larger than all files may
	// be, or it came after Shutdown.
	Dropped uint64
	// Removed are the files that were removed because of their age or to
	// make room, those of earlier runs among them.
	Removed uint64
	// NotRemoved is how often a file was to be removed and could not be. It
	// is tried again with each profile.
	NotRemoved uint64
	// Files are the files that are there, and Bytes is their size.
	Files int
	Bytes int64
}
