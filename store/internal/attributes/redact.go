// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributes

import "strings"

// hidden stands for what is secret.
const hidden = "REDACTED"

// secrets are the parameters whose values the semantic conventions call sensitive:
// signatures and keys that grant access. The three of Amazon's signature version 4 came
// to the list after v1.37.
var secrets = [...]string{"AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token"}

// appendRedacted appends a URL, or a part of one that begins before its query or in it,
// without what is secret, and stops once it has appended limit bytes or more.
func appendRedacted(to []byte, value string, limit int) []byte {
	from := len(to)
	// Only an absolute URL has a user.
	if scheme := strings.Index(value, "://"); scheme >= 0 && !strings.ContainsAny(value[:scheme], "/?#&=") {
		rest := value[scheme+3:]
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
			to = append(append(append(to, value[:scheme+3]...), hidden...), ':')
			to = append(to, hidden...)
			value = rest[at:]
		}
	}
	for value != "" && len(to)-from < limit {
		// A parameter begins at the start, or after ? or &.
		end := strings.IndexAny(value, "?&;#")
		part := value
		if end >= 0 {
			part = value[:end+1]
		}
		value = value[len(part):]
		name, secret, _ := strings.Cut(part, "=")
		if secret == "" || !isSecret(name) {
			// One byte more tells the caller that the value is cut.
			to = append(to, part[:min(len(part), limit+1)]...)
			continue
		}
		to = append(append(append(to, name...), '='), hidden...) // A secret's name is short.
		if end >= 0 {
			to = append(to, part[end])
		}
	}
	return to
}

func isSecret(name string) bool {
	for _, secret := range secrets {
		if name == secret {
			return true
		}
	}
	return false
}
