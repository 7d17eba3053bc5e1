// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package testcert writes the certificate of package httptest to files.
package testcert

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// New returns a certificate of 127.0.0.1 that signs itself, in files and parsed.
func New(t *testing.T) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	pair = server.TLS.Certificates[0]
	server.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, pair
}
