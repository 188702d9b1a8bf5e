package configobservation

import (
	"crypto/tls"
	"slices"
	"strconv"

	configv1 "github.com/openshift/api/config/v1"
)

// curveIDs are the numbers of TLS groups in crypto/tls. library-go has had them since its commit db94aeb6f
// (crypto.TLSGroupToCurveID); it has no observer of groups.
var curveIDs = map[configv1.TLSGroup]tls.CurveID{
	configv1.TLSGroupX25519:             tls.X25519,
	configv1.TLSGroupSecP256r1:          tls.CurveP256,
	configv1.TLSGroupSecP384r1:          tls.CurveP384,
	configv1.TLSGroupSecP521r1:          tls.CurveP521,
	configv1.TLSGroupX25519MLKEM768:     tls.X25519MLKEM768,
	configv1.TLSGroupSecP256r1MLKEM768:  tls.SecP256r1MLKEM768,
	configv1.TLSGroupSecP384r1MLKEM1024: tls.SecP384r1MLKEM1024,
}

// observeCurvePreferences observes the groups of a custom TLS profile. Without groups, and with a named profile, Go
// chooses. The API server persists groups only while the feature gate TLSGroupPreferences is enabled. Go and the flag
// ignore the order, so the numbers are sorted: another order causes no rollout. Groups of a later release are omitted.
func observeCurvePreferences(listers Listers, _ map[string]any) (any, error) {
	server, err := find(listers.APIServers, "apiserver")
	if err != nil || server == nil {
		return nil, err
	}
	profile := server.Spec.TLSSecurityProfile
	if profile == nil || profile.Type != configv1.TLSProfileCustomType || profile.Custom == nil {
		return nil, nil
	}
	var ids []tls.CurveID
	for _, group := range profile.Custom.Groups {
		if id, known := curveIDs[group]; known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var numbers []string
	for _, id := range slices.Compact(ids) {
		numbers = append(numbers, strconv.Itoa(int(id)))
	}
	return numbers, nil
}
