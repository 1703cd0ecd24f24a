// Package admin answers what an operator asks about a group, and sends dead letters and source records again.
//
//   - [Client.Status]: what is stuck, since when, and who works on it.
//   - [Client.DeadLetters], [Client.Groups]: what was given up, and why.
//   - [Client.Plan], [Client.Create], [Client.Execute]: tasks that send dead letters or a range of the source again, to this
//     group only, or that discard dead letters.
//   - [Client.Trail], [Client.Marks]: where one record is, and what happened to it.
//
// # What it needs
//
// Brokers, and the permission to read the group's topics and offsets; tasks write the replay and the control topic. It needs
// no worker: everything is in Kafka. What it reads may be a moment old.
//
// # Tasks
//
// A task is a snapshot: the records that match its filter between offsets that are fixed when it is planned. It is written down
// in the group's control topic; so any machine shows, cancels and continues it. The offset of its creation record + 1 is its
// number, and the run of all records that it sends (R33). One process at a time has the lease of a task. It sends a batch,
// waits until the broker has it, and writes down how far it is; a process that dies in between leaves a batch that its
// successor sends once more. The worker takes a second copy of one run for a ghost, so each record runs once. Within a
// partition, the order is kept.
//
// A dead letter is resolved when a task has sent or discarded it. Nothing is deleted from the dead letter topic. What comes
// back is a new dead letter, of the task's run, and the task never sends it again.
//
// # Concurrency
//
// A [Client] is safe for concurrent use. Calls block until the brokers have answered; give them a context with a deadline. The
// callbacks are called from the caller's goroutine. A [Position], [Filter], [Cause], [Spec] is a plain value.
//
//	c, err := admin.New(admin.Config{Brokers: brokers, Sources: sources})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	plan, err := c.Plan(ctx, admin.Spec{Kind: admin.KindRedrive, Source: "orders", Reason: "card network is back"}, time.Now())
//	…
//	task, err := c.Create(ctx, plan)
//	…
//	task, err = c.Execute(ctx, task.Number, nil)
package admin
