// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package otlpgrpc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/otlp/internal/testcert"
	"github.com/spanprof/spanprof/exporter/otlp/otlpgrpc"
)

// certificateKey is the environment variable with the certificate of the server, for the
// process that TestHTTPSProxy starts.
const certificateKey = "SPANPROF_TEST_CERTIFICATE"

// The exporter reaches a server through a proxy of the environment, which
// resolves the server's name and wants a password. net/http reads the environment once, so
// this needs another process.
func TestHTTPSProxy(t *testing.T) {
	if file := os.Getenv(certificateKey); file != "" {
		exportThroughProxy(t, file)
		return
	}
	certificate, _, pair := testcert.New(t)
	b, _ := start(t, healthy, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	p := &connectProxy{t: t, to: b.target}
	proxy := httptest.NewServer(p)
	defer p.tunnels.Wait()
	defer proxy.Close()

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), program, "-test.run=^TestHTTPSProxy$")
	other.Env = append(os.Environ(), certificateKey+"="+certificate,
		"HTTPS_PROXY=http://user:secret@"+proxy.Listener.Addr().String(), "NO_PROXY=", "no_proxy=")
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if calls, _ := b.seen(); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
	if p.requests.Load() == 0 {
		t.Error("no request to the proxy")
	}
}

func exportThroughProxy(t *testing.T, certificate string) {
	t.Helper()
	pem, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	// The certificate is for an address.
	creds := credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
	e := export(t, otlp.WithEndpointURL("collector.invalid:4317"), otlpgrpc.WithDialOptions(grpc.WithTransportCredentials(creds)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.ForceFlush(ctx); err != nil {
		t.Error(err)
	}
	if s := e.Status(); s.Exported != 1 || s.Retries != 0 {
		t.Errorf("%+v, want 1 exported at once", s)
	}
}

// connectProxy tunnels to one server, whatever the name that it is asked for.
type connectProxy struct {
	t        *testing.T
	to       string
	requests atomic.Int32
	tunnels  sync.WaitGroup
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	if r.Method != http.MethodConnect || r.Host != "collector.invalid:4317" {
		p.t.Errorf("the proxy got %s %s", r.Method, r.Host)
	}
	if got := r.Header.Get("Proxy-Authorization"); got != "Basic dXNlcjpzZWNyZXQ=" {
		p.t.Errorf("Proxy-Authorization %q", got)
	}
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		p.t.Error(err)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.t.Error(err)
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	for to, from := range map[net.Conn]net.Conn{client: server, server: client} {
		p.tunnels.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.Close()
		})
	}
}
