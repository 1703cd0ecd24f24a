package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/internal/worker"
	"github.com/laneway-go/laneway/retrytopics"
)

// The errors that Run ends with, to be told with [errors.Is].
var (
	// ErrForced says that the shutdown did not end in time. What had not settled by then runs again.
	ErrForced = worker.ErrForced
	// ErrFenced says that another process has the same [Config.InstanceID]. This one has stopped working.
	ErrFenced = worker.ErrFenced
	// ErrStuck says that a handler call ignored its time limit under [StuckCrash].
	ErrStuck = worker.ErrStuck
	// ErrRan says that Run was called before. A processor runs once.
	ErrRan = errors.New("processor has run")
)

// Processor runs handlers over the records of its topics. Make it with [New].
type Processor struct {
	cfg    Config
	ran    atomic.Bool
	ended  atomic.Bool
	worker atomic.Pointer[worker.Worker]
}

// New checks the configuration and fills in defaults; handler is for the topics that name none. It connects to nothing and
// starts nothing. The error joins everything that is wrong.
func New(cfg Config, handler Handler) (*Processor, error) {
	cfg, err := cfg.withDefaults(handler)
	if err != nil {
		return nil, err
	}
	return &Processor{cfg: cfg}, nil
}

// Run works until ctx ends, and then drains: it takes no new record, waits for handlers until the drain deadline, commits, and
// leaves the group. It returns nil after a clean drain and [ErrForced] after one that was cut short; any other error says why
// it could not start, or go on. Before it starts it compares the topics with what they have to be, and refuses with the whole
// list of what is wrong.
func (p *Processor) Run(ctx context.Context) error {
	if p.ran.Swap(true) {
		return ErrRan
	}
	defer p.ended.Store(true)
	cfg, err := p.prepare(ctx)
	if err != nil {
		return err
	}
	w := worker.New(cfg)
	p.worker.Store(w)
	return w.Run(ctx)
}

// prepare verifies the topics, creates them where that is wanted, and translates the configuration.
func (p *Processor) prepare(ctx context.Context) (worker.Config, error) {
	cl, err := kgo.NewClient(append(p.options(), kgo.ClientID("laneway"), kgo.DisableClientMetrics())...)
	if err != nil {
		return worker.Config{}, fmt.Errorf("client: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	wants, err := p.cfg.wants()
	if err != nil {
		return worker.Config{}, err
	}
	state, err := retrytopics.Read(ctx, adm, wants...)
	if err != nil {
		return worker.Config{}, err
	}
	if p.cfg.AutoCreateTopics {
		if state, err = provision(ctx, adm, wants, state); err != nil {
			return worker.Config{}, err
		}
	}
	if err := p.verify(wants, state); err != nil {
		return worker.Config{}, err
	}
	return p.workerConfig(wants, state)
}

func provision(ctx context.Context, adm *kadm.Client, wants []retrytopics.Want, state retrytopics.State) (retrytopics.State, error) {
	var plans [][]retrytopics.Change
	for _, w := range wants {
		plans = append(plans, retrytopics.Plan(w, state))
	}
	if err := retrytopics.Apply(ctx, adm, retrytopics.Merge(plans...)); err != nil {
		return state, err
	}
	return retrytopics.Read(ctx, adm, wants...)
}

// verify compares the topics with what they have to be (R36, R37).
func (p *Processor) verify(wants []retrytopics.Want, state retrytopics.State) error {
	var problems []retrytopics.Problem
	for _, w := range wants {
		problems = append(problems, retrytopics.Verify(w, state)...)
	}
	for _, problem := range problems {
		if problem.Warning {
			p.cfg.Logger.Warn("topic differs", slog.String("problem", problem.String()))
		}
	}
	return retrytopics.Refuse(problems)
}

func (p *Processor) options() []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(p.cfg.Brokers...)}, p.cfg.ClientOptions...)
}

// name returns the version and host that are written into headers and claims.
func name() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return "laneway " + host
}
