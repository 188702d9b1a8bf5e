// Package aws is a small stand-in for AWS: as much of the Query APIs of EC2 and Elastic Load Balancing as the real
// cloud-controller-manager asks for until its nodes are initialized, when they go, and for network and classic load
// balancers, over TLS with a private CA.
//
// It behaves as AWS does where it matters to a test: the signature of every request is checked for its service, an
// unknown instance is an error, a terminated one is still described, lists have pages, rules of a security group are
// grouped, and nothing is deleted that something else uses. Instances are what SetInstances says. Load balancers,
// target groups and security groups can be created. A terminated instance stays in its target group until it is
// deregistered. An action that is not served is answered with 501 and counted under Unserved. All services have one
// endpoint here: the version of the API in a request says which one it is for.
//
// The cloud configuration has the region, the VPC, the subnet and the cluster's ID. The cloud-controller-manager
// therefore needs nothing from the instance metadata service. Nevertheless, at every start it asks twice which instance
// it runs on, for its log alone. Without an answer each of these questions takes five seconds. ServeMetadata answers
// them. STS is not asked, because the credentials are an access key.
//
// The servers for the whole of AWS that exist in Go are young, large, and answer no faults on demand. The actions that
// are asked for are less than such a dependency.
package aws
