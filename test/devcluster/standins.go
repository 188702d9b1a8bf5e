package devcluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	ccmv1 "github.com/openshift/cluster-cloud-controller-manager-operator/pkg/apis/operator/v1"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/alibabacloud"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/aws"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/azure"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/digitalocean"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/gcp"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/ibm"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/machines"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/seed"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/nutanix"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/openstack"
	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/vsphere"
)

// Call is a request that a stand-in for a cloud answered.
type Call = standin.Call

// LoadBalancer is a load balancer of a stand-in for a cloud.
type LoadBalancer = standin.LoadBalancer

const (
	// AllEndpoints is the whole cloud, for a stand-in's Fail.
	AllEndpoints = standin.AllEndpoints
	// Unserved is the endpoint of calls that a stand-in does not serve.
	Unserved = standin.Unserved
)

// standIn is a running stand-in for a platform's cloud.
type standIn interface {
	// SetInstances makes the cloud have exactly these machines.
	SetInstances(instances []machines.Instance) error
	// SystemUUID returns the UUID in the firmware of the machine with the name.
	SystemUUID(name string) string
	// Installation returns what the operator reads of a cluster on this cloud, with the current credentials and CA.
	Installation() *seed.Example
	// Hosts returns the addresses of the names that the nodes must resolve by themselves to reach the cloud.
	Hosts() map[string]string
	// CABundle returns the CA, in PEM, that signed the certificate of the cloud's API.
	CABundle() []byte
	// Close ends the stand-in.
	Close() error
}

// standInOptions configure a stand-in: where it listens, the name that clients have for that, and its directory.
type standInOptions struct{ listen, host, dir string }

// standIns start the stand-ins, by the platform's name in the operator's registry.
var standIns = map[string]func(ctx context.Context, o standInOptions) (standIn, error){
	"alibabacloud": usual(alibabacloud.Start),
	"aws":          usual(aws.Start),
	"azure": func(ctx context.Context, o standInOptions) (standIn, error) {
		return azure.Start(ctx, azure.Options{Listen: o.listen, Dir: o.dir})
	},
	"azurestack": func(ctx context.Context, o standInOptions) (standIn, error) {
		return azure.Start(ctx, azure.Options{Listen: o.listen, Dir: o.dir, Stack: true})
	},
	"digitalocean": usual(digitalocean.Start),
	external: func(ctx context.Context, o standInOptions) (standIn, error) {
		return openstack.Start(ctx, openstack.Options{Listen: o.listen, Host: o.host, Dir: o.dir, External: true})
	},
	"gcp": usual(gcp.Start),
	"ibmcloud": func(ctx context.Context, o standInOptions) (standIn, error) {
		return ibm.Start(ctx, ibm.Options{Listen: o.listen, Dir: o.dir})
	},
	"nutanix": usual(nutanix.Start),
	"openstack": func(ctx context.Context, o standInOptions) (standIn, error) {
		return openstack.Start(ctx, openstack.Options{Listen: o.listen, Host: o.host, Dir: o.dir})
	},
	"powervs": func(ctx context.Context, o standInOptions) (standIn, error) {
		return ibm.Start(ctx, ibm.Options{Listen: o.listen, Dir: o.dir, Power: true})
	},
	"vsphere": usual(vsphere.Start),
}

// usual starts a stand-in that has no options but the usual ones.
func usual[S standIn](start func(context.Context, standin.Options) (S, error),
) func(context.Context, standInOptions) (standIn, error) {
	return func(ctx context.Context, o standInOptions) (standIn, error) {
		return start(ctx, standin.Options{Listen: o.listen, Dir: o.dir})
	}
}

// HasCloud reports whether the cluster has a stand-in for its platform's cloud, so that its nodes are initialized.
func (c *Cluster) HasCloud() bool { return standIns[c.registered().Name] != nil }

// cloudOf returns the stand-in of a cloud, nil on other platforms.
func cloudOf[S standIn](c *Cluster) S {
	server, _ := c.cloud.(S)
	return server
}

// AlibabaCloud returns the stand-in for Alibaba Cloud, nil on other platforms.
func (c *Cluster) AlibabaCloud() *alibabacloud.Server { return cloudOf[*alibabacloud.Server](c) }

// AWS returns the stand-in for AWS, nil on other platforms.
func (c *Cluster) AWS() *aws.Server { return cloudOf[*aws.Server](c) }

// Azure returns the stand-in for Azure or an Azure Stack Hub, nil on other platforms.
func (c *Cluster) Azure() *azure.Server { return cloudOf[*azure.Server](c) }

// Cloud returns the stand-in for OpenStack, which is also that of External; nil on other platforms.
func (c *Cluster) Cloud() *openstack.Server { return cloudOf[*openstack.Server](c) }

// DigitalOcean returns the stand-in for DigitalOcean, nil on other platforms.
func (c *Cluster) DigitalOcean() *digitalocean.Server { return cloudOf[*digitalocean.Server](c) }

// GCP returns the stand-in for Google Cloud, nil on other platforms.
func (c *Cluster) GCP() *gcp.Server { return cloudOf[*gcp.Server](c) }

// IBM returns the stand-in for IBM Cloud, with a workspace of Power VS or without, nil on other platforms.
func (c *Cluster) IBM() *ibm.Server { return cloudOf[*ibm.Server](c) }

// Nutanix returns the stand-in for Nutanix' Prism Central, nil on other platforms.
func (c *Cluster) Nutanix() *nutanix.Server { return cloudOf[*nutanix.Server](c) }

// VSphere returns the stand-in for a vCenter, nil on other platforms.
func (c *Cluster) VSphere() *vsphere.Server { return cloudOf[*vsphere.Server](c) }

func (c *Cluster) startCloud(ctx context.Context) error {
	start := standIns[c.registered().Name]
	if start == nil {
		return nil
	}
	name := c.registered().Name
	fmt.Fprintln(c.progress, "starting the stand-in for", c.options.Platform)
	// The stand-in outlives ctx, which may only limit the start.
	cloud, err := start(context.WithoutCancel(ctx), standInOptions{
		listen: net.JoinHostPort(c.layout.address, c.cloudPort()), host: c.options.CloudHost,
		dir: filepath.Join(c.options.Dir, name),
	})
	if err != nil {
		return err
	}
	c.cloud = cloud
	c.atStop(func(context.Context) error { return cloud.Close() })
	return c.startMetadata(ctx)
}

// startMetadata serves the metadata of the cloud's instances to the nodes. An Azure Stack Hub is asked for none.
func (c *Cluster) startMetadata(ctx context.Context) error {
	served, has := c.cloud.(interface {
		ServeMetadata(ctx context.Context, listener net.Listener)
	})
	if c.network == nil || !has || c.registered().Name == "azurestack" {
		return nil
	}
	listener, err := c.network.ListenMetadata(ctx)
	if err != nil {
		return err
	}
	served.ServeMetadata(context.WithoutCancel(ctx), listener)
	return nil
}

// namedClouds are the platforms whose endpoints are fixed names, which have no port.
var namedClouds = []string{"alibabacloud", "azure", "azurestack", "digitalocean", "gcp", "ibmcloud", "powervs"}

// cloudPort returns the port of the cloud's API. Without nodes nobody calls the API, and the default port would need
// privileges.
func (c *Cluster) cloudPort() string {
	if c.options.Nodes > 0 && slices.Contains(namedClouds, c.registered().Name) {
		return "443"
	}
	return "0"
}

// installation returns what the operator reads of the cluster on its platform; nil without a cloud.
func (c *Cluster) installation() *seed.Example {
	if c.cloud == nil {
		return nil
	}
	installed := c.cloud.Installation()
	if installed.Custom != nil {
		installed.Custom.Image = ImageRef(c.OperandTag())
		if c.given != nil && c.registered().Name == external {
			installed.Custom.Command = []string{c.command}
		}
	}
	return installed
}

// Custom returns spec.custom of the operator's resource on the cluster's platform; nil where it is not set.
func (c *Cluster) Custom() *ccmv1.CustomCloudControllerManager {
	if installed := c.installation(); installed != nil {
		return installed.Custom
	}
	return nil
}

// CustomRules returns what the administrator permits a custom cloud-controller-manager beyond what all need.
func (c *Cluster) CustomRules() []rbacv1.PolicyRule {
	if installed := c.installation(); installed != nil {
		return installed.Rules
	}
	return nil
}

// setInstance adds the machine of a node to the cloud, or removes it.
func (c *Cluster) setInstance(index int, exists bool) error {
	if c.cloud == nil {
		return nil
	}
	c.nodesMutex.Lock()
	defer c.nodesMutex.Unlock()
	c.instances = slices.DeleteFunc(c.instances, func(i int) bool { return i == index })
	if exists {
		c.instances = append(c.instances, index)
	}
	slices.Sort(c.instances)
	instances := make([]machines.Instance, 0, len(c.instances))
	for _, i := range c.instances {
		address := cmp.Or(c.moved[i], c.network.Address(i).String())
		instances = append(instances, machines.Instance{Name: nodeName(i), Addresses: []string{address}})
	}
	return c.cloud.SetInstances(instances)
}

// providerID returns what the kubelet of a machine registers with: nothing, unless the cloud-controller-manager
// initializes no Node without a providerID.
func (c *Cluster) providerID(name string) string {
	if alibaba := c.AlibabaCloud(); alibaba != nil {
		return alibaba.ProviderID(name)
	}
	return ""
}

// systemUUID returns the UUID of a node's machine; empty without a cloud.
func (c *Cluster) systemUUID(name string) string {
	if c.cloud == nil {
		return ""
	}
	return c.cloud.SystemUUID(name)
}

// hosts returns the addresses of the names that the nodes must resolve by themselves to reach the cloud.
func (c *Cluster) hosts() map[string]string {
	if c.cloud == nil {
		return nil
	}
	return c.cloud.Hosts()
}
