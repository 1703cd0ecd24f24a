package admin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
	"github.com/laneway-go/laneway/internal/origin"
	"github.com/laneway-go/laneway/retrytopics"
)

// Origin names one record of a source topic, as Kafka does.
type Origin = origin.Origin

// Identity is one life of a source record: its origin and a run, which is 0 until somebody replays it.
type Identity = origin.Identity

// Config says which group a [Client] looks after.
type Config struct {
	Brokers []string // host:port, at least one
	// ClientOptions are added to the Kafka client: TLS, SASL, dialers. They must not change acks or partitioning.
	ClientOptions []kgo.Opt
	Sources       []Source // at least one, all of one group
}

// Source is one source topic of the group, as its workers are configured.
type Source struct {
	// Want names the topics of the source, and has its retry policy and its idempotency window.
	Want retrytopics.Want
	// Key says what makes two records the same work. Default: the origin.
	Key dedupe.Key
}

// Name returns the name of the source topic.
func (s Source) Name() string { return s.Want.Names.Source() }

// Client answers questions about a group, and carries out tasks. It is safe for concurrent use. Make it with [New].
type Client struct {
	group   string
	sources []Source
	opts    []kgo.Opt // for a further client
	lease   time.Duration
	cl      *kgo.Client
	adm     *kadm.Client
}

// New returns a client. It connects to no broker before its first request, and starts no work of its own; close it. The error
// joins everything that is wrong with the configuration.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	// A record that is sent again keeps the number of its partition, so the partitioner is ours.
	opts := slices.Concat([]kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("laneway-admin"), kgo.DisableClientMetrics(),
	}, cfg.ClientOptions, []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())})
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client: %w", err)
	}
	return &Client{
		group: cfg.Sources[0].Want.Names.Group(), sources: slices.Clone(cfg.Sources), opts: opts, lease: leaseTime, cl: cl, adm: kadm.NewClient(cl),
	}, nil
}

func (c Config) validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("no Brokers"))
	}
	if len(c.Sources) == 0 {
		errs = append(errs, errors.New("no Sources"))
	}
	for _, s := range c.Sources {
		if group := c.Sources[0].Want.Names.Group(); s.Want.Names.Group() != group {
			errs = append(errs, fmt.Errorf("source %s is of group %s, want %s", s.Name(), s.Want.Names.Group(), group))
		}
	}
	return errors.Join(errs...)
}

// Close closes the connections.
func (c *Client) Close() { c.cl.Close() }

// Group returns the consumer group.
func (c *Client) Group() string { return c.group }

// ErrNoSource says that a topic is not a source of the group.
var ErrNoSource = errors.New("not a source topic of this group")

// Source returns a source by the name of its topic, or an error that wraps [ErrNoSource].
func (c *Client) Source(topic string) (Source, error) {
	for _, s := range c.sources {
		if s.Name() == topic {
			return s, nil
		}
	}
	return Source{}, fmt.Errorf("topic %q: %w", topic, ErrNoSource)
}

// selected returns the source that is named, or all for an empty name.
func (c *Client) selected(topic string) ([]Source, error) {
	if topic == "" {
		return c.sources, nil
	}
	s, err := c.Source(topic)
	return []Source{s}, err
}

// control returns the name of the group's control topic.
func (c *Client) control() string { return c.sources[0].Want.Names.Control() }
