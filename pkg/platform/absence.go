package platform

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// Absence is the reason why nothing runs on a cluster with the fallback platform.
type Absence string

const (
	// NotNeeded is a platform whose nodes need no initialization, or an unknown platform.
	NotNeeded Absence = "PlatformWithoutCloudControllerManager"

	// NotAsked is an External platform whose nodes do not wait for a cloud-controller-manager.
	NotAsked Absence = "ExternalWithoutCloudControllerManager"

	// NotDeclared is an External platform whose nodes wait for a cloud-controller-manager that the administrator runs.
	NotDeclared Absence = "CloudControllerManagerOfTheAdministrator"
)

// AbsenceOf returns why nothing runs on a cluster with the fallback platform.
func AbsenceOf(s *configv1.PlatformStatus) Absence {
	switch {
	case isExternalWithCCM(s):
		return NotDeclared
	case s.Type == configv1.ExternalPlatformType:
		return NotAsked
	}
	return NotNeeded
}

var apiTypes = []configv1.PlatformType{
	configv1.AWSPlatformType, configv1.AlibabaCloudPlatformType, configv1.AzurePlatformType,
	configv1.BareMetalPlatformType, configv1.EquinixMetalPlatformType, configv1.ExternalPlatformType,
	configv1.GCPPlatformType, configv1.IBMCloudPlatformType, configv1.KubevirtPlatformType,
	configv1.LibvirtPlatformType, configv1.NonePlatformType, configv1.NutanixPlatformType,
	configv1.OpenStackPlatformType, configv1.OvirtPlatformType, configv1.PowerVSPlatformType,
	configv1.VSpherePlatformType,
}

// UnknownType returns a platform type that the API does not define, and the most similar defined one. known is true for
// any other Infrastructure. The API server rejects an undefined type, but a file can contain one.
func UnknownType(infrastructure *configv1.Infrastructure) (unknown, meant string, known bool) {
	status := infrastructure.Status.PlatformStatus
	if status == nil || status.Type == "" || slices.Contains(apiTypes, status.Type) {
		return "", "", true
	}
	bare := strings.NewReplacer("-", "", "_", "", " ", "")
	for _, t := range apiTypes {
		if strings.EqualFold(bare.Replace(string(status.Type)), string(t)) {
			meant = string(t)
		}
	}
	return string(status.Type), meant, false
}
