package lane

// FirstDue returns when the first of the copies is due that are known in a stage and have not been fetched, in Unix
// milliseconds; false if there is none.
func (m *Machine) FirstDue(p Part) (due int64, ok bool) { return m.nextUnread(p) }
