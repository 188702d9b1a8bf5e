package suite

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/featuregate"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/operand"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/ote/internal/extension"
)

const (
	awsPrefix = "[cloud-provider-aws-e2e-openshift] loadbalancer"

	balancerType = "service.beta.kubernetes.io/aws-load-balancer-type"
)

// awsTests are those of the predecessor's image, by name.
func awsTests() []spec {
	test := func(name string, run func(context.Context, *cluster) error) spec {
		return spec{
			name:   awsPrefix + " NLB [OCPFeatureGate:" + featuregate.NLBSecurityGroups + "] " + name + inParallel,
			labels: []string{conformance}, lifecycle: extension.Blocking, include: `platform=="aws"`,
			run: func(ctx context.Context, c *cluster) error {
				if err := c.requireGate(ctx, featuregate.NLBSecurityGroups); err != nil {
					return err
				}
				return run(ctx, c)
			},
		}
	}
	return []spec{
		test("should have NLBSecurityGroupMode with 'Managed value in cloud-config", managesGroups),
		test("should create NLB service with security group attached", withBalancer(hasGroups)),
		test("should have security groups attached to default ingress controller NLB", ingressHasGroups),
		test("should update security group rules when service is updated", withBalancer(updatesRules)),
		test("should cleanup security groups when service is deleted", withBalancer(cleansUp)),
		test("should have correct security group rules for service ports", withBalancer(rulesMatchPorts)),
	}
}

var managedMode = regexp.MustCompile(`(?m)^\s*NLBSecurityGroupMode\s*=\s*Managed\s*$`)

func managesGroups(ctx context.Context, c *cluster) error {
	secret, err := c.kube.CoreV1().Secrets(operand.Namespace).Get(ctx, "cloud-config", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !managedMode.Match(secret.Data["cloud.conf"]) {
		return fmt.Errorf("secret/cloud-config in %s: cloud.conf does not set NLBSecurityGroupMode to Managed",
			operand.Namespace)
	}
	return nil
}

// balanced is a Service with its load balancer.
type balanced struct {
	*cluster
	elb     *elb.Client
	ec2     *ec2.Client
	service *corev1.Service
	found   *elbtypes.LoadBalancer
}

// clients reads the credentials from the environment, as openshift-tests sets it, and the region from the cluster.
func (c *cluster) clients(ctx context.Context) (*balanced, error) {
	infrastructure, err := c.config.ConfigV1().Infrastructures().Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	status := infrastructure.Status.PlatformStatus
	if status == nil || status.Type != configv1.AWSPlatformType || status.AWS == nil {
		return nil, extension.Skip("the platform is not AWS")
	}
	config, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(status.AWS.Region))
	if err != nil {
		return nil, fmt.Errorf("AWS: %w", err)
	}
	return &balanced{cluster: c, elb: elb.NewFromConfig(config), ec2: ec2.NewFromConfig(config)}, nil
}

// withBalancer runs a check with a Service in a namespace of its own, which is deleted in the end.
func withBalancer(check func(context.Context, *balanced) error) func(context.Context, *cluster) error {
	return func(ctx context.Context, c *cluster) (err error) {
		b, err := c.clients(ctx)
		if err != nil {
			return err
		}
		namespace, err := c.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-ccm-nlb-"},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), awaitLimit)
			defer cancel()
			deleted := c.kube.CoreV1().Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})
			err = errors.Join(err, deleted, b.awaitGone(ctx))
		}()
		if err := b.create(ctx, namespace.Name); err != nil {
			return err
		}
		return check(ctx, b)
	}
}

func (b *balanced) create(ctx context.Context, namespace string) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "balanced", Annotations: map[string]string{balancerType: "nlb"}},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": "balanced"},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	dual, err := b.isDualStack(ctx)
	if err != nil {
		return err
	}
	if dual {
		policy := corev1.IPFamilyPolicyRequireDualStack
		service.Spec.IPFamilyPolicy = &policy
	}
	if b.service, err = b.kube.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	return b.awaitBalancer(ctx)
}

// isDualStack reports whether the cluster has Services of both families.
func (b *balanced) isDualStack(ctx context.Context) (bool, error) {
	network, err := b.config.ConfigV1().Networks().Get(ctx, "cluster", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return len(network.Status.ServiceNetwork) > 1, nil
}

// awaitBalancer waits until the load balancer of the Service is active.
func (b *balanced) awaitBalancer(ctx context.Context) error {
	return b.await(ctx, "an active load balancer", func(ctx context.Context) error {
		service, err := b.kube.CoreV1().Services(b.service.Namespace).Get(ctx, b.service.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		b.service = service
		if len(service.Status.LoadBalancer.Ingress) == 0 || service.Status.LoadBalancer.Ingress[0].Hostname == "" {
			return fmt.Errorf("service/%s in %s has no hostname", service.Name, service.Namespace)
		}
		found, err := b.find(ctx, service.Status.LoadBalancer.Ingress[0].Hostname)
		if err != nil {
			return err
		}
		if found == nil {
			return errors.New("AWS does not know it")
		}
		if found.State == nil || found.State.Code != elbtypes.LoadBalancerStateEnumActive {
			return fmt.Errorf("its state is %+v", found.State)
		}
		b.found = found
		return nil
	})
}

func (b *balanced) find(ctx context.Context, hostname string) (*elbtypes.LoadBalancer, error) {
	pages := elb.NewDescribeLoadBalancersPaginator(b.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("DescribeLoadBalancers: %w", err)
		}
		for i := range page.LoadBalancers {
			if strings.EqualFold(aws.ToString(page.LoadBalancers[i].DNSName), hostname) {
				return &page.LoadBalancers[i], nil
			}
		}
	}
	return nil, nil
}

// awaitGone waits until the load balancer is deleted, if there was one.
func (b *balanced) awaitGone(ctx context.Context) error {
	if b.found == nil {
		return nil
	}
	return b.await(ctx, "the load balancer to be deleted", func(ctx context.Context) error {
		found, err := b.find(ctx, aws.ToString(b.found.DNSName))
		if err == nil && found != nil {
			err = errors.New("AWS still has it")
		}
		return err
	})
}

func hasGroups(_ context.Context, b *balanced) error {
	if len(b.found.SecurityGroups) == 0 {
		return fmt.Errorf("load balancer %s has no security group", aws.ToString(b.found.LoadBalancerName))
	}
	b.logf("the load balancer has the security groups %v", b.found.SecurityGroups)
	return nil
}

func ingressHasGroups(ctx context.Context, c *cluster) error {
	b, err := c.clients(ctx)
	if err != nil {
		return err
	}
	b.service, err = c.kube.CoreV1().Services("openshift-ingress").Get(ctx, "router-default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return extension.Skip("the cluster has no service/router-default in openshift-ingress")
	}
	if err != nil {
		return err
	}
	if b.service.Spec.Type != corev1.ServiceTypeLoadBalancer || b.service.Annotations[balancerType] != "nlb" {
		return extension.Skip("the default ingress controller has no network load balancer")
	}
	if err := b.awaitBalancer(ctx); err != nil {
		return err
	}
	return hasGroups(ctx, b)
}

// requireRules requires that the security groups let clients in at exactly these ports.
func (b *balanced) requireRules(ctx context.Context, want ...int32) error {
	return b.await(ctx, fmt.Sprintf("rules for the ports %v", want), func(ctx context.Context) error {
		found, err := b.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: b.found.SecurityGroups})
		if err != nil {
			return fmt.Errorf("DescribeSecurityGroups: %w", err)
		}
		var ports []int32
		for _, group := range found.SecurityGroups {
			for _, permission := range group.IpPermissions {
				if aws.ToString(permission.IpProtocol) == "tcp" {
					ports = append(ports, aws.ToInt32(permission.FromPort))
				}
			}
		}
		slices.Sort(ports)
		if ports = slices.Compact(ports); !slices.Equal(ports, want) {
			return fmt.Errorf("the groups %v have rules for %v", b.found.SecurityGroups, ports)
		}
		return nil
	})
}

func rulesMatchPorts(ctx context.Context, b *balanced) error {
	if err := hasGroups(ctx, b); err != nil {
		return err
	}
	return b.requireRules(ctx, 80)
}

func updatesRules(ctx context.Context, b *balanced) error {
	if err := rulesMatchPorts(ctx, b); err != nil {
		return err
	}
	b.service.Spec.Ports = append(b.service.Spec.Ports,
		corev1.ServicePort{Name: "https", Port: 443, TargetPort: intstr.FromInt32(8443)})
	if _, err := b.kube.CoreV1().Services(b.service.Namespace).Update(ctx, b.service, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := b.requireRules(ctx, 80, 443); err != nil {
		return err
	}
	if err := b.awaitBalancer(ctx); err != nil {
		return err
	}
	return hasGroups(ctx, b)
}

func cleansUp(ctx context.Context, b *balanced) error {
	if err := hasGroups(ctx, b); err != nil {
		return err
	}
	groups := b.found.SecurityGroups
	err := b.kube.CoreV1().Services(b.service.Namespace).Delete(ctx, b.service.Name, metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	if err := b.awaitGone(ctx); err != nil {
		return err
	}
	return b.await(ctx, "the security groups to be deleted", func(ctx context.Context) error {
		found, err := b.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
		if err != nil {
			return fmt.Errorf("DescribeSecurityGroups: %w", err)
		}
		for _, group := range found.SecurityGroups {
			if slices.Contains(groups, aws.ToString(group.GroupId)) {
				return fmt.Errorf("AWS still has %s", aws.ToString(group.GroupId))
			}
		}
		return nil
	})
}
