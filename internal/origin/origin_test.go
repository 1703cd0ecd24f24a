package origin_test

import (
	"testing"

	"github.com/laneway-go/laneway/internal/origin"
)

func TestParseReadsWhatStringWrote(t *testing.T) {
	for _, o := range []origin.Origin{
		{Topic: "orders", TopicID: origin.TopicID{1, 2, 15: 9}, Partition: 3, LeaderEpoch: 7, Offset: 1042},
		{Topic: "a/b", Partition: 0, LeaderEpoch: -1, Offset: 0},
	} {
		got, err := origin.Parse(o.String(), o.IDString())
		if err != nil || got != o {
			t.Errorf("Parse(%q, %q) = %+v, %v", o.String(), o.IDString(), got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("orders/3/1042", "00000000000000000000000000000001/7")
	f.Add("orders/3/-1", "")
	f.Fuzz(func(t *testing.T, s, id string) {
		o, err := origin.Parse(s, id)
		if err != nil {
			return
		}
		if o.Offset < 0 || o.Partition < 0 || o.LeaderEpoch < -1 {
			t.Errorf("Parse(%q, %q) = %+v", s, id, o)
		}
		back, err := origin.Parse(o.String(), o.IDString())
		if err != nil || back != o {
			t.Errorf("round trip of %+v: %+v, %v", o, back, err)
		}
	})
}
