package dedupe

import "testing"

// The longest copy in one call is bounded by the size of a segment, whatever the size of the table.
func TestSegmentsStaySmall(t *testing.T) {
	var table Table
	hash := NewHasher(Seed{1})
	for i := range 200_000 {
		table.Put(hash.SumOrigin(Origin{Offset: int64(i)}), 1)
	}
	for i := range table.segments {
		if n := table.segments[i].n; n > 3*segmentKeys {
			t.Errorf("segment %d of %d holds %d keys", i, len(table.segments), n)
		}
	}
}
