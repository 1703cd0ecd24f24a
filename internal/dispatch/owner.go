package dispatch

// Owner returns the owner of the task whose call the slot makes. It is for the [Func], during the call.
func (s *Slot) Owner() Owner { return s.queue.Load().owner }
