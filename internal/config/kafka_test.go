package config

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ping connects as the configuration says.
func ping(t *testing.T, cluster *kfake.Cluster, security string) error {
	t.Helper()
	c := mustLoad(t, smallest+security)
	opts, err := c.ClientOptions()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(cluster.ListenAddrs()...))...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return client.Ping(ctx)
}

func TestSASLMechanismsLogIn(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser(mechanism, "me", "right"))
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			login := "sasl: {mechanism: " + mechanism + ", username: me, password: %s}\n"
			if err := ping(t, cluster, fmt.Sprintf(login, "right")); err != nil {
				t.Errorf("right password: %v", err)
			}
			if err := ping(t, cluster, fmt.Sprintf(login, "wrong")); err == nil {
				t.Error("a wrong password logs in")
			}
		})
	}
}

func TestTokensAreReadAgainForEachLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	s := mustLoad(t, smallest+"sasl: {mechanism: OAUTHBEARER, token_file: "+file+"}\n").SASL
	if name := s.mechanism().Name(); name != "OAUTHBEARER" {
		t.Errorf("mechanism %s", name)
	}
	for content, want := range map[string]string{"first\n": "first", "second": "second"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if auth, err := s.bearer(t.Context()); err != nil || auth.Token != want {
			t.Errorf("token %q, %v; want %q", auth.Token, err, want)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.bearer(t.Context()); err == nil {
		t.Error("an empty file is a token")
	}
	inline := mustLoad(t, smallest+"sasl: {mechanism: OAUTHBEARER, token: abc}\n").SASL
	if auth, err := inline.bearer(t.Context()); err != nil || auth.Token != "abc" {
		t.Errorf("token %q, %v", auth.Token, err)
	}
}

func TestAWSMechanism(t *testing.T) {
	s := mustLoad(t, smallest+"sasl: {mechanism: AWS_MSK_IAM, access_key: a, secret_key: b}\n").SASL
	if name := s.mechanism().Name(); name != "AWS_MSK_IAM" {
		t.Errorf("mechanism %s", name)
	}
}

func TestMutualTLSConnects(t *testing.T) {
	dir := t.TempDir()
	pair := selfSigned(t, dir)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := ping(t, cluster, fmt.Sprintf("tls: {ca: %s, cert: %s, key: %s}\n", cert, cert, key)); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := ping(t, cluster, fmt.Sprintf("tls: {ca: %s}\n", cert)); err == nil {
		t.Error("a client without a certificate gets in")
	}
	for broken, want := range map[string]string{
		"tls: {ca: " + key + "}\n":           "tls: read ca: no certificate in " + key,
		"tls: {ca: /nowhere}\n":              "tls: read ca: open /nowhere: no such file or directory",
		"tls: {cert: /nowhere, key: /no}\n":  "tls: read cert and key: open /nowhere",
		"tls: {cert: " + key + ", key: x}\n": "tls: read cert and key: open x",
	} {
		if err := ping(t, cluster, broken); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v", strings.TrimSpace(broken), err)
		}
	}
}

// selfSigned writes cert.pem and key.pem for 127.0.0.1, which serve as authority, server and client.
func selfSigned(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for name, content := range map[string][]byte{"cert.pem": certPEM, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
