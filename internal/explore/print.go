package main

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/laneway-go/laneway/internal/lane"
)

// printer makes the fingerprints of states. It keeps its buffers.
type printer struct {
	b    []byte
	rows [][]byte
}

func (f *printer) num(values ...int64) {
	for _, v := range values {
		f.b = binary.AppendVarint(f.b, v)
	}
}

// of returns a hash of everything that decides what can happen from a state on. Times count from now.
func (f *printer) of(s *state) uint64 {
	owner, zombie := f.process(s, s.owner), f.process(s, s.zombie)
	f.b = f.b[:0]
	f.b = binary.LittleEndian.AppendUint64(f.b, owner)
	f.b = binary.LittleEndian.AppendUint64(f.b, zombie)
	f.num(int64(s.version), int64(s.present), int64(s.began))
	if s.zombie != nil {
		f.num(s.now - s.zombie.at)
	}
	for p := 1; p < s.w.parts(); p++ {
		f.num(int64(len(s.logs[p])))
		for i := range s.logs[p] {
			f.copy(s, &s.logs[p][i])
		}
	}
	f.num(int64(len(s.dlt)))
	for _, d := range s.dlt {
		f.num(int64(d.id), int64(d.reason))
	}
	f.num(int64(len(s.marks)))
	for i := range s.marks {
		f.mark(&s.marks[i])
	}
	f.num(int64(len(s.late)))
	for i := range s.late {
		f.write(s, &s.late[i])
	}
	if c := s.committed; c != nil {
		f.num(int64(c.version))
		f.commits(c.commits)
	}
	f.history(s)
	l := &s.left
	f.num(int64(l.crashes), int64(l.losses), int64(l.zombie), int64(l.late), int64(l.broken), int64(l.unheard), int64(l.snoozed),
		int64(l.replays), int64(l.giveUps), int64(l.renewals), int64(l.refused), int64(l.partly),
		int64(l.forgets), int64(l.kills), truth(l.again))
	return xxhash.Sum64(f.b)
}

func (f *printer) history(s *state) {
	h := &s.hist
	f.num(int64(h.effects), int64(h.done), int64(h.closed), int64(h.skipped), truth(h.crashes > 0), int64(h.forgot),
		int64(h.over), truth(s.w.dropped && h.owners > 0))
	if s.w.mode == lane.ClaimFirst {
		f.num(int64(h.maybe))
	}
	for id := range identity(len(s.w.records) * runs) {
		f.b = append(f.b, h.calls[id])
	}
	f.b = append(f.b, h.lasts[:h.nLasts]...)
}

func (f *printer) commits(parts []lane.PartCommit) {
	for i := range parts {
		f.num(parts[i].Offset, int64(len(parts[i].Metadata)))
		f.b = append(f.b, parts[i].Metadata...)
	}
}

// process returns a process's own hash, which it keeps until it changes. Times count from its last flush. A row of f.rows may lie
// in a buffer that f.b has outgrown; it holds what it held.
func (f *printer) process(s *state, p *process) uint64 {
	if p == nil {
		return 0
	}
	if p.print != 0 {
		return p.print
	}
	f.b = p.m.AppendState(f.b[:0])
	f.num(int64(p.version), truth(p.careful), int64(p.soon), int64(p.scanned), int64(p.done), int64(p.closed), int64(p.finished))
	for _, e := range p.ends[:s.w.parts()] {
		f.num(e)
	}
	if p.commit != nil {
		f.num(1)
		f.commits(p.commit.Parts)
	}
	from := len(f.b)
	f.rows = f.rows[:0]
	for i := range p.writes {
		start := len(f.b)
		f.write(s, &p.writes[i])
		f.rows = append(f.rows, f.b[start:])
	}
	for _, c := range p.calls {
		start := len(f.b)
		f.num(int64(c.id), 99)
		f.rows = append(f.rows, f.b[start:])
	}
	p.print = max(xxhash.Sum64(f.b[:from])*0x9E3779B97F4A7C15^f.sorted(), 1)
	return p.print
}

// sorted hashes the rows in their own order.
func (f *printer) sorted() uint64 {
	slices.SortFunc(f.rows, bytes.Compare)
	var d xxhash.Digest
	d.Reset()
	for _, r := range f.rows {
		_, _ = d.Write(r)
		_, _ = d.Write([]byte{0xFF, 0xFE})
	}
	return d.Sum64()
}

func (f *printer) write(s *state, w *write) {
	f.num(int64(w.kind), int64(w.to), int64(w.reason), truth(w.landed), w.offset)
	f.copy(s, &w.copy)
	f.mark(&w.mark)
}

func (f *printer) copy(s *state, c *copyOf) {
	f.num(int64(c.id), int64(c.hop), int64(c.tries), int64(c.used), truth(c.force), max(c.due-s.now, 0), max(c.until-s.now, 0),
		truth(c.since))
}

func (f *printer) mark(k *mark) {
	f.num(int64(k.kind), int64(k.id), int64(k.tries), k.tenure, int64(k.chunk), int64(k.bits), int64(k.reason))
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// insertLate puts a write among the late ones, whose order means nothing.
func insertLate(late []write, w write) []write {
	var f printer
	row := func(w *write) []byte {
		f.b = f.b[:0]
		f.num(int64(w.kind), int64(w.to), int64(w.reason), int64(w.copy.id), int64(w.copy.hop), int64(w.mark.id), w.mark.tenure,
			int64(w.mark.bits), int64(w.mark.tries), int64(w.copy.tries), w.copy.due)
		return slices.Clone(f.b)
	}
	key := row(&w)
	i := 0
	for i < len(late) && bytes.Compare(row(&late[i]), key) < 0 {
		i++
	}
	return slices.Insert(slices.Clone(late), i, w)
}
