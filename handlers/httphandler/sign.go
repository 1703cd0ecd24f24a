package httphandler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// signer makes the signatures of Standard Webhooks, version 1: an HMAC-SHA256 over id, time and body for each secret.
type signer [][]byte

// newSigner reads "whsec_…" secrets. Its error names the position of a bad one, never the secret.
func newSigner(secrets []string) (signer, error) {
	var s signer
	var problems []error
	for i, text := range secrets {
		encoded, ok := strings.CutPrefix(text, "whsec_")
		secret, err := base64.StdEncoding.DecodeString(encoded)
		// The bounds are those of the specification.
		if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
			problems = append(problems, fmt.Errorf("signing secret %d: want whsec_ and the base64 of 24 to 64 bytes", i))
		}
		s = append(s, secret)
	}
	return s, errors.Join(problems...)
}

// sign returns the webhook-timestamp and webhook-signature of a request.
func (s signer) sign(id string, now time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(now.Unix(), 10)
	var signatures []string
	for _, secret := range s {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte(id + "." + timestamp + ".")) // a hash takes everything
		_, _ = mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return timestamp, strings.Join(signatures, " ")
}
