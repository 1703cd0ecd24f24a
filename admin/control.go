package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/laneway-go/laneway/dedupe"
)

// The records of the control topic. It has one partition and is compacted, so that the newest record of each key stays. Keys
// are text, values are JSON with the version of their form in "v":
//
//	task/NONCE                               the creation of a task: what it is to do. Its offset + 1 is the task's number.
//	claim/NUMBER/EPOCH/HOLDER                a process wants to carry the task out. Of one epoch, the first in the log has it.
//	state/NUMBER/EPOCH                       how far the task is; only the holder of the epoch writes it.
//	cancel/NUMBER                            the task must not go on.
//	resolved/NUMBER/TOPIC/PARTITION/CHUNK    which of 1,024 neighbouring dead letters the task has resolved.
//
// No two writers ever share a key but for cancel, whose records all mean the same. What a process that was thought dead writes
// late so lands beside the newer state, and never on it.
const controlVersion = 1

const (
	keyTask     = "task"
	keyClaim    = "claim"
	keyState    = "state"
	keyCancel   = "cancel"
	keyResolved = "resolved"
)

// creation is the value of a task record.
type creation struct {
	V    int  `json:"v"`
	Spec Spec `json:"spec"`
}

// claim is the value of a claim record.
type claim struct {
	V  int       `json:"v"`
	At time.Time `json:"at"`
}

// state is the value of a state record.
type state struct {
	V        int             `json:"v"`
	Number   uint32          `json:"number"`
	Epoch    int             `json:"epoch"`
	Holder   string          `json:"holder"`
	Until    time.Time       `json:"until"` // end of the lease
	At       time.Time       `json:"at"`
	Phase    Phase           `json:"phase"`
	Next     map[int32]int64 `json:"next"` // by partition, the first offset that was not looked at
	Progress Progress        `json:"progress"`
	Error    string          `json:"error,omitempty"`
}

// cancellation is the value of a cancel record.
type cancellation struct {
	V      int       `json:"v"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
}

// resolution is the value of a resolved record.
type resolution struct {
	V    int       `json:"v"`
	At   time.Time `json:"at"`
	Bits []byte    `json:"bits"` // as dedupe.Bits.Append writes them
}

// chunkKey names 1,024 neighbouring offsets of a dead letter partition.
type chunkKey struct {
	topic     string
	partition int32
	index     int64
}

func chunkOf(topic string, partition int32, offset int64) (k chunkKey, bit int) {
	return chunkKey{topic, partition, offset / dedupe.ChunkSize}, int(offset % dedupe.ChunkSize)
}

// controlState is what the control topic says, all records read.
type controlState struct {
	tasks    map[uint32]*taskRecord
	order    []uint32 // by number
	resolved map[chunkKey]*dedupe.Bits
	own      map[uint32]map[chunkKey]*dedupe.Bits // by task
	end      int64                                // the offset behind the last record
	damaged  int                                  // records that this release cannot read
}

// taskRecord is what the control topic says of one task.
type taskRecord struct {
	number  uint32
	spec    Spec
	epoch   int       // the highest that was claimed
	holder  string    // of that epoch
	claimed time.Time // when that was
	state   *state    // of the highest epoch that wrote one
	cancel  *cancellation
}

func newControlState() *controlState {
	return &controlState{
		tasks: map[uint32]*taskRecord{}, resolved: map[chunkKey]*dedupe.Bits{}, own: map[uint32]map[chunkKey]*dedupe.Bits{},
	}
}

// apply takes in one record, in the order of the log.
func (s *controlState) apply(r *kgo.Record) {
	s.end = r.Offset + 1
	if r.Value == nil {
		return
	}
	if err := s.applyParts(strings.Split(string(r.Key), "/"), r); err != nil {
		s.damaged++
	}
}

var (
	errUnknownKey     = errors.New("unknown kind of record")
	errUnknownVersion = errors.New("unknown version")
)

func (s *controlState) applyParts(parts []string, r *kgo.Record) error {
	if parts[0] == keyTask && len(parts) == 2 {
		return s.applyTask(r)
	}
	if len(parts) < 2 {
		return errUnknownKey
	}
	number, err := parseNumber(parts[1])
	if err != nil {
		return err
	}
	switch {
	case parts[0] == keyResolved && len(parts) == 5:
		return s.applyResolved(number, parts[2:], r.Value)
	case s.tasks[number] == nil:
		return fmt.Errorf("task %d: %w", number, errUnknownKey)
	case parts[0] == keyClaim && len(parts) == 4:
		return s.tasks[number].applyClaim(parts[2], parts[3], r.Value)
	case parts[0] == keyState && len(parts) == 3:
		return s.tasks[number].applyState(r.Value)
	case parts[0] == keyCancel && len(parts) == 2:
		c, err := decode[cancellation](r.Value)
		s.tasks[number].cancel = &c
		return err
	}
	return errUnknownKey
}

func (s *controlState) applyTask(r *kgo.Record) error {
	c, err := decode[creation](r.Value)
	if err != nil {
		return err
	}
	number, err := numberOf(r.Offset)
	if err != nil {
		return err
	}
	s.tasks[number] = &taskRecord{number: number, spec: c.Spec}
	s.order = append(s.order, number)
	return nil
}

func (r *taskRecord) applyClaim(epoch, holder string, value []byte) error {
	c, err := decode[claim](value)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(epoch)
	if err != nil {
		return fmt.Errorf("epoch %q: %w", epoch, err)
	}
	if n > r.epoch { // a later claim of the same epoch came too late
		r.epoch, r.holder, r.claimed = n, holder, c.At
	}
	return nil
}

func (r *taskRecord) applyState(value []byte) error {
	st, err := decode[state](value)
	if err != nil {
		return err
	}
	if r.state == nil || st.Epoch >= r.state.Epoch {
		r.state = &st
	}
	return nil
}

func (s *controlState) applyResolved(number uint32, parts []string, value []byte) error {
	v, err := decode[resolution](value)
	if err != nil {
		return err
	}
	partition, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return fmt.Errorf("partition %q: %w", parts[1], err)
	}
	index, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return fmt.Errorf("chunk %q: %w", parts[2], err)
	}
	var bits dedupe.Bits
	if _, err := bits.Decode(v.Bits); err != nil {
		return err
	}
	k := chunkKey{parts[0], int32(partition), index}
	merge(s.resolved, k, &bits)
	if s.own[number] == nil {
		s.own[number] = map[chunkKey]*dedupe.Bits{}
	}
	merge(s.own[number], k, &bits)
	return nil
}

func merge(into map[chunkKey]*dedupe.Bits, k chunkKey, bits *dedupe.Bits) {
	if into[k] == nil {
		into[k] = &dedupe.Bits{}
	}
	into[k].Or(bits)
}

// isResolved tells whether a place in a dead letter topic is resolved.
func (s *controlState) isResolved(topic string, partition int32, offset int64) bool {
	k, bit := chunkOf(topic, partition, offset)
	bits := s.resolved[k]
	return bits != nil && bits.Has(bit)
}

// isOwn tells whether a task has resolved a place.
func (s *controlState) isOwn(number uint32, topic string, partition int32, offset int64) bool {
	k, bit := chunkOf(topic, partition, offset)
	bits := s.own[number][k]
	return bits != nil && bits.Has(bit)
}

// decode reads a value and looks at its version.
func decode[T any](value []byte) (v T, err error) {
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(value, &version); err != nil {
		return v, fmt.Errorf("decode control record: %w", err)
	}
	if version.V != controlVersion {
		return v, fmt.Errorf("decode control record: %w %d", errUnknownVersion, version.V)
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return v, fmt.Errorf("decode control record: %w", err)
	}
	return v, nil
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode control record: %w", err)
	}
	return b, nil
}

// numberOf returns the number of a task by the offset of its creation (R33).
func numberOf(offset int64) (uint32, error) {
	if offset < 0 || offset >= 1<<32-1 {
		return 0, fmt.Errorf("offset %d: %w", offset, errUnknownKey)
	}
	return uint32(offset + 1), nil
}

func parseNumber(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("task number %q: want a whole number", text)
	}
	return uint32(n), nil
}

// readControl reads the control topic to its end. A group that has no control topic has no tasks.
func (c *Client) readControl(ctx context.Context) (*controlState, error) {
	s := newControlState()
	l, err := c.log(ctx, c.control())
	if errors.Is(err, ErrNoTopic) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	return s, c.followControl(ctx, s, l)
}

// followControl reads what was written since.
func (c *Client) followControl(ctx context.Context, s *controlState, l log) error {
	for _, span := range l.spans {
		span.From = max(span.From, s.end)
		err := c.read(ctx, c.control(), l, span, func(r *kgo.Record) error { s.apply(r); return nil })
		if err != nil {
			return err
		}
		s.end = max(s.end, span.To)
	}
	return nil
}

// write appends records to the control topic, in their order, and returns the offset of the first.
func (c *Client) write(ctx context.Context, records ...*kgo.Record) (int64, error) {
	for _, r := range records {
		r.Topic, r.Partition = c.control(), 0
	}
	results := c.cl.ProduceSync(ctx, records...)
	if err := results.FirstErr(); err != nil {
		return 0, fmt.Errorf("write to %s: %w", c.control(), err)
	}
	return records[0].Offset, nil
}

// controlRecord makes a record of a key and a value.
func controlRecord(value any, key ...any) (*kgo.Record, error) {
	b, err := encode(value)
	if err != nil {
		return nil, err
	}
	text := make([]string, len(key))
	for i, part := range key {
		text[i] = fmt.Sprint(part)
	}
	return &kgo.Record{Key: []byte(strings.Join(text, "/")), Value: b}, nil
}
