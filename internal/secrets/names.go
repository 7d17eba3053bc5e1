// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package secrets hides credentials in texts from outside: URLs, errors, database
// statements and attributes.
//
// names.go lists the names, text.go scans texts and URLs, statement.go replaces the
// literals of statements. A text without secrets is returned as it is, without an
// allocation. All functions are safe for concurrent use.
package secrets

import "strings"

// Hidden replaces a secret.
const Hidden = "REDACTED"

// A rank classifies a name. From word on, the name alone marks a secret.
type rank uint8

const (
	none      rank = iota
	qualifier      // follows the noun: password_confirmation
	sql            // the first word of a statement
	redis          // a command of Redis with values
	redisKey       // a command of Redis with a key and values
	scheme         // of HTTP authentication: a secret follows a space
	parameter      // only the whole name of a parameter in a URL
	word           // before = or :
	noun           // also before a space or a slash
	header         // before : the value extends to the end of the line
)

// ranks holds the last words of names, joined and in lower case: api_key, apiKey and
// X-Api-Key all end in apikey.
var ranks = func() map[string]rank {
	m := map[string]rank{}
	for r, names := range map[rank]string{
		qualifier: "confirmation confirm again repeat verify new old current hash value encrypted base64 hex plain text raw header string",
		sql:       "select insert update delete",
		redis:     "hello acl config eval evalsha fcall echo",
		redisKey:  "set setex psetex setnx getset append hset hmset hsetnx mset msetnx lset lpush lpushx rpush rpushx sadd zadd zincrby xadd pfadd restore publish",
		scheme:    "bearer basic negotiate ntlm digest dpop ssws hawk",
		parameter: "code key",
		word: `pwd pass psw auth sig sid pin otp totp jwt hmac session cookies csrf xsrf creds credentials credential cvv cvc pw cardnumber creditcard dsn assertion
			passcode sessionid sessid phpsessid jsessionid codeverifier oauthverifier clientassertion samlresponse
			authcode authorizationcode devicecode usercode verificationcode recoverycode securitycode resetcode activationcode mfacode totpcode smscode`,
		noun: `password passwd passphrase passwort requirepass masterauth secret token signature apikey accesskey accesskeyid secretkey
			privatekey encryptionkey signingkey accountkey subscriptionkey functionskey masterkey authkey appkey consumerkey licensekey
			sharedkey sessionkey storagekey deploykey webhookkey sshkey secretkeybase`,
		header: "authorization cookie",
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = r
		}
	}
	return m
}()

// suffixes also end a word, as in clientsecret.
var suffixes = [...]string{"password", "passwd", "secret", "token", "signature", "apikey", "accesskeyid"}

// Name reports whether a header, a parameter or an attribute with this name is a secret.
func Name(name string) bool { return rankOf(name) >= word }

// Parameter is Name for a parameter of a URL: code and key are secrets too.
func Parameter(name string) bool { return rankOf(name) >= parameter }

// tails has a bit for the last three letters of each name: most words are none.
var tails = func() (bits [1 << 9]uint64) {
	for name := range ranks {
		n := tail("__" + name)
		bits[n>>6] |= 1 << (n & 63)
	}
	return bits
}()

func tail(s string) int {
	n := len(s)
	return int(s[n-1]&31) | int(s[n-2]&31)<<5 | int(s[n-3]&31)<<10
}

const maxName = 64

func rankOf(name string) rank {
	end := len(name)
	for end > 0 && !isLower(name[end-1]|0x20) {
		end--
	}
	name = name[:end]
	if end < 3 {
		if strings.EqualFold(name, "pw") {
			return word
		}
		return none
	}
	if n := tail(name); tails[n>>6]&(1<<(n&63)) == 0 && isLower(name[end-2]|0x20) && isLower(name[end-3]|0x20) {
		return none
	}
	var letters [maxName]byte
	var starts [maxName + 1]uint8 // of words
	n, last, before := 0, 0, byte(' ')
	for _, c := range []byte(name[max(0, len(name)-maxName):]) {
		if isAlnum(c) {
			if !isAlnum(before) || isUpper(c) && isLower(before) {
				last++
				starts[last] = uint8(n)
			}
			letters[n] = c | 0x20 // lower case, if a letter
			n++
		}
		before = c
	}
	for {
		for n > 0 && isDigit(letters[n-1]) {
			n--
		}
		for last > 0 && int(starts[last]) >= n {
			last--
		}
		for i := last; i > max(0, last-3); i-- {
			r := ranks[string(letters[starts[i]:n])]
			if r > parameter || r != none && i == 1 && last == 1 {
				return r
			}
		}
		for _, s := range suffixes {
			if k := n - len(s); k > 0 && string(letters[k:n]) == s {
				return noun
			}
		}
		if ranks[string(letters[starts[last]:n])] != qualifier {
			return none
		}
		n = int(starts[last])
	}
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isDigit(c) || isLower(c|0x20) }
