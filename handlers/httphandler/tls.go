package httphandler

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSFiles names PEM files. All fields are optional, but a certificate needs its key.
type TLSFiles struct {
	CA         string // the authorities that may sign the endpoint's certificate, instead of the system's
	Cert, Key  string // the client certificate with its chain, and its private key
	ServerName string // the name that the endpoint's certificate must have, instead of the URL's
}

// LoadTLS reads the files. The client certificate is read again for each new connection, so that a renewed one is taken up
// without a restart.
func LoadTLS(f TLSFiles) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("load the authorities: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load the authorities from %s: no certificate in it", f.CA)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return cfg, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, errors.New("load the client certificate: want both the certificate and its key")
	}
	if _, err := loadCertificate(f); err != nil { // what is wrong now should be said now
		return nil, err
	}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return loadCertificate(f) }
	return cfg, nil
}

func loadCertificate(f TLSFiles) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("load the client certificate: %w", err)
	}
	return &cert, nil
}
