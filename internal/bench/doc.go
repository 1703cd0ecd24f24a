// Package bench measures the worker against a bare client on the same broker, in one run and in turns.
package bench
