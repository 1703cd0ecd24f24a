// Package worker drives the lanes of a consumer group: it is the shell around the pure machine of package lane, and the only
// place where the machine meets Kafka.
//
// A worker has five clients, each for one thing: the group client holds the membership and sends the commits, and fetches
// nothing; two readers fetch the sources and the stages, each partition from the offset that its lane asks for; the producer
// writes; scans and look-ups go over the fifth.
//
// Each lane that the group assigns is run by a [tenure]: one goroutine around one machine. What happens to the lane (records
// read, calls returned, writes and commits answered) comes into the tenure's inbox in batches; a round hands all of it to the
// machine and carries out what the machine then asks for. A record goes one way: reader → inbox → machine → dispatch → handler →
// inbox → machine → writer → inbox → machine → committer.
//
// Nothing in here blocks the poll loops: what a lane cannot take is held back by pausing its partition, with a reason.
package worker
