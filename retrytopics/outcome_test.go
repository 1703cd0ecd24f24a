package retrytopics_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

func TestOutcomesKeepTheirCauseThroughWrappers(t *testing.T) {
	for name, err := range map[string]error{
		"permanent":   retrytopics.Permanent(io.EOF),
		"retry after": retrytopics.RetryAfter(io.EOF, time.Second),
		"uncertain":   retrytopics.Uncertain(io.EOF),
	} {
		if wrapped := fmt.Errorf("charge card: %w", err); !errors.Is(wrapped, io.EOF) {
			t.Errorf("%s: cause lost in %v", name, wrapped)
		}
	}
}

func TestOutcomesWithoutACause(t *testing.T) {
	if err := retrytopics.Permanent(nil); err != nil {
		t.Errorf("Permanent(nil) = %v", err)
	}
	if err := retrytopics.Uncertain(nil); err != nil {
		t.Errorf("Uncertain(nil) = %v", err)
	}
	if err := retrytopics.RetryAfter(nil, time.Second); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("RetryAfter(nil) = %v: a record that was put off must not count as done", err)
	}
	if err := retrytopics.Skip(""); err == nil {
		t.Error("Skip returned nil")
	}
	for _, err := range []error{&retrytopics.PermanentError{}, &retrytopics.UncertainError{}, &retrytopics.RetryAfterError{}} {
		if err.Error() == "" {
			t.Errorf("%T without a cause has no text", err)
		}
	}
}

func ExamplePermanent() {
	handle := func() error {
		return fmt.Errorf("order 17: %w", retrytopics.Permanent(errors.New("customer was deleted")))
	}
	d := retrytopics.Classify(handle(), nil)
	fmt.Println(d.Verdict, d.Rule, d.Class)
	// Output: permanent permanent-error *errors.errorString
}
