// Package alibabacloud is a small stand-in for Alibaba Cloud: as much of the API of ECS as the real
// cloud-controller-manager asks for until its nodes are initialized and when they go, over TLS with a private CA.
//
// It behaves as Alibaba Cloud does where it matters to a test: the signature of every request is checked, no signature
// is accepted twice, an access key that was deleted is unknown, a list of instances leaves out the ones that do not
// exist, and lists have pages. Instances are what SetInstances says. They have the tags of the installer, by which the
// cloud-controller-manager looks for them.
//
// An action that is not served is answered with 501 and counted under Unserved. The operator turns
// every controller off but the one for Nodes on the bootstrap node, and the controllers for Services look for load
// balancers only while there are such Services; the stand-in has none. The cloud configuration has the region and the
// VPC, so the metadata service of the instances is not asked.
//
// The cloud-controller-manager asks for ecs-vpc.cn-hangzhou.aliyuncs.com, the endpoint of ECS in the region's VPCs. The
// stand-in has a certificate for this name, and Hosts returns what its clients must resolve the name to.
package alibabacloud
