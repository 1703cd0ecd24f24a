package retrytopics

import (
	"errors"
	"fmt"
)

// maxErrorClass bounds the class, in bytes: the names of generic types have no limit of their own.
const maxErrorClass = 128

// errorClass returns the Go type of the first error in the tree whose type says something about the failure.
func errorClass(err error) string {
	for {
		if named, ok := err.(interface{ ErrorClass() string }); ok && named.ErrorClass() != "" {
			return Text(named.ErrorClass(), maxErrorClass)
		}
		inner := lookThrough(err)
		if inner == nil {
			return Cut(fmt.Sprintf("%T", err), maxErrorClass)
		}
		err = inner
	}
}

// lookThrough returns what a wrapper holds, or nil where err is no wrapper but the failure itself. A type that is not
// known here is never looked through: whoever gave the error a type of its own had a reason.
func lookThrough(err error) error {
	switch fmt.Sprintf("%T", err) {
	case "*fmt.wrapError", "*url.Error", "*net.OpError", "*os.SyscallError", "*fs.PathError",
		"*retrytopics.PermanentError", "*retrytopics.RetryAfterError", "*retrytopics.UncertainError":
		return errors.Unwrap(err)
	case "*fmt.wrapErrors", "*errors.joinError":
		many, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return nil
		}
		return first(many.Unwrap())
	}
	return nil
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
