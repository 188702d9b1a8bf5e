package e2e

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A condition that becomes true right after a look began is seen when the next look ends.
func TestASuiteMeasuresHowLateItSeesACondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, second = 300 * time.Millisecond, time.Second
		s, looks := &suite{}, []time.Duration{first, second}
		s.await(t, "the second look", briefly, func(context.Context) error {
			<-time.After(looks[0])
			if looks = looks[1:]; len(looks) > 0 {
				return errors.New("it is the first one")
			}
			return nil
		})
		require.Equal(t, first+second, s.late, "the interval has passed during the first look")
		s.await(t, "what is true", briefly, func(context.Context) error { return nil })
		require.Equal(t, first+second, s.late, "the longest time counts")
	})
}
