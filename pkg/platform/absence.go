package platform

import configv1 "github.com/openshift/api/config/v1"

// Absence is why nothing runs on a cluster whose platform is the fallback.
type Absence string

const (
	// NotNeeded is a platform whose nodes need nobody to initialise them, or one that is not known.
	NotNeeded Absence = "PlatformWithoutCloudControllerManager"

	// NotAsked is an External platform whose nodes are said to wait for no cloud-controller-manager.
	NotAsked Absence = "ExternalWithoutCloudControllerManager"

	// NotDeclared is an External platform whose nodes wait for a cloud-controller-manager that somebody else runs.
	NotDeclared Absence = "CloudControllerManagerOfTheAdministrator"
)

// AbsenceOf tells why nothing runs, from the status of Infrastructure. It is for clusters on which nothing does.
func AbsenceOf(s *configv1.PlatformStatus) Absence {
	switch {
	case externallyManaged(s):
		return NotDeclared
	case s.Type == configv1.ExternalPlatformType:
		return NotAsked
	}
	return NotNeeded
}
