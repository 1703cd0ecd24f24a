package config

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// ClientOptions returns the options that any Kafka client of this configuration needs, without the brokers: TLS and
// SASL. It reads the PEM files, to find mistakes before the first connection.
func (c *Config) ClientOptions() ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if c.TLS != nil {
		client, err := c.TLS.client()
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		opts = append(opts, kgo.DialTLSConfig(client))
	}
	if c.SASL != nil {
		opts = append(opts, kgo.SASL(c.SASL.mechanism()))
	}
	return opts, nil
}

// client returns the TLS configuration of a client.
func (t *TLS) client() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca: no certificate in %s", t.CA)
		}
	}
	if t.Cert == "" {
		return out, nil
	}
	if _, err := t.certificate(nil); err != nil {
		return nil, err
	}
	out.GetClientCertificate = t.certificate
	return out, nil
}

func (t *TLS) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("read cert and key: %w", err)
	}
	return &pair, nil
}

func (s *SASL) mechanism() sasl.Mechanism {
	switch s.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Oauth(s.bearer)
	case "AWS_MSK_IAM":
		return aws.Auth{
			AccessKey: s.AccessKey, SecretKey: s.SecretKey.Reveal(), SessionToken: s.SessionToken.Reveal(),
		}.AsManagedStreamingIAMMechanism()
	default: // Load lets no other word pass
		return plain.Auth{User: s.Username, Pass: s.Password.Reveal()}.AsMechanism()
	}
}

// bearer returns the token; the client asks at each authentication, so a token file may be renewed.
func (s *SASL) bearer(context.Context) (oauth.Auth, error) {
	if s.TokenFile == "" {
		return oauth.Auth{Token: s.Token.Reveal()}, nil
	}
	data, err := os.ReadFile(s.TokenFile)
	if err != nil {
		return oauth.Auth{}, fmt.Errorf("read token_file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return oauth.Auth{}, errors.New("read token_file: it is empty")
	}
	return oauth.Auth{Token: token}, nil
}
