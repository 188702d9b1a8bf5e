package operatorclient

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
)

// busy is the client of a resource of which others change the status each second until the end.
type busy struct {
	v1helpers.StaticPodOperatorClient
	begin, end time.Time
}

func (b *busy) GetOperatorState() (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	version := strconv.Itoa(int(time.Since(b.begin).Seconds()))
	return &operatorv1.OperatorSpec{}, &operatorv1.OperatorStatus{}, version, nil
}

func (b *busy) UpdateOperatorSpec(
	_ context.Context, version string, spec *operatorv1.OperatorSpec,
) (*operatorv1.OperatorSpec, string, error) {
	if time.Now().Before(b.end) {
		return nil, "", apierrors.NewConflict(ccmv1.Resource.GroupResource(), Instance, errors.New("modified"))
	}
	return spec, version, nil
}

func TestAnUpdateOfTheSpecOutlastsHalfAMinuteOfConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		lasts      time.Duration
		isConflict bool
	}{
		"of a busy API server": {lasts: 29 * time.Second},
		"but no longer":        {lasts: 32 * time.Second, isConflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &retryingClient{StaticPodOperatorClient: &busy{begin: time.Now(), end: time.Now().Add(tc.lasts)}}
				_, _, err := client.UpdateOperatorSpec(t.Context(), "0", &operatorv1.OperatorSpec{})
				require.Equal(t, tc.isConflict, apierrors.IsConflict(err), "%v", err)
				require.Equal(t, tc.isConflict, err != nil)
			})
		})
	}
}
