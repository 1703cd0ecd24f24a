// Package demo shows the worker at work on one machine: the real engine on an embedded broker that speaks Kafka's protocol,
// with records that fail in every way there is, or with the user's own.
package demo
