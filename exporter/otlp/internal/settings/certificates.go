// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// certificates returns nil if there are no usable ones.
func certificates() (*tls.Config, error) {
	var (
		c    tls.Config
		errs []error
	)
	if key, file := lookup("CERTIFICATE"); file != "" {
		pool, err := certPool(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is ignored: %w", key, err))
		}
		c.RootCAs = pool
	}
	certKey, certFile := lookup("CLIENT_CERTIFICATE")
	keyKey, keyFile := lookup("CLIENT_KEY")
	switch {
	case certFile != "" && keyFile != "":
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s and %s are ignored: %w", certKey, keyKey, err))
			break
		}
		c.Certificates = []tls.Certificate{pair}
	case certFile != "":
		errs = append(errs, fmt.Errorf("%s is ignored: it needs CLIENT_KEY too", certKey))
	case keyFile != "":
		errs = append(errs, fmt.Errorf("%s is ignored: it needs CLIENT_CERTIFICATE too", keyKey))
	}
	if c.RootCAs == nil && c.Certificates == nil {
		return nil, errors.Join(errs...)
	}
	return &c, errors.Join(errs...)
}

func certPool(file string) (*x509.CertPool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("no certificate in %s", file)
	}
	return pool, nil
}
