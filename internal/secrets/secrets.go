// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets hides credentials in texts from outside: URLs, errors, database
// statements and attributes.
//
// secrets.go has the list of names and scans texts and URLs, statement.go replaces the
// literals of statements. All functions are safe for concurrent use.
package secrets

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "REDACTED"

// A kind is where a name marks a secret.
type kind uint8

const (
	none      kind = iota
	parameter      // = after it in a URL; it is the whole name
	segment        // a slash after it
	scheme         // of HTTP authentication: a space after it
	word           // = or : after it; it is the last word of a name
	noun           // also a space or a slash after it; it is the end of a name
	header         // as noun; after : the value extends to the end of the line
)

type name struct {
	text string
	kind kind
}

// names are in lower case without separators, by their last two letters.
var names = func() map[[2]byte][]name {
	m := map[[2]byte][]name{}
	for k, list := range [...]string{
		parameter: "code key",
		segment:   "reset verify invite confirm activate unsubscribe",
		scheme:    "bearer basic negotiate ntlm digest dpop ssws hawk",
		word: `pwd pass psw pw auth sig sid pin otp totp jwt hmac session cookies csrf xsrf creds credentials credential cvv cvc
			cardnumber creditcard dsn assertion passcode sessionid sessid phpsessid jsessionid codeverifier oauthverifier
			samlresponse authcode authorizationcode devicecode usercode verificationcode recoverycode securitycode resetcode
			activationcode mfacode totpcode smscode requirepass masterauth`,
		noun: `password passwd passphrase passwort passwordconfirm passwordconfirmation secret token signature apikey accesskey
			accesskeyid secretkey secretkeybase privatekey encryptionkey signingkey accountkey subscriptionkey functionskey masterkey
			authkey appkey consumerkey licensekey sharedkey sessionkey storagekey deploykey webhookkey sshkey`,
		header: "authorization cookie",
	} {
		for text := range strings.FieldsSeq(list) {
			end := [2]byte{text[len(text)-2], text[len(text)-1]}
			m[end] = append(m[end], name{text, kind(k)})
		}
	}
	return m
}()

// Name reports whether a header, a parameter or an attribute with this name is a secret.
func Name(name string) bool { return kindOf(name) >= word }

// Parameter is Name for a parameter of a URL: code and key are secrets too.
func Parameter(name string) bool { return Name(name) || kindOf(name) == parameter }

// kindOf returns the kind of the name at the end of s. api_key, apiKey and X-Api-Key all
// end in apikey.
func kindOf(s string) (k kind) {
	if s = strings.TrimRight(s, "0123456789[]_-"); len(s) < 2 {
		return none
	}
	for _, n := range names[[2]byte{s[len(s)-2] | 0x20, s[len(s)-1] | 0x20}] {
		i, j := len(s), len(n.text)
		for i > 0 && j > 0 {
			if i--; s[i]|0x20 == n.text[j-1] {
				j--
			} else if !isAny(s[i], "_- .") {
				break
			}
		}
		if j > 0 || n.kind <= k {
			continue
		}
		if i == 0 || n.kind >= noun || n.kind == parameter && isAny(s[i-1], "?&;") ||
			n.kind != parameter && (!isAlnum(s[i-1]) || isUpper(s[i]) && !isUpper(s[i-1])) {
			k = n.kind
		}
	}
	return k
}

func isUpper(c byte) bool           { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool           { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool           { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isRun(c byte) bool             { return isAlnum(c) || c == '_' || c == '-' || c >= 0x80 }
func isAny(c byte, set string) bool { return strings.IndexByte(set, c) >= 0 }

// Text hides the secrets in a text, such as an error, a URL or a header.
func Text(s string) string { return hide(s, false, false) }

// Query is Text for the query of a URL, which starts with a parameter.
func Query(s string) string { return hide(s, true, false) }

// hide hides secrets in a text as it is, and then without percent-encoding. Three
// encodings are removed.
func hide(s string, query, statement bool) string {
	s = scan(s, query, statement)
	for plain, n := s, 0; n < 3 && strings.IndexByte(plain, '%') >= 0; n++ {
		decoded := unescape(plain)
		if decoded == plain {
			break
		}
		if plain = scan(decoded, query, statement); plain != decoded {
			s = plain
		}
	}
	return s
}

// unescape decodes percent-encoded bytes. Other percent signs stay: "50% done&a%5Fb".
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

const (
	space  = " \t\r\n"
	quotes = "\"'`"
)

type scanner struct {
	s         string
	query     bool // s starts in the query of a URL
	statement bool // s is a statement, where names are columns
	out       []byte
	done      int // s[:done] is in out
	inQuery   bool
}

// replace replaces s[from:to], except what is already done.
func (t *scanner) replace(from, to int, by string) {
	if from = max(from, t.done); from < to {
		t.out = append(append(slices.Grow(t.out, len(t.s)-t.done+len(by)), t.s[t.done:from]...), by...)
		t.done = to
	}
}

func (t *scanner) result() string {
	if t.done == 0 {
		return t.s
	}
	return string(append(t.out, t.s[t.done:]...))
}

func scan(s string, query, statement bool) string {
	if strings.IndexByte(s, '@') >= 0 {
		s = users.ReplaceAllStringFunc(s, hideUser)
	}
	t := scanner{s: s, query: query, statement: statement, inQuery: query}
	for i, start := 0, 0; ; i++ { // s[start:i] is a run
		if i < len(s) && isRun(s[i]) {
			continue
		}
		if isToken(s, start, i) {
			for i < len(s) && (isRun(s[i]) || s[i] == '.') { // the parts of a JSON Web Token
				i++
			}
			t.replace(start, i, Hidden)
		}
		if i == len(s) {
			return t.result()
		}
		switch c := s[i]; c {
		case '=', ':':
			t.pair(i)
		case '?', '&':
			t.inQuery = true
		case '/', ' ', '\t', '\r', '\n':
			t.follows(i)
			t.inQuery = t.query || c == '/' && t.inQuery
		case '"', '\'', '`':
			t.inQuery = t.query
		}
		i = max(i, t.done-1)
		start = i + 1
	}
}

// pair hides the value after the = or : at i, if the name before it is secret.
func (t *scanner) pair(i int) {
	s, j := t.s, i
	for j > 0 && i-j < 8 && isAny(s[j-1], " \t\\[])"+quotes) { // "name": user[name]= Key (name)=
		j--
	}
	k := kindOf(s[:j])
	if t.statement || k < word && (k != parameter || !t.inQuery) {
		return
	}
	gap := skip(s, i+1, "=>")
	if strings.HasPrefix(s[gap:], "[]string") { // %#v of an http.Header
		gap += len("[]string")
	}
	from := skip(s, gap, " \t[({\\")
	var to int
	isText := false
	switch {
	case gap < from && isAny(s[from-1], "[{") && from < len(s) && isAny(s[from], quotes): // all of a list or an object
		to = until(s, from, map[byte]string{'[': "]", '{': "}"}[s[from-1]])
		if from++; strings.LastIndexAny(s[from:max(from, to)], quotes) >= 0 {
			to = from + strings.LastIndexAny(s[from:to], quotes)
		}
	case k == header && s[i] == ':' && (from == len(s) || !isAny(s[from], quotes)):
		to = until(s, from, "\r\n"+quotes)
		for to < len(s) && strings.HasSuffix(strings.TrimRight(s[from:to], `\`), "=") { // response="x"
			to = until(s, min(until(s, to+1, "\r\n"+quotes)+1, len(s)), "\r\n"+quotes)
		}
	case from < len(s) && isAny(s[from], quotes):
		from++
		for to = from; to < len(s) && (s[to] != s[from-1] || s[to-1] == '\\' && s[from-2] != '\\'); {
			to++
		}
	default:
		to = t.valueEnd(from)
		isText = from > gap && isProse(s[from:to])
	}
	if !isText && (k != parameter || to-from >= 6) {
		t.replace(from, to, Hidden)
	}
}

// valueEnd returns the end of an unquoted value. A quote within a word is part of it.
func (t *scanner) valueEnd(from int) (to int) {
	s := t.s
	for to = from; to < len(s); to++ {
		if c := s[to]; isAny(c, space+"<>") && (to == from || s[to-1] != '\\') || t.inQuery && isAny(c, "&;#") || isAny(c, quotes) && (to+1 == len(s) || !isRun(s[to+1])) {
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

// isProse reports whether a value is a plain word, such as "expired" or "Get".
func isProse(s string) bool {
	return s == "" || s == "YES" || s == "NO" || strings.Trim(s[1:], "abcdefghijklmnopqrstuvwxyz") == ""
}

// follows hides what follows a name and the space or slash at i: Bearer x, AUTH x, /token/x.
func (t *scanner) follows(i int) {
	s := t.s
	k := kindOf(s[:i])
	if k < segment {
		return
	}
	from := skip(s, i, space+`\/`+quotes)
	end := until(s, from, "/?&#"+space+quotes)
	if s[i] != '/' {
		end = t.valueEnd(from)
	}
	if second := skip(s, end, space); second > end && s[i] != '/' && strings.HasSuffix(s[:i], "AUTH") && end-from <= 32 && second < len(s) && !isProse(s[second:t.valueEnd(second)]) {
		from, end = second, t.valueEnd(second) // AUTH user x, AUTH PLAIN x
	}
	switch v := s[from:end]; {
	case s[i] != '/' && (k == scheme || strings.HasSuffix(s[:i], "AUTH")) && !isProse(v),
		(k >= noun || k == segment && s[i] == '/') && len(v) >= 6 && strings.ContainsAny(v, "0123456789"):
		t.replace(from, end, Hidden)
	}
}

// users matches the users of addresses: //user@, //user:password@ and user:password@. A
// password may contain a slash, if it does not look like a port.
var users = regexp.MustCompile(`//([^\s"<>/?#]*|[^\s"<>/?#:]*:\d*[^\s"<>\d/][^\s"<>]*)@|::|[\w.%+-]*:[^\s"<>:/&?@][^\s"<>&?]*@(sha256:)?`)

func hideUser(s string) string {
	user, _, _ := strings.Cut(s, ":")
	switch {
	case strings.HasPrefix(s, "//"):
		return "//" + Hidden + ":" + Hidden + "@"
	case strings.HasSuffix(s, ":"), strings.Contains(" mailto email mail from to sip ", " "+user+" "):
		return s
	}
	return Hidden + ":" + Hidden + "@"
}

var tokenPrefixes = strings.Fields("eyJ AKIA ASIA AIza ya29 gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- xox sk- sk_live_ sk_test_ rk_live_ whsec_ shpat_ npm_ hf_")

// isToken reports whether a run has a known prefix, or looks random.
func isToken(s string, start, end int) bool {
	run := s[start:end]
	if len(run) < 20 {
		return false
	}
	for _, prefix := range tokenPrefixes {
		if strings.HasPrefix(run, prefix) {
			return true
		}
	}
	hex := run[strings.LastIndexAny(run, "_-")+1:]
	if strings.Trim(hex, "0123456789abcdefABCDEF") == "" && (len(hex) > 40 || len(hex) == len(run)) {
		return len(hex) > 40 && !strings.HasSuffix(strings.TrimRight(s[:end-len(hex)], ":-_"), "sha256") // longer than a SHA-1
	}
	isMixed := strings.ToLower(run) != run && strings.ToUpper(run) != run
	return isMixed && len(strings.FieldsFunc(run, func(r rune) bool { return r < '0' || r > '9' })) >= 3
}
