package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/laneway-go/laneway/retrytopics"
)

// Wants returns what the topics that are kept for each source have to be like, in the order of the sources' names. Load
// has checked the names already, so an error means that the configuration did not come from it.
func (c *Config) Wants() ([]retrytopics.Want, error) {
	var wants []retrytopics.Want
	var errs []error
	for _, source := range slices.Sorted(maps.Keys(c.Topics)) {
		names, err := retrytopics.NewNames(retrytopics.Template(c.TopicTemplate), source, c.Group)
		if err != nil {
			errs = append(errs, fmt.Errorf("name topics of %s: %w", source, err))
			continue
		}
		t := c.Topics[source]
		wants = append(wants, retrytopics.Want{
			Names: names, Policy: t.Policy(),
			NoIdempotency: t.Idempotency.Mode == modeOff, Window: time.Duration(t.Idempotency.Window),
		})
	}
	return wants, errors.Join(errs...)
}
