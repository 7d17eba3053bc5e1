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

// maxScan is how much of a value is looked at, so that one of megabytes takes no longer.
const maxScan = 16 << 10

// appendRedacted appends a URL, or a part of one that begins before its query or in it,
// without what is secret, and stops once it has appended limit bytes or more. cut says that
// the URL goes on.
func appendRedacted(to []byte, value string, limit int, cut bool) []byte {
	from := len(to)
	// Only an absolute URL has a user.
	if scheme := strings.Index(value, "://"); scheme >= 0 && !strings.ContainsAny(value[:scheme], "/?#&=") {
		rest := value[scheme+3:]
		end := strings.IndexAny(rest, "/?#")
		if end < 0 && cut {
			// It may all be the user's name.
			return append(append(to, value[:min(scheme+3, limit)]...), hidden...)
		}
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

// betweenURLs are the bytes that end a URL in a text.
const betweenURLs = " \t\r\n\"'<>`"

// RedactText returns a text, such as an error, without what is secret in the URLs that it
// names. Of a long text it returns the start.
func RedactText(text string) string {
	cut := len(text) > maxScan
	if cut {
		text = text[:maxScan]
	}
	if !strings.Contains(text, "://") {
		return text
	}
	var to []byte
	for text != "" {
		end := strings.IndexAny(text, betweenURLs)
		word, last := text, end < 0
		if !last {
			word = text[:end]
		}
		url := strings.Index(word, "://")
		for url > 0 && isScheme(word[url-1]) {
			url--
		}
		if url >= 0 {
			to = append(to, word[:url]...)
			to = appendRedacted(to, word[url:], maxScan, cut && last)
		} else {
			to = append(to, word...)
		}
		if last {
			break
		}
		to = append(to, text[end])
		text = text[end+1:]
	}
	return string(to)
}

// isScheme reports whether a byte may be in the scheme of a URL.
func isScheme(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}
