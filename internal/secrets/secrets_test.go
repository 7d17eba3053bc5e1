// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/secrets"
)

// planted are values with secrets that contain S3CRET.
var planted = map[string][]string{
	"query": {
		"access_token=S3CRET03&api_key=S3CRET04&password=S3CRET05&code=S3CRET06&sig=S3CRET07&x-amz-signature=S3CRET08&X%2DAmz%2DSignature=S3CRET09&SIG=S3CRET10&client_secret=S3CRET11&id_token=S3CRET12",
		"%61ccess_token=S3CRET", "%2561ccess_token=S3CRET", "access%5Ftoken=S3CRET", "AccessToken=S3CRET", "user%5Bpassword%5D=S3CRET", "user[password]=S3CRET",
		"q=100%&access%5Ftoken=S3CRET", "q=1&X-Amz-Credential=S3CRET%2F20260101", "AWSAccessKeyId=S3CRET", "X-Goog-Signature=S3CRET", "X-Amz-Security-Token=S3CRET", "sig=S3CRET=S3CRET&c",
		"redirect=https%3A%2F%2Fapp%2Fcb%3Faccess_token%3DS3CRET&x=1", "redirect=https%253A%252F%252Fapp%253Faccess_token%253DS3CRET", "back=https://u:S3CRET@host", "back=https%3A%2F%2Fu%3AS3CRET%40host",
		"filter=%7B%22password%22%3A%22S3CRET%22%7D", "pwd=S3CRET;x=1", "session_id=S3CRET&jsessionid=S3CRET", "apikey=S3CRET", "key=S3CRET", "passwordConfirm=S3CRET&new_password=S3CRET&password2=S3CRET",
		"samlresponse=S3CRET", "code_verifier=S3CRET", "auth=S3CRET", `data={"access_token":"S3CRET"}`, "Authorization=Bearer%20S3CRET", "a=1&amp;token=S3CRET", "auth_token[]=S3CRET", "assertion=S3CRET", "csrfmiddlewaretoken=S3CRET", "card_number=S3CRET", "q=a+b&oauth_token=S3CRET", "token=S3CRET,x",
	},
	"text": {
		"https://user:S3CRET13@h/p?refresh_token=S3CRET14&Signature=S3CRET15", "/reset?token=S3CRET16", "/callback?code=S3CRET", "https://h/cb#access_token=S3CRET", "/a;jsessionid=S3CRET?x=1",
		"Bearer S3CRET18", "sid=S3CRET19", "dial postgres://u:S3CRET21@db/x?sslmode=disable: password=S3CRET22 refused", "//user:S3CRET24@host/p",
		"redis: AUTH S3CRET25 failed for redis://:S3CRET26@r:6379/0", "Authorization: Bearer S3CRET27",
		"https://S3CRET@github.com/a/b", "dsn user:S3CRET@tcp(db:3306)/shop", "user:S3/CR=S3CRET@tcp(db)/x", "u:a@S3CRET@tcp(db)/x", "parse \"postgres://u:pa/S3CRET@h/db\"",
		"cannot parse 'postgres://u:a'S3CRET@h/db'", "amqp://guest:S3CRET@mq", "host=db password=S3CRET user=u", "host=db password='S3CRET S3CRET' user=u", "Server=db;User Id=u;Password=S3CRET;",
		"Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=S3CRET=", "AccountKey=S3CRET;EndpointSuffix=x", `{"user":"u","password":"S3CRET"}`, `{"password" : "S3CRET"}`, `{\"token\":\"S3CRET\",\"x\":1}`,
		`{"password":"a\"S3CRET"}`, "password: S3CRET", "token = S3CRET", "map[Authorization:[Bearer S3CRET] Accept:[x]]", `{"Authorization":["Basic S3CRET"]}`, "map[password:S3CRET user:bob]", "{User:bob Password:S3CRET}",
		"Cookie: a=S3CRET; b=S3CRET", "Set-Cookie: sid=S3CRET; Path=/", "curl -H 'Authorization: Bearer S3CRET' -H 'X-Api-Key: S3CRET' x", "Proxy-Authorization: Basic S3CRET==",
		"exec: mysql --password=S3CRET", "exec: tool --password S3CRET", "AWS_SECRET_ACCESS_KEY=S3CRET", "PGPASSWORD=S3CRET psql", "invalid token \"S3CRET\"", "login with Basic S3CRET=",
		"Key (token)=(S3CRET) already exists.", "password => 'S3CRET'", "pass := \"S3CRET\"",
		"/verify/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJTM0NSRVQifQ.S3CRET_x-y", "/token/S3CRET", "key ghp_S3CRET0123456789abcdef is revoked", "/invite/S3CRETaB3xK9pQ2zR7vT5w0Q",
		"/verify/S3CRETaB3xK9pQ2zR7vT5wY1mN8", "/reset/S3CRET17", "update users set token='S3CRET' where id=1",
		`{"cookie":"a=S3CRET; b=S3CRET"}`, `{"authorization":"S3CRET"}`, `Authorization: Digest username="dg", response="S3CRET"`, `"x-auth-token":["S3CRET","S3CRET"]`, `"credentials":{"user":"x","value":"S3CRET"}`,
		`"Cookie":[]string{"sid=S3CRET; a=S3CRET"}`, "AUTH PLAIN S3CRET", "redis: AUTH svc S3CRET failed", `password=two\ S3CRET`,
		"Digest S3CRET", "bad API key: S3CRET", "invalid API key S3CRET1", "login failed: user=bob pw=S3CRET", "db_pw=S3CRET", "SECRET_KEY_BASE=S3CRET", "mongodb://u:S3CRET@h1:27017,h2:27017/db", "Set-Cookie: JSESSIONID=S3CRET; HttpOnly",
		`Post "https://h?api_key=S3CRET": EOF`, "map[authorization:[Bearer S3CRET] content-type:[application/grpc]]", "dial tcp: lookup u:S3CRET@db: no such host", "https://hooks.slack.com/services/T0/B0/S3CRETk3jX9zQ8wV7bN6mL5t", "GET /?token=S3CRET HTTP/1.1", "token S3CRET expired", "{'api_key': 'S3CRET'}", "root:S3CRET@/db", "https://u%3AS3CRET@h", "Token token=S3CRET", "x-api-key: S3CRET", "password=S3&S3CRET refused", "password=S3,S3CRET", "client_secret%3DS3CRET", "error: token=%53S3CRET",
	},
	"statement": {
		"SELECT * FROM users WHERE password='S3CRET01' AND card=4111111111111111", "UPDATE u SET token='S3CRET02'", `mutation { login(password: "S3CRET20") }`,
		"SELECT 'it''s S3CRET'", `SELECT 'it\'s S3CRET'`, `SELECT 'C:\' , 'S3CRET'`, "SELECT $$S3CRET$$, $a$ x $$S3CRET$a$", "SELECT N'S3CRET', E'S3CRET\\n', U&'S3CRET'",
		"SELECT 1 -- S3CRET\nFROM t", "SELECT /* S3CRET */ 1", "SELECT /* a /* b */ S3CRET */ 1", "SELECT 1 # S3CRET", "SELECT 'S3CRET", "SELECT /* S3CRET",
		`SELECT * FROM users WHERE password = "S3CRET"`, `SELECT * FROM "users" WHERE password = "S3CRET"`, `SELECT SHA2("S3CRET", 256)`,
		`{"find":"users","filter":{"password":"S3CRET"}}`, `{find: "users", filter: {token: 'S3CRET'}}`, `{"a":"x\"S3CRET"}`, `{ user(note: """ a "S3CRET" b """) { id } }`, "query { a } # S3CRET",
		"SET session:1 S3CRET", "GET session:S3CRET-k3jX9", "HSET u password S3CRET", "auth S3CRET", "EVALSHA a 1 k S3CRET", "CONFIG SET requirepass S3CRET", "set k S3CRET EX 60", `PRAGMA key="x'S3CRET'"`, "EXEC login @pw = N'S3CRET'", "SELECT 0x53S3CRET", "AUTH default S3CRET", "get a\nset b S3CRET==", "SETEX k 60 S3CRET", "  \n set k S3CRET", "ACL SETUSER joe on >S3CRET", "ZSCORE k S3CRET", "SELECT a FROM t // S3CRET", "CREATE EXTERNAL TABLE x LOCATION 's3://u:S3CRET@b'",
		"COPY t FROM s3://u:S3CRET@b",
	},
}

var hidden = map[string]func(string) string{"query": secrets.Query, "text": secrets.Text, "statement": secrets.Statement}

func TestPlanted(t *testing.T) {
	for form, values := range planted {
		for _, value := range values {
			got := hidden[form](value)
			if strings.Contains(got, "S3CRET") || strings.Contains(got, "4111") {
				t.Errorf("%s %s\nbecame %s", form, value, got)
			}
			if again := hidden[form](got); again != got {
				t.Errorf("%s %s\nbecame %s\nthen %s", form, value, got, again)
			}
		}
	}
}

func TestInnocent(t *testing.T) {
	for form, values := range map[string][]string{
		"query": {
			"country_code=DE", "sort_key=name&author=bob&keyboard=us&status_code=404", "q=caf%C3%A9+bar&page=2", "code=DE", "design=b&sig=", "email=bob@example.org&time=10:30", "max_tokens=500&token_type=bearer&tokens=7",
			"passwordless=true", "secretary=ann", "tokenize=yes", "signature_version=4", "X-Amz-Date=20260101&X-Amz-Expires=60", "primary_key=id&cache_key=user:42", "grant_type=password&response_type=token",
			"session_count=3", "zipcode=12345&barcode=4006381333931", "id=550e8400-e29b-41d4-a716-446655440000", "key=", "monkey=banana", "compass=north", "cookie_consent=yes", "redirect=%2Fhome%3Fpage%3D2",
		},
		"text": {
			"", "GET", "/tokens/list", "/api/v1/users/123", "/cart/{id}", "key_events", "https://host/@a?b=c@d", "https://host:8080/a?x=1#f", "context deadline exceeded", "exit code=1, status code: 404",
			"rpc error: code = NotFound desc = no such user", "invalid token: expired", "auth: Get \"https://h/x\": dial tcp 10.0.0.1:443: connect: connection refused", "unexpected token: }", "password authentication failed for user \"bob\"",
			"bearer token expired", "basic auth is off", "mailto:bob@example.org", "contact bob@example.org", "image nginx:1.21@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "trace 4bf92f3577b34da6a3ce929d0e0e4736",
			"commit 63c92580aa11bb22cc33dd44ee55ff6677889900", "main.(*Server).ListUserAccountsByOrganization2", "checkout-7d9f8b6c5d-x2x4z", "duplicate key value violates unique constraint \"users_pkey\"", "Keyboard: us, Author: bob, sort_key: name",
			"Foo::bar@baz", "*net.OpError", "select one of the entries", "failed to update user 42: can't connect", "git@github.com:a/b.git", "orders.created", "2026-01-02T10:11:12Z", "secrets \"regcred\" not found", "country_code=DE",
			"token: unexpected EOF", "Access denied for user 'u'@'h' (using password: YES)", "primary key: id7", "sort key: name1", "status code: 404", "http.response.status_code=404", "100% of %s",
		},
		"statement": {
			"SELECT name FROM t WHERE id = $1 AND token = ?", `SELECT "u"."name" FROM "users" AS "u" WHERE "u"."token" = $1`, "SELECT a.token FROM a JOIN b ON a.token = b.token", "SELECT * FROM t1 WHERE col2 = :p1 AND c = @p2 AND d = :1",
			"query Items($first: Int!) { items(first: $first) { name } }", "SELECT `key` FROM `t`", "HGETALL cart", "HGETALL user:profile", "SELECT a::int4", "UPDATE t SET password = VALUES(password)", `UPDATE "t" SET "a" = $1, "b" = $2 RETURNING "id"`, `{"find":?}`,
			"SELECT data #>> a FROM t", "SET search_path = x",
		},
	} {
		for _, value := range values {
			if got := hidden[form](value); got != value {
				t.Errorf("%s %s\nbecame %s", form, value, got)
			}
		}
	}
}

// What is around a secret stays.
func TestKept(t *testing.T) {
	for _, tt := range [...]struct{ form, value, want string }{
		{"query", "q=1&sig=abc&x=2", "q=1&sig=REDACTED&x=2"},
		{"query", "a=1&redirect=%2F%3Ftoken%3Dx&b=2", "a=1&redirect=/?token=REDACTED&b=2"},
		{"text", "https://user:pass@host:8443/a?sig=1#f", "https://REDACTED:REDACTED@host:8443/a?sig=REDACTED#f"},
		{"text", "/a?Signature=x;sig=y", "/a?Signature=REDACTED;sig=REDACTED"},
		{"text", `Get "https://u:p@host/x?sig=a&b=c": timeout of 1s`, `Get "https://REDACTED:REDACTED@host/x?sig=REDACTED&b=c": timeout of 1s`},
		{"text", `{"user":"u","password":"p","x":1}`, `{"user":"u","password":"REDACTED","x":1}`},
		{"text", "password=x refused (code 5).", "password=REDACTED refused (code 5)."},
		{"text", "curl -H 'Authorization: Bearer x' https://h", "curl -H 'Authorization: REDACTED' https://h"},
		{"statement", "SELECT a, 'x' FROM t1 WHERE b = -1.5 AND c IN (0xAF, 2) LIMIT 10", "SELECT a, ? FROM t1 WHERE b = -? AND c IN (?, ?) LIMIT ?"},
		{"statement", `{"find":"users","filter":{"age":5}}`, `{"find":?,"filter":{"age":?}}`},
		{"statement", "SELECT /* x */ a -- y\nFROM t", "SELECT /*?*/ a --?\nFROM t"},
		{"statement", "HSET user:1 name x", "HSET user:1 ?"},
	} {
		if got := hidden[tt.form](tt.value); got != tt.want {
			t.Errorf("%s %s\nbecame %s\nwant   %s", tt.form, tt.value, got, tt.want)
		}
	}
}

func TestName(t *testing.T) {
	for name, want := range map[string]bool{
		"authorization": true, "Proxy-Authorization": true, "set-cookie": true, "x-api-key": true, "X-Auth-Token": true, "x_csrf_token": true, "X-Hub-Signature-256": true, "accept": false, "user-agent": false,
		"x-request-id": false, "country_code": false, "author": false, "content-type": false, "": false, "-": false, "256": false, "hash": false, strings.Repeat("x", 200) + "_token": true,
	} {
		if got := secrets.Name(name); got != want {
			t.Errorf("Name(%q) = %v", name, got)
		}
	}
	if !secrets.Parameter("code") || !secrets.Parameter("Key") || secrets.Name("code") || secrets.Parameter("sort_key") || secrets.Parameter("status_code") {
		t.Error("code and key are secrets as the whole name of a parameter only")
	}
}

func FuzzHide(f *testing.F) {
	for _, values := range planted {
		for _, value := range values {
			f.Add(value)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		for form, hide := range hidden {
			got := hide(s)
			if len(got) > 20*len(s)+20 {
				t.Errorf("%s %q grew to %q", form, s, got)
			}
			if !strings.Contains(got, secrets.Hidden) && !strings.Contains(got, "?") && got != s {
				t.Errorf("%s %q became %q without a mark", form, s, got)
			}
		}
		// A literal is hidden whatever else is in the statement.
		quoted := "SELECT '" + strings.NewReplacer("'", "''", `\`, "").Replace(s) + "S3CRET' FROM t"
		if got := secrets.Statement(quoted); got != "SELECT ? FROM t" {
			t.Errorf("%q became %q", quoted, got)
		}
		// A secret is hidden whatever is before it, except an open quote.
		before := strings.NewReplacer("9", "", "'", "", `"`, "", "`", "").Replace(s)
		for secret, hide := range map[string]func(string) string{
			"&token=S3CRET9": secrets.Query, " password=S3CRET9 ": secrets.Text, " \"password\":\"S3CRET9\"": secrets.Text,
			" https://u:S3CRET9@h/": secrets.Text, " u:S3CRET9@tcp(h)": secrets.Text, " Bearer S3CRET9": secrets.Text, " Cookie: a=S3CRET9; b": secrets.Text,
		} {
			if got := hide(before + secret); strings.Contains(got, "S3CRET9") {
				t.Errorf("%q + %q became %q", s, secret, got)
			}
		}
	})
}
