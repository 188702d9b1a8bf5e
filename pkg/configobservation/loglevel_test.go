package configobservation

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	"github.com/stretchr/testify/require"
)

func TestTheLogLevelIsThatOfTheResource(t *testing.T) {
	client := v1helpers.NewFakeOperatorClient(&operatorv1.OperatorSpec{LogLevel: operatorv1.Debug}, &operatorv1.OperatorStatus{}, nil)
	level, err := logLevel(client)()
	require.NoError(t, err)
	require.Equal(t, operatorv1.Debug, level)
}
