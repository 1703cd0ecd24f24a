package dedupe_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/laneway-go/laneway/dedupe"
)

func TestHashDependsOnTheSeed(t *testing.T) {
	x := []byte("order-17")
	a, b := dedupe.NewHasher(dedupe.NewSeed()), dedupe.NewHasher(dedupe.NewSeed())
	if a.Sum(x) == b.Sum(x) {
		t.Error("two random seeds give one hash")
	}
	if again := dedupe.NewHasher(dedupe.Seed{1, 2, 3}); again.Sum(x) != hasher().Sum(x) {
		t.Error("one seed gives two hashes")
	}
	if h := hasher().Sum(x); h[0] == h[1] || len(h.String()) != 32 {
		t.Errorf("hash %s", h)
	}
}

// Every bit of the input moves about half of the bits of the hash.
func TestHashSpreads(t *testing.T) {
	x := []byte("order-17/customer-3")
	base := hasher().Sum(x)
	for i := range len(x) * 8 {
		x[i/8] ^= 1 << (i % 8)
		h := hasher().Sum(x)
		x[i/8] ^= 1 << (i % 8)
		if n := bits.OnesCount64(h[0]^base[0]) + bits.OnesCount64(h[1]^base[1]); n < 32 || n > 96 {
			t.Errorf("bit %d moves %d bits of 128", i, n)
		}
	}
}

func TestHashOfOriginIsOfNoKey(t *testing.T) {
	o := dedupe.Origin{Topic: "orders", TopicID: dedupe.TopicID{7}, Partition: 3, LeaderEpoch: 5, Offset: 1042}
	h := hasher().SumOrigin(o)
	same := o
	same.Topic = "renamed"
	if hasher().SumOrigin(same) != h {
		t.Error("the topic's name counts beside its id")
	}
	for _, other := range []dedupe.Origin{
		{TopicID: dedupe.TopicID{8}, Partition: 3, LeaderEpoch: 5, Offset: 1042},
		{TopicID: dedupe.TopicID{7}, Partition: 4, LeaderEpoch: 5, Offset: 1042},
		{TopicID: dedupe.TopicID{7}, Partition: 3, LeaderEpoch: 6, Offset: 1042},
		{TopicID: dedupe.TopicID{7}, Partition: 3, LeaderEpoch: 5, Offset: 1043},
	} {
		if hasher().SumOrigin(other) == h {
			t.Errorf("%v has the hash of %v", other, o)
		}
	}
	// The very bytes that are hashed for an origin, given as a key.
	x := append(bytes.Clone(o.TopicID[:]), 3, 0, 0, 0, 5, 0, 0, 0, 0x12, 4, 0, 0, 0, 0, 0, 0)
	if hasher().Sum(x) == h || hasher().Sum(dedupe.OriginKey(o)) == h {
		t.Error("a key has the hash of an origin")
	}
}

func TestCanonicalKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 32, dedupe.MaxKey - 1, dedupe.MaxKey, dedupe.MaxKey + 1, 1000}).Draw(t, "length")
		x := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "x")
		c := dedupe.CanonicalKey(x)
		if len(x) <= dedupe.MaxKey && !bytes.Equal(c, x) {
			t.Fatal("a short key is not kept as it is")
		}
		if sum := sha256.Sum256(x); len(x) > dedupe.MaxKey && !bytes.Equal(c, sum[:]) {
			t.Fatal("a long key is not kept as its SHA-256")
		}
		if !bytes.Equal(dedupe.CanonicalKey(c), c) {
			t.Fatal("the form of a form is another")
		}
		if hasher().Sum(x) != hasher().Sum(c) {
			t.Fatal("the hash is not of the canonical form")
		}
	})
}

func TestOriginKeyNamesEverythingButTheRun(t *testing.T) {
	o := dedupe.Origin{Topic: "orders", TopicID: dedupe.TopicID{15: 0xab}, Partition: 3, LeaderEpoch: 7, Offset: 1042}
	if got, want := string(dedupe.OriginKey(o)), "orders/3/1042@000000000000000000000000000000ab/7"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestIdempotencyKeyHeader(t *testing.T) {
	for _, x := range [][]byte{nil, []byte("order-17"), bytes.Repeat([]byte("x"), 500)} {
		sum := sha256.Sum256(x)
		if got, want := dedupe.IdempotencyKeyHeader(x), base64.URLEncoding.EncodeToString(sum[:])[:32]; got != want {
			t.Errorf("%.10q: %s, want %s", x, got, want)
		}
	}
	// Receivers keep these: they must be the same in every release. SHA-256 of nothing.
	if got := dedupe.IdempotencyKeyHeader(nil); got != "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NM" {
		t.Errorf("of nothing: %s", got)
	}
}
