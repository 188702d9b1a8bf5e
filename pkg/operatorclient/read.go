package operatorclient

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	"github.com/openshift/library-go/pkg/operator/v1helpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reader is a client whose errors of a read have the verb and the object, so callers return them as they are.
type reader struct {
	v1helpers.StaticPodOperatorClient
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading cloudcontrollermanager/%s: %w", Instance, err)
}

func (r reader) GetObjectMeta() (*metav1.ObjectMeta, error) {
	meta, err := r.StaticPodOperatorClient.GetObjectMeta()
	return meta, readError(err)
}

func (r reader) GetOperatorState() (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	spec, status, version, err := r.StaticPodOperatorClient.GetOperatorState()
	return spec, status, version, readError(err)
}

func (r reader) GetOperatorStateWithQuorum(
	ctx context.Context,
) (*operatorv1.OperatorSpec, *operatorv1.OperatorStatus, string, error) {
	spec, status, version, err := r.StaticPodOperatorClient.GetOperatorStateWithQuorum(ctx)
	return spec, status, version, readError(err)
}

func (r reader) GetStaticPodOperatorState() (
	*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error,
) {
	spec, status, version, err := r.StaticPodOperatorClient.GetStaticPodOperatorState()
	return spec, status, version, readError(err)
}

func (r reader) GetStaticPodOperatorStateWithQuorum(
	ctx context.Context,
) (*operatorv1.StaticPodOperatorSpec, *operatorv1.StaticPodOperatorStatus, string, error) {
	spec, status, version, err := r.StaticPodOperatorClient.GetStaticPodOperatorStateWithQuorum(ctx)
	return spec, status, version, readError(err)
}
