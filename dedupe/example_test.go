package dedupe_test

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

// A consumer by hand: what it finished is in a table, and in a compacted topic for the process that comes after it.
func Example() {
	key, err := dedupe.ParseKey("json:order.id")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) // time.Now() in a real loop
	hasher := dedupe.NewHasher(dedupe.NewSeed())
	var done dedupe.Table
	var marks []*kgo.Record // stands for the compacted topic

	consume := func(r *kgo.Record) {
		x, ok, err := key.Of(r)
		if err != nil {
			fmt.Println("to the dead letters:", err)
			return
		}
		o := dedupe.Origin{Topic: r.Topic, Partition: r.Partition, LeaderEpoch: r.LeaderEpoch, Offset: r.Offset}
		hash := hasher.SumOrigin(o) // without a key of its own, a record is the same work as itself
		if ok {
			hash = hasher.Sum(x)
		}
		if done.Has(hash) {
			fmt.Printf("%s: duplicate\n", o)
			return
		}
		fmt.Printf("%s: charge %s\n", o, r.Value)
		mark := dedupe.Mark{
			Kind: dedupe.Done, Key: x, DefaultKey: !ok, Identity: dedupe.Identity{Origin: o},
			Tenure: now.Unix(), At: now.UnixMilli(),
		}
		marks = append(marks, &kgo.Record{Key: mark.AppendKey(nil), Value: mark.AppendValue(nil)}) // and wait for its ack
		done.Put(hash, mark.At)
	}
	consume(&kgo.Record{Topic: "orders", Offset: 0, Value: []byte(`{"order":{"id":"A-17"},"try":1}`)})
	consume(&kgo.Record{Topic: "orders", Offset: 1, Value: []byte(`{"order":{"id":"A-17"},"try":2}`)})
	consume(&kgo.Record{Topic: "orders", Offset: 2, Value: []byte(`{"order":{}}`)})
	consume(&kgo.Record{Topic: "orders", Offset: 3, Value: []byte(`not JSON`)})

	// The next process has another seed. It reads the topic to its end before it starts.
	hasher = dedupe.NewHasher(dedupe.NewSeed())
	done = dedupe.Table{}
	mark := dedupe.Mark{Identity: dedupe.Identity{Origin: dedupe.Origin{Topic: "orders"}}}
	for _, r := range marks {
		if err := mark.Decode(r.Key, r.Value); err != nil {
			fmt.Println("not a mark:", err)
			continue
		}
		fmt.Println(mark.String())
		if mark.DefaultKey {
			done.Put(hasher.SumOrigin(mark.Identity.Origin), mark.At)
		} else {
			done.Put(hasher.Sum(mark.Key), mark.At)
		}
	}
	consume(&kgo.Record{Topic: "orders", Offset: 4, Value: []byte(`{"order":{"id":"A-17"},"try":3}`)})

	// Output:
	// orders/0/0: charge {"order":{"id":"A-17"},"try":1}
	// orders/0/1: duplicate
	// orders/0/2: charge {"order":{}}
	// to the dead letters: idempotency key json:order.id: value is not JSON
	// done key="A-17" origin=orders/0/0 id=00000000000000000000000000000000/0 run=0 tenure=1767366245 at=2026-01-02T15:04:05.000Z
	// done key=origin origin=orders/0/2 id=00000000000000000000000000000000/0 run=0 tenure=1767366245 at=2026-01-02T15:04:05.000Z
	// orders/0/4: duplicate
}

func ExampleParseKey() {
	_, err := dedupe.ParseKey("headers:order-id")
	fmt.Println(err)
	// Output:
	// idempotency key "headers:order-id": want origin, record_key, header:NAME or json:PATH; did you mean "header:order-id"?
}

func ExampleBits() {
	var finished dedupe.Bits
	for _, offset := range []int64{2048, 2049, 2051} {
		_, bit := dedupe.ChunkOf(dedupe.Origin{Topic: "orders", Offset: offset})
		finished.Set(bit)
	}
	fmt.Println(finished.Count(), "done,", finished.Prefix(), "from the start,", len(finished.Append(nil)), "bytes")
	// Output:
	// 3 done, 2 from the start, 4 bytes
}

func ExampleAutoWindow() {
	tiers := []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute}
	fmt.Println(dedupe.AutoWindow(7*24*time.Hour, tiers, 5, 0.2, 24*time.Hour))
	// Output:
	// 240h25m18s
}
