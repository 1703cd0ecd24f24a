package offsets

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// MaxEpochs is how many leader epochs the metadata of a partition names. Each is an election; more than a few of them
// between the commit offset and the position mean that something else is wrong. If one of those that were dropped is
// asked for after all, the answer is the log start, and nothing is lost.
const MaxEpochs = 8

// EpochStart says from which offset on the records that were read carry a leader epoch.
type EpochStart struct {
	Epoch int32
	First int64
}

// Epochs are the leader epochs of the records that a tracker speaks of, newest first, at most [MaxEpochs].
type Epochs []EpochStart

// Note takes the leader epoch of a record that is about to be received at off; offsets ascend, and reading that goes back
// to a fork begins with [Epochs.Below]. A record of the newest epoch, which almost every record is, changes nothing. An
// unknown epoch (negative) is not noted. Copies of e that were made before stay as they are.
//
// First decides where a log that was cut is taken up again, so too low a value repeats a little and too high a value can
// lose: give the position before the record if transaction markers may lie in between.
func (e *Epochs) Note(epoch int32, off int64) {
	if len(*e) > 0 && (*e)[0].Epoch == epoch {
		return
	}
	e.insert(epoch, off)
}

func (e *Epochs) insert(epoch int32, off int64) {
	if epoch < 0 {
		return
	}
	i, found := slices.BinarySearchFunc(*e, epoch, func(s EpochStart, epoch int32) int {
		return cmp.Compare(epoch, s.Epoch) // newest first
	})
	if found {
		return
	}
	noted := make(Epochs, 0, len(*e)+1)
	noted = append(append(append(noted, (*e)[:i]...), EpochStart{epoch, off}), (*e)[i:]...)
	*e = noted[:min(len(noted), MaxEpochs)]
}

// From returns what is needed for records from commit on: without the epochs that ended below it. The newest one that
// begins at or below commit stays, for the fork may lie below too.
func (e Epochs) From(commit int64) Epochs {
	for i, s := range e {
		if s.First <= commit {
			return e[: i+1 : i+1]
		}
	}
	return e
}

// Below returns what is left when the log was cut at fork and written anew from there.
func (e Epochs) Below(fork int64) Epochs {
	for i, s := range e {
		if s.First < fork {
			return e[i:]
		}
	}
	return nil
}

// AppendState appends a canonical form, see [Tracker.AppendState].
func (e Epochs) AppendState(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(e)))
	for _, s := range e {
		b = binary.AppendVarint(b, int64(s.Epoch))
		b = binary.AppendVarint(b, s.First)
	}
	return b
}

// ForkSearch finds the offset from which on the log is not the one that was read any more (R41), one question to the
// partition's leader after the other:
//
//	for search := offsets.SearchFork(epochs); ; {
//		epoch, more := search.Ask()
//		if !more {
//			break // no epoch is known to the leader: go on at the log start
//		}
//		answered, end := … // OffsetForLeaderEpoch of epoch
//		if fork, found := search.Answer(answered, end); found {
//			… // go on at min(commit, fork), with Settled.Below(fork)
//		}
//	}
//
// It is a value: a copy goes on by itself.
type ForkSearch struct {
	left  Epochs // the first of them is asked for
	newer int64  // where the epoch behind it began
}

// SearchFork begins a search. If nothing was ever noted, the caller must not search: see [Fork].
func SearchFork(pairs Epochs) ForkSearch { return ForkSearch{left: pairs, newer: math.MaxInt64} }

// Ask returns the epoch to ask the leader for; more is false when all were asked and none is known.
func (s *ForkSearch) Ask() (epoch int32, more bool) {
	if len(s.left) == 0 {
		return 0, false
	}
	return s.left[0].Epoch, true
}

// Answer takes the leader's answer to the present question. An answer that names another epoch, or no end (-1), means
// that the leader never had the epoch that was asked for; the next question is for the one before it. Otherwise the logs
// part where that epoch ends in the leader's, or where the next one began in ours, whichever is lower.
func (s *ForkSearch) Answer(answeredEpoch int32, end int64) (fork int64, found bool) {
	if len(s.left) == 0 {
		return 0, false
	}
	asked := s.left[0]
	if answeredEpoch == asked.Epoch && end >= 0 {
		return min(end, s.newer), true
	}
	s.left, s.newer = s.left[1:], asked.First
	return 0, false
}

// Fork runs a [ForkSearch] over answers that are at hand. ok is false for an epoch that the leader does not know; an
// answer that did not arrive is no such thing, it must be waited for. known is false if the leader knows none of pairs:
// nothing of the metadata counts, and the partition is read from the log start.
//
// Without pairs nothing was read that could have been cut away: fork is then the highest offset there is, and the commit
// offset stands if the log has it.
func Fork(pairs Epochs, ask func(epoch int32) (answeredEpoch int32, end int64, ok bool)) (fork int64, known bool) {
	if len(pairs) == 0 {
		return math.MaxInt64, true
	}
	search := SearchFork(pairs)
	for {
		epoch, more := search.Ask()
		if !more {
			return 0, false
		}
		answered, end, ok := ask(epoch)
		if !ok {
			answered = -1
		}
		if fork, found := search.Answer(answered, end); found {
			return fork, true
		}
	}
}
