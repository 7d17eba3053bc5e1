// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package servertext cleans a server's text for a program's log.
package servertext

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/spanprof/spanprof/internal/secrets"
)

const maxLen = 1 << 10

// Clean returns up to 1 KiB of text as one line of UTF-8. Control characters become
// spaces: line ends and terminal escape sequences could imitate the program's own lines.
func Clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxLen)], "")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Redactor removes a request's credentials from the server's reply: a server or a proxy
// that refuses them may repeat them. The zero value has no credentials.
type Redactor struct {
	secrets []string // the longest first
}

const redacted = "[redacted]"

// harmless are headers with values that a log may contain.
var harmless = []string{"user-agent", "content-type", "content-encoding", "x-scope-orgid"}

// NewRedactor returns a Redactor for the credentials in headers, of HTTP or gRPC, and in
// u, which may be nil. Values count if their name is a credential's, and in headers also
// if they are long.
func NewRedactor(headers map[string][]string, u *url.URL) Redactor {
	var r Redactor
	for name, values := range headers {
		for _, value := range values {
			if secrets.Name(name) || len(value) >= 8 && !slices.Contains(harmless, strings.ToLower(name)) {
				r.add(value)
				r.addAuthorization(value)
			}
		}
	}
	if u != nil {
		if password, ok := u.User.Password(); ok {
			r.add(password, base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))) // as the client sends it
		}
		for name, values := range u.Query() {
			if secrets.Parameter(name) {
				r.add(values...)
			}
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// Clean is the function of that name, without the credentials.
func (r Redactor) Clean(text string) string {
	for _, secret := range r.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	for _, secret := range r.secrets { // the text may end in its beginning
		for n := min(len(secret)-1, len(text)); n >= 4; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				text = text[:len(text)-n] + redacted
				break
			}
		}
	}
	return Clean(text)
}

// add adds secrets, in the forms that a page or a message of JSON has them.
func (r *Redactor) add(secrets ...string) {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s)
		r.secrets = append(r.secrets, s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), strings.Trim(string(quoted), `"`))
	}
}

// addAuthorization adds what a value has after the scheme, and the password in it.
func (r *Redactor) addAuthorization(value string) {
	scheme, rest, ok := strings.Cut(value, " ")
	if !ok {
		return
	}
	r.add(strings.TrimSpace(rest))
	if pair, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(pair), ":")
		r.add(string(pair), password)
	}
}
