package main

import (
	_ "github.com/openshift/api"
	_ "github.com/openshift/api/config/v1"
	_ "github.com/openshift/api/operator/v1"
	_ "github.com/openshift/client-go/config/clientset/versioned"
	_ "github.com/openshift/client-go/config/informers/externalversions"
	_ "github.com/openshift/client-go/operator/applyconfigurations/operator/v1"
	_ "github.com/openshift/library-go/pkg/controller/controllercmd"
	_ "github.com/openshift/library-go/pkg/operator/certrotation"
	_ "github.com/openshift/library-go/pkg/operator/configobserver/apiserver"
	_ "github.com/openshift/library-go/pkg/operator/configobserver/featuregates"
	_ "github.com/openshift/library-go/pkg/operator/configobserver/proxy"
	_ "github.com/openshift/library-go/pkg/operator/genericoperatorclient"
	_ "github.com/openshift/library-go/pkg/operator/staticpod"
	_ "github.com/openshift/library-go/pkg/operator/staticpod/certsyncpod"
	_ "github.com/openshift/library-go/pkg/operator/staticpod/installerpod"
	_ "github.com/openshift/library-go/pkg/operator/staticpod/prune"
	_ "github.com/openshift/library-go/pkg/operator/status"
	_ "github.com/openshift/library-go/pkg/operator/render"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/pflag"
	_ "github.com/stretchr/testify/require"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	_ "k8s.io/component-base/cli"
	_ "k8s.io/klog/v2"
	_ "k8s.io/utils/clock"
	_ "k8s.io/utils/ptr"
	_ "sigs.k8s.io/yaml"
)

func main() {}
