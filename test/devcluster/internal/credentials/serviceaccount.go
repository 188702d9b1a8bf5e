package credentials

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Subject is the ServiceAccount whose tokens a cloud trusts once it federates.
const Subject = "system:serviceaccount:openshift-cloud-controller-manager:cloud-controller-manager"

// TokenSubject returns the subject of a ServiceAccount's token, empty for another text, and whether the token is for
// the audience and has not expired. A stand-in does not have the keys of the cluster's issuer, so nothing checks the
// signature.
func TokenSubject(token, audience string) (subject string, valid bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", false
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	var claims struct {
		Subject  string   `json:"sub"`
		Audience []string `json:"aud"`
		Expires  int64    `json:"exp"`
	}
	if err := json.Unmarshal(content, &claims); err != nil {
		return "", false
	}
	return claims.Subject, slices.Contains(claims.Audience, audience) && time.Now().Before(time.Unix(claims.Expires, 0))
}
