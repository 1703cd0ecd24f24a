//go:build synctests

package processor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/laneway-go/laneway/processor"
)

// well is the health of a worker that lacks nothing.
func well() processor.Health {
	yes := processor.Check{OK: true}
	return processor.Health{Live: yes, Started: yes, Ready: yes}
}

func TestHealthFollowsTheLifeOfAProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.close()
		hold := make(chan struct{})
		held := c.holdCommits(hold)
		p, stop := run(t, c.config(processor.Topic{}), func(context.Context, *processor.Message) error { return nil })
		<-held
		settle(time.Second)
		h := p.Health()
		if !h.Live.OK || h.Started.OK || h.Ready.OK || !strings.Contains(strings.Join(h.Ready.Reasons, "\n"), "is not restored: taking") {
			t.Errorf("while lanes are taken over: %+v", h)
		}
		close(hold)
		settle(5 * time.Second)
		if diff := cmp.Diff(well(), p.Health()); diff != "" {
			t.Errorf("running and idle (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if h := p.Health(); h.Live.OK || h.Ready.OK {
			t.Errorf("after the end: %+v", h)
		}
	})
}

// holdCommits keeps the answers to commits back until hold is closed, and says when there is one.
func (c *cluster) holdCommits(hold <-chan struct{}) (held <-chan struct{}) {
	seen := make(chan struct{}, 1)
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		select {
		case seen <- struct{}{}:
		default:
		}
		c.SleepControl(func() { <-hold })
		return nil, nil, false
	})
	return seen
}

func TestAHandlerThatIgnoresItsLimitIsNotLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		c.produce(t, &kgo.Record{Value: []byte("x")})
		hang := make(chan struct{})
		p, stop := run(t, c.config(processor.Topic{Timeout: time.Second, Grace: time.Second}), func(_ context.Context, m *processor.Message) error {
			if m.Attempt == 1 {
				<-hang
			}
			return nil
		})
		settle(time.Minute)
		h := p.Health()
		if h.Live.OK || !strings.Contains(h.Live.Reasons[0], "handler calls of orders ignore their time limit") || !h.Ready.OK {
			t.Errorf("with a call that hangs: %+v", h)
		}
		close(hang)
		settle(time.Second)
		if diff := cmp.Diff(well(), p.Health()); diff != "" {
			t.Errorf("after it returned (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestReadinessNamesTheTopicThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		defer c.close()
		refuse := c.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: "orders.billing.dlt", Err: kerr.TopicAuthorizationFailed, Count: -1,
		})
		c.produce(t, &kgo.Record{Value: []byte("x")})
		p, stop := run(t, c.config(processor.Topic{}), func(context.Context, *processor.Message) error {
			return processor.Permanent(context.DeadlineExceeded)
		})
		settle(10 * time.Second)
		h := p.Health()
		if !h.Live.OK || !h.Started.OK || h.Ready.OK || !strings.Contains(h.Ready.Reasons[0], "lane orders/0 cannot write: produce to orders.billing.dlt: ") {
			t.Errorf("with a dlt that refuses: %+v", h)
		}
		refuse.Remove()
		settle(time.Minute)
		if diff := cmp.Diff(well(), p.Health()); diff != "" {
			t.Errorf("after it took the record (-want +got):\n%s", diff)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
