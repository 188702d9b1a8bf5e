package aws

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// credentialsFile is the file that AWS_SHARED_CREDENTIALS_FILE names, and the key of the Secret that holds such a file.
	credentialsFile  = "credentials"
	keyID            = "aws_access_key_id"
	secretKey        = "aws_secret_access_key"
	tokenFile        = "web_identity_token_file"
	credentialSource = "credential_source"
	process          = "credential_process"
	awsProfileInUse  = "default"
	tokenAudience    = "sts.amazonaws.com"
)

// credentials are the files that the provider gets, and the tokens that they ask for. Without a Secret, or with one that
// has no keys, there are none: the provider uses the identity of the instance.
func (a *rewriter) credentials() (map[string][]byte, []clouds.Token) {
	secret := a.src.Credentials
	if len(secret) == 0 {
		return nil, nil
	}
	if file := secret[credentialsFile]; strings.TrimSpace(string(file)) != "" {
		return a.sharedFile(string(file))
	}
	return a.keyPair(), nil
}

func (a *rewriter) reportCredentials(key string, line, column int, kind diagnostic.Kind, message string) {
	a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Line: line, Column: column, Kind: kind, Message: message})
}

// keyPair makes the file out of the two keys that the cloud-credential-operator writes.
func (a *rewriter) keyPair() map[string][]byte {
	secret := a.src.Credentials
	id, hasID := secret[keyID]
	key, hasKey := secret[secretKey]
	switch {
	case !hasID && !hasKey:
		has := strings.Join(slices.Sorted(maps.Keys(secret)), ", ")
		a.reportCredentials("", 0, 0, diagnostic.Invalid, fmt.Sprintf("the credentials Secret has neither the keys %s and %s nor the key %s, only %s; "+
			"correct it, or remove all its keys if the identity of the instances is to be used", keyID, secretKey, credentialsFile, has))
		return nil
	case !hasID:
		a.reportCredentials(keyID, 0, 0, diagnostic.Invalid, "the credentials Secret has "+secretKey+" but no such key: add it")
		return nil
	case !hasKey:
		a.reportCredentials(secretKey, 0, 0, diagnostic.Invalid, "the credentials Secret has "+keyID+" but no such key: add it")
		return nil
	}
	texts := map[string]string{keyID: strings.TrimSpace(string(id)), secretKey: strings.TrimSpace(string(key))}
	for _, name := range []string{keyID, secretKey} {
		if problem := keyProblem(texts[name]); problem != "" {
			a.reportCredentials(name, 0, 0, diagnostic.Invalid, problem)
		}
	}
	a.reportCredentials("", 0, 0, diagnostic.Adapted, fmt.Sprintf("the file %s with the profile [%s] is made of %s and %s: it is what the cloud-controller-manager reads",
		credentialsFile, awsProfileInUse, keyID, secretKey))
	return map[string][]byte{credentialsFile: fmt.Appendf(nil, "[%s]\n%s = %s\n%s = %s\n",
		awsProfileInUse, keyID, texts[keyID], secretKey, texts[secretKey])}
}

// keyProblem says why a text cannot be one half of a key pair.
func keyProblem(text string) string {
	switch {
	case text == "":
		return "it is empty: write the key that AWS gave"
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }):
		return "it has a blank, a line break or another character in it that no key of AWS has: write the key alone"
	case strings.ContainsAny(text, `"'`):
		return "it has quotes in it: write the key without them"
	}
	return ""
}

// sharedFile checks a shared credentials file and points it at the token that the operator keeps.
func (a *rewriter) sharedFile(text string) (map[string][]byte, []clouds.Token) {
	if strings.HasPrefix(text, "\ufeff") {
		a.reportCredentials(credentialsFile, 1, 1, diagnostic.Invalid, "the text starts with a byte-order mark, which hides the first line: save it as UTF-8 without one")
		return nil, nil
	}
	profiles := readAWSProfiles(text)
	if used := a.profileInUse(profiles); used != nil {
		a.checkProfile(profiles, used)
	}
	var tokens []clouds.Token
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if isLoneQuote(line) {
			a.reportCredentials(credentialsFile, i+1, 1, diagnostic.Invalid, "the value is one quote and nothing else, on which the cloud-controller-manager would crash: remove the quote")
		}
	}
	ours := path.Join(a.src.Paths.Tokens, clouds.MintedToken)
	for _, p := range profiles {
		s, ok := p.settings[tokenFile]
		if !ok {
			continue
		}
		tokens = []clouds.Token{{Key: clouds.MintedToken, Audience: tokenAudience}}
		if s.value == ours {
			continue
		}
		lines[s.line-1] = tokenFile + " = " + ours
		a.reportCredentials(credentialsFile, s.line, s.column, diagnostic.Adapted, fmt.Sprintf("%s is set to %q, where the operator keeps a fresh token", tokenFile, ours))
	}
	return map[string][]byte{credentialsFile: []byte(strings.Join(lines, "\n"))}, tokens
}

// profileInUse is the one that the provider asks for.
func (a *rewriter) profileInUse(profiles []*profile) *profile {
	for _, p := range profiles {
		if p.name == awsProfileInUse {
			return p
		}
	}
	message := "there is no profile [" + awsProfileInUse + "], which is the one that the cloud-controller-manager uses: "
	if len(profiles) == 0 {
		message += "write that line above the keys"
	} else {
		message += fmt.Sprintf("there is only %s; rename the right one", awsHeaders(profiles))
	}
	a.reportCredentials(credentialsFile, 0, 0, diagnostic.Invalid, message)
	return nil
}

// checkProfile follows source_profile and reports what keeps the provider from logging in. The rules are those of
// github.com/aws/aws-sdk-go-v2/config v1.29.14 (setFromIniSections in shared_config.go).
func (a *rewriter) checkProfile(profiles []*profile, p *profile) {
	seen, byName := map[string]bool{}, map[string]*profile{}
	for _, p := range profiles {
		byName[p.name] = p
	}
	for {
		if problem, key := profileProblem(p); problem != "" {
			at := setting{line: p.line, column: p.column}
			if p.has(key) {
				at = p.settings[key]
			}
			a.reportCredentials(credentialsFile, at.line, at.column, diagnostic.Invalid, fmt.Sprintf("profile [%s] %s", confdoc.Cut(p.name), problem))
			return
		}
		source := p.settings["source_profile"]
		again := seen[p.name]
		if source.value == "" || len(seen) > 0 && p.value(keyID) != "" {
			return
		}
		if again {
			a.reportCredentials(credentialsFile, source.line, source.column, diagnostic.Invalid, fmt.Sprintf("profile [%s] is its own source_profile and has no key pair: add one, or name another profile", confdoc.Cut(p.name)))
			return
		}
		seen[p.name] = true
		if p = byName[source.value]; p == nil {
			a.reportCredentials(credentialsFile, source.line, source.column, diagnostic.Invalid, fmt.Sprintf(
				"source_profile names a profile that is not in this file: add the section or correct the name; there is %s", awsHeaders(profiles)))
			return
		}
	}
}

// awsHeaders are the profiles as messages show them, but not too many.
func awsHeaders(profiles []*profile) string {
	const most = 10
	var headers []string
	for _, p := range profiles[:min(most, len(profiles))] {
		headers = append(headers, "["+confdoc.Cut(p.name)+"]")
	}
	if len(profiles) > most {
		headers = append(headers, "…")
	}
	return strings.Join(headers, ", ")
}

// profileProblem says what is wrong with one profile, and at which key.
func profileProblem(p *profile) (problem, key string) {
	for _, key := range []string{keyID, secretKey, "role_arn", "source_profile", tokenFile} {
		if strings.Contains(p.value(key), "\n") {
			return "has " + key + " with more in the next line, because that one is indented: remove the blanks before it", key
		}
	}
	if problem, key = pairProblem(p); problem != "" {
		return problem, key
	}
	return wayProblem(p)
}

// wayProblem says what is wrong with the way in which a profile logs in.
func wayProblem(p *profile) (problem, key string) {
	ways := slices.DeleteFunc([]string{"source_profile", credentialSource, process, tokenFile}, func(way string) bool { return p.value(way) == "" })
	role := p.value("role_arn") != ""
	switch {
	case len(ways) > 1:
		return "has both " + strings.Join(ways, " and ") + ": only one of them is allowed; remove the others", ways[1]
	case len(ways) == 0 && (p.has(keyID) || role && p.name == awsProfileInUse): // without a pair the instance takes the role
		return "", ""
	case len(ways) == 0:
		return "has neither " + keyID + " and " + secretKey + " nor role_arn and " + tokenFile + ": add them", ""
	case ways[0] == process:
		return "has " + process + ", but the program will not exist for the cloud-controller-manager: write keys, or a role_arn with " + tokenFile, process
	case !role:
		return "has " + ways[0] + " but no role_arn: add the role", ways[0]
	}
	if source := p.value(credentialSource); source != "" && !slices.Contains([]string{"Environment", "Ec2InstanceMetadata", "EcsContainer"}, source) {
		return "has an unknown " + credentialSource + ": write Ec2InstanceMetadata", credentialSource
	}
	return "", ""
}

// pairProblem says what is wrong with a key pair, if there is one.
func pairProblem(p *profile) (problem, key string) {
	hasID, hasKey := p.has(keyID), p.has(secretKey)
	switch {
	case hasID && !hasKey:
		return "has " + keyID + " but no " + secretKey + ": add it", keyID
	case hasKey && !hasID:
		return "has " + secretKey + " but no " + keyID + ": add it", secretKey
	case !hasID:
		return "", ""
	}
	for _, key := range []string{keyID, secretKey} {
		if problem := keyProblem(p.value(key)); problem != "" {
			return "has a wrong " + key + ": " + problem, key
		}
	}
	return "", ""
}
