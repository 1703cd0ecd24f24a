package httphandler

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", nil)
	return a
}

// issue writes name.crt and name.key. A nil parent makes the certificate its own authority.
func (a *authority) issue(t *testing.T, name string, parent *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, signerKey := template, key
	if parent != nil {
		signer, signerKey = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".crt", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", keyDER)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// serveTLS starts an endpoint that asks for a client certificate of the authority and reports its name.
func serveTLS(t *testing.T, a *authority, clients chan<- string) *httptest.Server {
	t.Helper()
	a.issue(t, "server", a)
	cert, err := tls.LoadX509KeyPair(a.path("server.crt"), a.path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		clients <- r.TLS.PeerCertificates[0].Subject.CommonName
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestMutualTLSTakesUpARenewedCertificate(t *testing.T) {
	a := newAuthority(t)
	clients := make(chan string, 1)
	s := serveTLS(t, a, clients)
	a.issue(t, "worker", a)
	cfg, err := LoadTLS(TLSFiles{CA: a.path("ca.crt"), Cert: a.path("worker.crt"), Key: a.path("worker.key")})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, s.URL, func(c *Config) { c.TLS = cfg })
	if err := h.Handle(t.Context(), message("v")); err != nil {
		t.Fatal(err)
	}
	if name := <-clients; name != "worker" {
		t.Errorf("the endpoint saw %q", name)
	}

	a.issue(t, "renewed", a)
	for _, ext := range []string{".crt", ".key"} {
		if err := os.Rename(a.path("renewed"+ext), a.path("worker"+ext)); err != nil {
			t.Fatal(err)
		}
	}
	h = newHandler(t, s.URL, func(c *Config) { c.TLS = cfg }) // has no connection yet
	if err := h.Handle(t.Context(), message("v")); err != nil {
		t.Fatal(err)
	}
	if name := <-clients; name != "renewed" {
		t.Errorf("the endpoint saw %q after the renewal", name)
	}
}

func TestAnEndpointThatIsNotTrustedGetsNoRecord(t *testing.T) {
	a := newAuthority(t)
	clients := make(chan string, 1)
	s := serveTLS(t, a, clients)
	for name, cfg := range map[string]TLSFiles{
		"unknown authority": {},
		"other name":        {CA: a.path("ca.crt"), ServerName: "elsewhere.example"},
	} {
		tlsConfig, err := LoadTLS(cfg)
		if err != nil {
			t.Fatal(err)
		}
		h := newHandler(t, s.URL, func(c *Config) { c.TLS = tlsConfig })
		if err := h.Handle(t.Context(), message("v")); verdict(err) != retrytopics.VerdictRetryable || len(clients) != 0 {
			t.Errorf("%s: Handle = %v, want a certain error", name, err)
		}
	}
}

func TestLoadTLSRefusesWhatItCannotUse(t *testing.T) {
	a := newAuthority(t)
	for name, files := range map[string]TLSFiles{
		"missing authorities":      {CA: a.path("none")},
		"authorities that are not": {CA: a.path("ca.key")},
		"certificate alone":        {Cert: a.path("ca.crt")},
		"key alone":                {Key: a.path("ca.key")},
		"key that is none":         {Cert: a.path("ca.crt"), Key: a.path("ca.crt")},
	} {
		if _, err := LoadTLS(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
