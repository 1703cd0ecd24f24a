package dedupe

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/dchest/siphash"
)

// MaxKey is the length in bytes of the longest key that is kept as it is; a longer one is kept as its SHA-256.
const MaxKey = 200

// CanonicalKey returns the form in which a key is written to a mark and hashed: x itself up to [MaxKey] bytes, the 32
// bytes of its SHA-256 above. The form of a form is itself.
func CanonicalKey(x []byte) []byte {
	if len(x) <= MaxKey {
		return x
	}
	sum := sha256.Sum256(x)
	return sum[:]
}

// OriginKey returns the key of a record that has none of its own: its origin, without the run, as text. It names topic
// and partition too, so that it is unique in a cluster.
func OriginKey(o Origin) []byte { return []byte(o.String() + "@" + o.IDString()) }

// IdempotencyKeyHeader returns what a receiver outside of Kafka is told as the idempotency key: the first 32 characters
// of the unpadded base64url of the SHA-256 of x. 192 bits of a digest: short, printable and the same in every run,
// and it does not show x. Give it x itself, not its canonical form.
func IdempotencyKeyHeader(x []byte) string {
	sum := sha256.Sum256(x)
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// Hash stands for a key in memory. Two keys out of n have the same hash with a probability of about n²/2^129: 10^-21
// for a thousand million keys. The later one of the two would be taken for done.
type Hash [2]uint64

// String returns the hash in 32 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x%016x", h[0], h[1]) }

// Seed is the secret of a [Hasher].
type Seed [16]byte

// NewSeed returns a random seed. A process makes one at its start and tells it to nobody.
func NewSeed() Seed {
	var s Seed
	_, _ = rand.Read(s[:]) // never fails: it ends the process instead
	return s
}

// Hasher turns keys into hashes with SipHash-2-4-128 under its seed. Who does not know the seed cannot tell the function
// from a random one, and so cannot choose keys that collide or that fall into neighbouring slots; a hash that is only
// fast (xxh3, wyhash) does not promise that, even with a seed. Hashes of different seeds have nothing in common, which
// is why they never leave the process.
type Hasher struct {
	key, origin [2]uint64 // of user-given keys, of origins
}

// NewHasher returns a hasher that depends on the seed alone.
func NewHasher(seed Seed) Hasher {
	var h Hasher
	h.key[0] = binary.LittleEndian.Uint64(seed[:8])
	h.key[1] = binary.LittleEndian.Uint64(seed[8:])
	h.origin[0], h.origin[1] = siphash.Hash128(h.key[0], h.key[1], []byte("laneway origin"))
	return h
}

// Sum returns the hash of the canonical form of x ([CanonicalKey]).
func (h Hasher) Sum(x []byte) Hash {
	if len(x) > MaxKey {
		sum := sha256.Sum256(x)
		x = sum[:]
	}
	a, b := siphash.Hash128(h.key[0], h.key[1], x)
	return Hash{a, b}
}

// SumOrigin returns the hash of an origin as the key of its record: topic id, partition, leader epoch and offset, not
// the topic's name. It works under a secret of its own: no x that a user can think of gives the hash of an origin.
func (h Hasher) SumOrigin(o Origin) Hash {
	var b [32]byte
	copy(b[:16], o.TopicID[:])
	binary.LittleEndian.PutUint32(b[16:], uint32(o.Partition))
	binary.LittleEndian.PutUint32(b[20:], uint32(o.LeaderEpoch))
	binary.LittleEndian.PutUint64(b[24:], uint64(o.Offset))
	x, y := siphash.Hash128(h.origin[0], h.origin[1], b[:])
	return Hash{x, y}
}
