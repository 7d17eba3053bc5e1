// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"regexp"
	"strings"
)

// Statement replaces literals and comments of SQL, GraphQL, MongoDB or Redis by ?. It also
// hides tokens and users of URLs. Names are columns here.
func Statement(s string) string { return hide(literals(s), false, true) }

// quotedName matches what names in double quotes follow, as in PostgreSQL. redis matches a
// command up to its values: without its key if that may be one.
var (
	quotedName = regexp.MustCompile(`(?i)(\.|(from|into|update|join)\s+)"`)
	redis      = regexp.MustCompile(`(?i)^((auth|hello|config|eval|evalsha|fcall|echo|mset|msetnx|acl|sentinel\s+set|client\s+setname)|(set|setex|psetex|setnx|setrange|getset|append|restore|hm?set|hsetnx|hsetex|lset|lrem|lpos|linsert|[lr]pushx?|(geo|pf|[szxv]|(bf|cf|ts|topk)\.)m?add|[sz]rem|sm?ismember|smove|z(rev)?rank|zscore|z\w+bylex|bitfield|s?publish)\s+[^\s=]+)\s+`)
)

func literals(s string) string {
	t := scanner{s: s}
	named := strings.IndexByte(s, '"') >= 0 && quotedName.MatchString(s)
	for i, end := 0, 0; i < len(s); i = end {
		end = i + 1
		switch c := s[i]; {
		case isDigit(c): // 1.5, 0xAF or a UUID
			for end < len(s) && (isRun(s[end]) || s[end] == '.') {
				end++
			}
			if i == 0 || s[i-1] != '?' && (s[i-1] != ':' || i > 1 && !isAny(s[i-2], space+"(,=<>")) { // no parameter
				t.replace(i, end, "?")
			}
		case isRun(c) && c != '-', c == '$':
			for end < len(s) && isRun(s[end]) && s[end] != '-' {
				end++
			}
			var m []int
			if i == skip(s, 0, space) || s[i-1] == '\n' {
				m = redis.FindStringIndex(s[i:])
			}
			if m != nil && !strings.HasPrefix(s[i+m[1]:], "=") {
				end = len(s)
				t.replace(i+m[1], end, "?")
			} else if i > 1 && s[i-1] == ':' && !isAny(s[i-2], space+"(,=<>:\"") && strings.ContainsAny(s[i:end], "0123456789") { // a key of Redis
				for end < len(s) && isRun(s[end]) {
					end++
				}
				t.replace(i, end, "?")
			} else if c == '$' && end < len(s) && s[end] == '$' { // $tag$
				_, rest, _ := strings.Cut(s[end+1:], s[i:end+1])
				end = len(s) - len(rest)
				t.replace(i, end, "?")
			}
		case c == '\'' || c == '"':
			if end = literalEnd(s, i); c == '\'' || !isName(s, i, end, named) {
				t.replace(i, end, "?")
			}
		case strings.HasPrefix(s[i:], "--"), (c == '#' || strings.HasPrefix(s[i:], "//")) && (i == 0 || isAny(s[i-1], space)) && !strings.HasPrefix(s[i:], "#>") && !strings.HasPrefix(s[i:], "#-"):
			end = until(s, i, "\n")
			t.replace(i, end, "--?")
		case strings.HasPrefix(s[i:], "/*"):
			if end = strings.LastIndex(s, "*/") + 2; end < i+4 { // without an end
				end = len(s)
			}
			t.replace(i, end, "/*?*/")
		}
	}
	return t.result()
}

// literalEnd returns the end of the literal at i. Dialects differ on whether \' ends a
// literal: then all the rest is part of it.
func literalEnd(s string, i int) int {
	quote := s[i : i+1]
	if strings.HasPrefix(s[i:], `"""`) {
		_, rest, _ := strings.Cut(s[i+3:], `"""`)
		return len(s) - len(rest)
	}
	for j := i + 1; j < len(s); j++ {
		switch rest := s[j:]; {
		case strings.HasPrefix(rest, `\'`) && quote == "'":
			return len(s)
		case rest[0] == '\\', strings.HasPrefix(rest, quote+quote):
			j++
		case rest[:1] == quote:
			return j + 1
		}
	}
	return len(s)
}

// isName reports whether s[i:end], in double quotes, is a name: a key of JSON, a part of
// a.b or, if names are quoted, anything that is not compared.
func isName(s string, i, end int, named bool) bool {
	before, after := strings.TrimRight(s[:i], space), strings.TrimLeft(s[end:], space)
	return strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "::") || strings.HasPrefix(after, ".") || strings.HasSuffix(before, ".") ||
		named && (before == "" || !isAny(before[len(before)-1], "=<>~"))
}
