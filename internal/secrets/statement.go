// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import "strings"

// Statement replaces literals and comments of SQL, GraphQL, MongoDB or Redis by ?. It also
// hides tokens and users of URLs. Names are columns here.
func Statement(s string) string { return hide(literals(s), mode{statement: true}) }

func literals(s string) string {
	t := scanner{s: s}
	named := quotesNames(s)
	for i := 0; i < len(s); {
		end, from, to := i+1, 0, 0 // s[from:to] is replaced
		switch c := s[i]; {
		case isRun[c] && c != '-' || c == '@':
			for end < len(s) && (isRun[s[end]] && s[end] != '-' || s[end] == '$' || s[end] == '#' || s[end] == '@' || isDigit(c) && (s[end] == '.' || s[end] == '-' && end+1 < len(s) && isAlnum(s[end+1]))) { // 1.5 or a UUID
				end++
			}
			if isDigit(c) && !isPosition(s, i) {
				from, to = i, end
			} else if end-i == len("values") && strings.EqualFold(s[i:end], "values") {
				named = false
			} else if end-i == 1 && c|0x20 == 'q' && strings.HasPrefix(s[end:], "'") {
				from, to = i, len(s) // Oracle: with any delimiter
			} else if i == 0 || s[i-1] == '\n' {
				from, to = redisValue(s, i, end)
			}
		case c == '\'' || c == '"':
			if end = literalEnd(s, i); c == '\'' || !isName(s, i, end, named) {
				from, to = i, end
			}
		case c == '`':
			end = min(until(s, i+1, "`")+1, len(s))
		case strings.HasPrefix(s[i:], "--"):
			end = until(s, i, "\n")
			from, to = i+2, end
		case c == '#' && (i == 0 || isAny(s[i-1], space)) && !strings.HasPrefix(s[i:], "#>") && !strings.HasPrefix(s[i:], "#-"):
			end = until(s, i, "\n")
			from, to = i+1, end
		case strings.HasPrefix(s[i:], "/*"):
			from, to, end = i+2, len(s), len(s)
			if n := strings.Index(s[from:], "*/"); n >= 0 {
				if to = from + n; strings.Contains(s[from:to], "/*") { // PostgreSQL nests them
					to = strings.LastIndex(s, "*/")
				}
				end = to + 2
			}
		case c == '$':
			for end < len(s) && (isAlnum(s[end]) || s[end] == '_') {
				end++
			}
			if end < len(s) && s[end] == '$' { // $tag$
				end++
				if n := strings.Index(s[end:], s[i:end]); n >= 0 {
					end += n + end - i
				} else {
					end = len(s)
				}
				from, to = i, end
			}
		}
		t.replace(from, to, "?")
		i = max(end, to)
	}
	return t.result()
}

// isPosition reports whether the number at i is a parameter: :1 or ?1.
func isPosition(s string, i int) bool {
	return i > 0 && (s[i-1] == '?' || s[i-1] == ':' && (i == 1 || isAny(s[i-2], space+"(,=<>")))
}

// literalEnd returns the end of the literal at i. Dialects differ on whether \' ends a
// literal: then all the rest is part of it.
func literalEnd(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch {
		case s[j] == '\\' && j+1 < len(s):
			if j++; s[j] == '\'' && s[i] == '\'' {
				return len(s)
			}
		case s[j] == s[i] && strings.Count(s[i:min(i+3, len(s))], `"`) == 3 && i+3 <= j: // """
			if n := strings.Index(s[j:], `"""`); n >= 0 {
				return j + n + 3
			}
			return len(s)
		case s[j] == s[i] && (j+1 == len(s) || s[j+1] != s[i]):
			return j + 1
		case s[j] == s[i]:
			j++ // a doubled quote
		}
	}
	return len(s)
}

// quotesNames reports whether the statement has names in double quotes, as PostgreSQL,
// and not literals, as MySQL.
func quotesNames(s string) bool {
	if strings.IndexByte(s, '"') < 0 {
		return false
	}
	for _, sign := range [...]string{`."`, `FROM "`, `from "`, `INTO "`, `into "`, `UPDATE "`, `update "`} {
		if strings.Contains(s, sign) {
			return true
		}
	}
	return false
}

// isName reports whether s[i:end], in double quotes, is a name: a key of JSON, a part of
// a.b or, if names are quoted, anything that is not compared.
func isName(s string, i, end int, named bool) bool {
	before, after := strings.TrimRight(s[:i], space), strings.TrimLeft(s[end:], space)
	return strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "::") || strings.HasPrefix(after, ".") || strings.HasSuffix(before, ".") ||
		named && (before == "" || !isAny(before[len(before)-1], "=<>~"))
}

// redisValue returns where the values are of a Redis command, or 0, 0.
func redisValue(s string, i, end int) (from, to int) {
	rest := strings.TrimLeft(s[end:], space)
	switch r := rankOf(s[i:end]); {
	case r == redisKey:
		key, value, _ := strings.Cut(rest, " ")
		if rest = value; strings.Contains(key, "=") || strings.HasPrefix(value, "=") {
			return 0, 0 // SET of SQL
		}
	case r != redis && !strings.EqualFold(s[i:end], "auth"):
		return 0, 0
	}
	return len(s) - len(rest), len(s)
}
