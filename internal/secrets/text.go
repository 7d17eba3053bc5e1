// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/url"
	"strings"
)

// Text hides the secrets in a text, such as an error, a URL or a header.
func Text(s string) string { return hide(s, mode{}) }

// Query is Text for the query of a URL, which starts with a parameter.
func Query(s string) string { return hide(s, mode{query: true}) }

type mode struct {
	query     bool // s starts in the query of a URL
	statement bool // s is a statement, where names are columns
	depth     int  // of encodings and quotations, at most maxDepth
}

const (
	maxDepth = 3
	space    = " \t\r\n"
	quotes   = "\"'`"
	brackets = "[]{}()"
)

type scanner struct {
	mode
	s       string
	out     strings.Builder
	done    int // s[:done] is in out
	inQuery bool
	userEnd int // the end of the last word with a @
}

// replace replaces s[from:to], except what is already done.
func (t *scanner) replace(from, to int, by string) {
	if from = max(from, t.done); from >= to {
		return
	}
	if t.out.Len() == 0 {
		t.out.Grow(len(t.s) + len(by))
	}
	t.out.WriteString(t.s[t.done:from])
	t.out.WriteString(by)
	t.done = to
}

func (t *scanner) result() string {
	if t.done == 0 {
		return t.s
	}
	t.out.WriteString(t.s[t.done:])
	return t.out.String()
}

// isRun has the bytes of words.
var isRun = func() (is [256]bool) {
	for c := range is {
		is[c] = isAlnum(byte(c)) || c == '_' || c == '-' || c >= 0x80
	}
	return is
}()

func isAny(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }

func hide(s string, m mode) string {
	t := scanner{mode: m, s: s, inQuery: m.query}
	for i, start := 0, 0; ; { // s[start:i] is a run
		if i < len(s) && isRun[s[i]] {
			i++
			continue
		}
		if i-start >= minToken {
			if end := tokenEnd(s, start, i); end > 0 {
				t.replace(start, end, Hidden)
				i, start = end, end
			}
		}
		if i == len(s) {
			return t.result()
		}
		end := i + 1
		switch c := s[i]; c {
		case '=', ':':
			end = t.pair(i)
		case '@':
			end = t.user(i)
		case '%':
			end = t.encoded(i)
		case '?', '&':
			t.inQuery = true
		case '/':
			if end = t.follows(start, i); i > 0 && s[i-1] == '/' {
				end = t.authority(i + 1)
			}
		case ' ', '\t', '\r', '\n':
			end = t.follows(start, i)
			t.inQuery = t.query
		case '"', '\'', '`':
			t.inQuery = t.query
		}
		i, start = end, end
	}
}

// pair hides the value after the = or : at i, if the name before it is secret.
func (t *scanner) pair(i int) (end int) {
	s, j := t.s, i
	for j > 0 && i-j < 8 && isAny(s[j-1], " \t\\[])"+quotes) { // "name": user[name]= Key (name)=
		j--
	}
	k := j
	for k > 0 && j-k < maxName && (isRun[s[k-1]] || s[k-1] == '.') {
		k--
	}
	r := t.rankAt(k, j)
	if t.statement || r < parameter || r == parameter && !t.inQuery ||
		strings.HasPrefix(s[i:], "://") || strings.HasPrefix(s[i:], "::") {
		return i + 1
	}
	gap := i + 1
	for gap < len(s) && isAny(s[gap], "=>") {
		gap++
	}
	from := skip(s, gap, " \t")
	open := skip(s, from, `\`)
	var to int
	var bare bool
	switch {
	case open < len(s) && isAny(s[open], quotes):
		to = closing(s, open+1, s[open], open-from)
		from = open + 1
	case from < len(s) && strings.IndexByte(brackets, s[from])%2 == 0:
		to = until(s, from, brackets[strings.IndexByte(brackets, s[from])+1:][:1])
		from++
	case r == header && s[i] == ':' && k > 0 && isAny(s[k-1], quotes): // 'Cookie: x'
		to = closing(s, from, s[k-1], 0)
	case r == header && s[i] == ':':
		to = until(s, from, "\r\n")
	default:
		to, bare = t.valueEnd(from), true
	}
	if v := s[from:to]; isMark(v) || bare && from > gap && isProse(v) || r == parameter && len(v) < 6 {
		return i + 1
	}
	t.replace(from, to, Hidden)
	return to
}

// rankAt returns the rank of the name s[from:to], which may be two words: API key.
func (t *scanner) rankAt(from, to int) rank {
	r, before := rankOf(t.s[from:to]), from-1
	if r == parameter && from > 1 && t.s[from-1] == ' ' {
		for before > 0 && isRun[t.s[before-1]] {
			before--
		}
		r = max(r, rankOf(t.s[before:to]))
	}
	return r
}

// valueEnd returns the end of an unquoted value. A quote within a word is part of it.
func (t *scanner) valueEnd(from int) (to int) {
	s := t.s
	for to = from; to < len(s); to++ {
		if c := s[to]; isAny(c, space+"<>") || t.inQuery && isAny(c, "&;#") || isAny(c, quotes) && (to+1 == len(s) || !isRun[s[to+1]]) {
			break
		}
	}
	return from + len(strings.TrimRight(s[from:to], `.,:;)]}\`))
}

// skip returns the index of the first byte from i on that is not in set.
func skip(s string, i int, set string) int { return len(s) - len(strings.TrimLeft(s[i:], set)) }

// until returns the index of the first byte from i on that is in set, or len(s).
func until(s string, i int, set string) int {
	if n := strings.IndexAny(s[i:], set); n >= 0 {
		return i + n
	}
	return len(s)
}

// closing returns the index of the closing quote with its backslashes: at most as many
// as the opening one has.
func closing(s string, i int, quote byte, backslashes int) int {
	for n := 0; i < len(s); i++ {
		switch {
		case s[i] == quote && n <= backslashes:
			return i - n
		case s[i] == '\\':
			n++
		default:
			n = 0
		}
	}
	return len(s)
}

// isMark reports whether a value is no secret: a placeholder such as $1, or punctuation.
func isMark(s string) bool {
	return s == "" || s[0] == '$' && strings.Trim(s, "$0123456789") == "" || strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || isAlnum(byte(r)) }) < 0
}

// isProse reports whether a value is a plain word, such as "expired" or "Get".
func isProse(s string) bool {
	return strings.IndexFunc(s[min(1, len(s)):], func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// isMixed reports whether a value has letters and digits.
func isMixed(s string) bool {
	return len(s) >= 6 && strings.ContainsAny(s, "0123456789") && strings.IndexFunc(s, func(r rune) bool { return isLower(byte(r) | 0x20) }) >= 0
}

// follows hides what follows the word s[start:i] and a space or a slash: Bearer x, AUTH x,
// password x.
func (t *scanner) follows(start, i int) (end int) {
	s, name := t.s, t.s[start:i]
	r := t.rankAt(start, i)
	if r < scheme && r != sql {
		return i + 1
	}
	from := skip(s, i, " \t\n\\/"+quotes)
	to := t.valueEnd(from)
	if s[i] == '/' {
		to = min(to, until(s, from, "/?&#"))
	}
	switch v := s[from:to]; {
	case s[i] != '/' && r == sql && !t.statement && t.depth < maxDepth && isStatement(name, s[i:]):
		end = len(s)
		if start > 0 && isAny(s[start-1], quotes) {
			end = closing(s, start, s[start-1], 0)
		}
		if clean := hide(literals(s[start:end]), mode{depth: maxDepth}); clean != s[start:end] {
			t.replace(start, end, clean)
		}
		return end
	case name == "AUTH" && s[i] != '/':
		to = from
		for next, n := from, 0; next < len(s); n++ { // AUTH user password
			end = t.valueEnd(next)
			if word := s[next:end]; !isMark(word) && !isProse(word) {
				to = end
			} else if n > 0 || word == "" {
				break
			}
			next = end + 1
		}
	case r == scheme && s[i] != '/' && !isMark(v) && !isProse(v):
	case r < noun || !isMixed(v):
		return i + 1
	}
	t.replace(from, to, Hidden)
	return max(to, i+1)
}

// isStatement reports whether a first word and the rest of a text are SQL.
func isStatement(name, rest string) bool {
	second := map[byte]string{'s': " from ", 'd': " from ", 'u': " set ", 'i': " into "}[name[0]|0x20]
	return strings.Contains(strings.ToLower(rest), second)
}

const hiddenUser = Hidden + ":" + Hidden

// authority hides the user of the URL with its authority at i.
func (t *scanner) authority(i int) (end int) {
	rest := t.s[i:until(t.s, i, space+"\"`<>")]
	n := until(rest, 0, "/?#")
	at := strings.LastIndexByte(rest[:n], '@')
	if _, port, ok := strings.Cut(rest[:n], ":"); at < 0 && ok && rest[0] != '[' && strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndexByte(rest, '@') // the password contains a slash
	}
	if at < 0 && n > 255 {
		at = n // too long for a host: a user without its end
	}
	if at > 0 {
		t.replace(i, i+at, hiddenUser)
	}
	return i + max(at, 0)
}

// user hides the user and the password before the @ at i, of an address without //.
func (t *scanner) user(i int) (end int) {
	s, ends := t.s, space+quotes
	if i < t.userEnd {
		return i + 1
	}
	if t.inQuery {
		ends += "&?"
	}
	t.userEnd = until(s, i, ends)
	k := max(t.done, strings.LastIndexAny(s[:i], ends)+1)
	at := i + strings.LastIndexByte(s[i:t.userEnd], '@')
	name, password, ok := strings.Cut(s[k:i], ":")
	from := strings.LastIndexAny(name, "=/(,;{[<>|") + 1
	isMail := strings.Contains(" mailto email mail from to sip ", " "+name[from:]+" ")
	if !ok || isMail || password == "" && at == i || strings.HasPrefix(password, ":") || strings.Contains(s[k:i], "//") || strings.HasPrefix(s[i:], "@sha256:") {
		return i + 1
	}
	t.replace(k+from, at, hiddenUser)
	return at + 1
}

// encoded hides the parameter with the percent-encoding at i, if it contains a secret.
func (t *scanner) encoded(i int) (end int) {
	const ends = space + quotes + "&?;#"
	s := t.s
	if t.depth >= maxDepth || i+2 >= len(s) || s[i+1] < '2' || s[i+1] > '7' || s[i+1:i+3] == "20" {
		return i + 1 // a space or a rune
	}
	k := max(t.done, strings.LastIndexAny(s[:i], ends)+1)
	end = until(s, i, ends)
	decoded, err := url.PathUnescape(s[k:end])
	if err == nil && hide(decoded, mode{query: t.inQuery, depth: t.depth + 1}) != decoded {
		if equal := strings.IndexByte(s[k:end], '='); equal >= 0 {
			k += equal + 1
		}
		t.replace(k, end, Hidden)
	}
	return end
}

const (
	minToken = 20 // bytes of a token with a known prefix
	minMixed = 24 // bytes of one that looks random
	maxHash  = 40 // hexadecimal digits of a SHA-1, which is no token
)

var tokenPrefixes = strings.Fields("AKIA ASIA AIza ya29 gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- xox sk- sk_live_ sk_test_ rk_live_ whsec_ shpat_ npm_ hf_")

// tokenEnd returns the end of the token that starts with s[start:i], or 0.
func tokenEnd(s string, start, i int) int {
	run := s[start:i]
	if strings.HasPrefix(run, "eyJ") { // a JSON Web Token
		for i < len(s) && (isRun[s[i]] || s[i] == '.') {
			i++
		}
		return i
	}
	for _, prefix := range tokenPrefixes {
		if strings.HasPrefix(run, prefix) {
			return i
		}
	}
	if strings.Trim(run, "0123456789abcdefABCDEF") == "" {
		if len(run) > maxHash && !strings.HasSuffix(s[:start], "sha256:") {
			return i
		}
		return 0
	}
	classes, changes, before := 0, 0, 0
	for _, c := range []byte(run) {
		class := 0
		switch {
		case isDigit(c):
			class = 1
		case isLower(c):
			class = 2
		case isUpper(c):
			class = 4
		}
		if before != 0 && class != 0 && class != before {
			changes++
		}
		classes |= class
		before = class
	}
	if len(run) >= minMixed && classes == 7 && changes*9 >= len(run)*4 {
		return i
	}
	return 0
}
