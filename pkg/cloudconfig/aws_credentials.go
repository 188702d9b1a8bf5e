package cloudconfig

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// awsCredentialsFile is the file that AWS_SHARED_CREDENTIALS_FILE names, and the key of the Secret that holds such a file.
	awsCredentialsFile  = "credentials"
	awsKeyID            = "aws_access_key_id"
	awsSecretKey        = "aws_secret_access_key"
	awsTokenFile        = "web_identity_token_file"
	awsCredentialSource = "credential_source"
	awsProcess          = "credential_process"
	awsProfileInUse     = "default"
	awsTokenAudience    = "sts.amazonaws.com"

	// mintedToken is the file with the token of the cloud-controller-manager's ServiceAccount.
	mintedToken = "token"
)

// credentials are the files that the provider gets, and the tokens that they ask for. Without a Secret, or with one that
// has no keys, there are none: the provider uses the identity of the instance.
func (a *aws) credentials() (map[string][]byte, []Token) {
	secret := a.src.Credentials
	if len(secret) == 0 {
		return nil, nil
	}
	if file := secret[awsCredentialsFile]; strings.TrimSpace(string(file)) != "" {
		return a.sharedFile(string(file))
	}
	return a.keyPair(), nil
}

func (a *aws) reportCredentials(key string, line, column int, kind diagnostic.Kind, message string) {
	a.findings.Add(diagnostic.Diagnostic{Cause: diagnostic.Credentials, Key: key, Line: line, Column: column, Kind: kind, Message: message})
}

// keyPair makes the file out of the two keys that the cloud-credential-operator writes.
func (a *aws) keyPair() map[string][]byte {
	secret := a.src.Credentials
	id, hasID := secret[awsKeyID]
	key, hasKey := secret[awsSecretKey]
	switch {
	case !hasID && !hasKey:
		has := strings.Join(slices.Sorted(maps.Keys(secret)), ", ")
		a.reportCredentials("", 0, 0, diagnostic.Invalid, fmt.Sprintf("the credentials Secret has neither the keys %s and %s nor the key %s, only %s; "+
			"correct it, or remove all its keys if the identity of the instances is to be used", awsKeyID, awsSecretKey, awsCredentialsFile, has))
		return nil
	case !hasID:
		a.reportCredentials(awsKeyID, 0, 0, diagnostic.Invalid, "the credentials Secret has "+awsSecretKey+" but no such key: add it")
		return nil
	case !hasKey:
		a.reportCredentials(awsSecretKey, 0, 0, diagnostic.Invalid, "the credentials Secret has "+awsKeyID+" but no such key: add it")
		return nil
	}
	texts := map[string]string{awsKeyID: strings.TrimSpace(string(id)), awsSecretKey: strings.TrimSpace(string(key))}
	for _, name := range []string{awsKeyID, awsSecretKey} {
		if problem := awsKeyProblem(texts[name]); problem != "" {
			a.reportCredentials(name, 0, 0, diagnostic.Invalid, problem)
		}
	}
	a.reportCredentials("", 0, 0, diagnostic.Adapted, fmt.Sprintf("the file %s with the profile [%s] is made of %s and %s: it is what the cloud-controller-manager reads",
		awsCredentialsFile, awsProfileInUse, awsKeyID, awsSecretKey))
	return map[string][]byte{awsCredentialsFile: fmt.Appendf(nil, "[%s]\n%s = %s\n%s = %s\n",
		awsProfileInUse, awsKeyID, texts[awsKeyID], awsSecretKey, texts[awsSecretKey])}
}

// awsKeyProblem says why a text cannot be one half of a key pair.
func awsKeyProblem(text string) string {
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
func (a *aws) sharedFile(text string) (map[string][]byte, []Token) {
	if strings.HasPrefix(text, "\ufeff") {
		a.reportCredentials(awsCredentialsFile, 1, 1, diagnostic.Invalid, "the text starts with a byte-order mark, which hides the first line: save it as UTF-8 without one")
		return nil, nil
	}
	profiles := readAWSProfiles(text)
	if used := a.profileInUse(profiles); used != nil {
		a.checkProfile(profiles, used)
	}
	var tokens []Token
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if isLoneQuote(line) {
			a.reportCredentials(awsCredentialsFile, i+1, 1, diagnostic.Invalid, "the value is one quote and nothing else, on which the cloud-controller-manager would crash: remove the quote")
		}
	}
	ours := path.Join(a.src.Paths.Tokens, mintedToken)
	for _, p := range profiles {
		s, ok := p.settings[awsTokenFile]
		if !ok {
			continue
		}
		tokens = []Token{{Key: mintedToken, Audience: awsTokenAudience}}
		if s.value == ours {
			continue
		}
		lines[s.line-1] = awsTokenFile + " = " + ours
		a.reportCredentials(awsCredentialsFile, s.line, s.column, diagnostic.Adapted, fmt.Sprintf("%s is set to %q, where the operator keeps a fresh token", awsTokenFile, ours))
	}
	return map[string][]byte{awsCredentialsFile: []byte(strings.Join(lines, "\n"))}, tokens
}

// profileInUse is the one that the provider asks for.
func (a *aws) profileInUse(profiles []*awsProfile) *awsProfile {
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
	a.reportCredentials(awsCredentialsFile, 0, 0, diagnostic.Invalid, message)
	return nil
}

// checkProfile follows source_profile and reports what keeps the provider from logging in. The rules are those of
// github.com/aws/aws-sdk-go-v2/config v1.29.14 (setFromIniSections in shared_config.go).
func (a *aws) checkProfile(profiles []*awsProfile, p *awsProfile) {
	seen, byName := map[string]bool{}, map[string]*awsProfile{}
	for _, p := range profiles {
		byName[p.name] = p
	}
	for {
		if problem, key := awsProfileProblem(p); problem != "" {
			at := awsSetting{line: p.line, column: p.column}
			if p.has(key) {
				at = p.settings[key]
			}
			a.reportCredentials(awsCredentialsFile, at.line, at.column, diagnostic.Invalid, fmt.Sprintf("profile [%s] %s", cut(p.name), problem))
			return
		}
		source := p.settings["source_profile"]
		again := seen[p.name]
		if source.value == "" || len(seen) > 0 && p.value(awsKeyID) != "" {
			return
		}
		if again {
			a.reportCredentials(awsCredentialsFile, source.line, source.column, diagnostic.Invalid, fmt.Sprintf("profile [%s] is its own source_profile and has no key pair: add one, or name another profile", cut(p.name)))
			return
		}
		seen[p.name] = true
		if p = byName[source.value]; p == nil {
			a.reportCredentials(awsCredentialsFile, source.line, source.column, diagnostic.Invalid, fmt.Sprintf(
				"source_profile names a profile that is not in this file: add the section or correct the name; there is %s", awsHeaders(profiles)))
			return
		}
	}
}

// awsHeaders are the profiles as messages show them, but not too many.
func awsHeaders(profiles []*awsProfile) string {
	const most = 10
	var headers []string
	for _, p := range profiles[:min(most, len(profiles))] {
		headers = append(headers, "["+cut(p.name)+"]")
	}
	if len(profiles) > most {
		headers = append(headers, "…")
	}
	return strings.Join(headers, ", ")
}

// awsProfileProblem says what is wrong with one profile, and at which key.
func awsProfileProblem(p *awsProfile) (problem, key string) {
	for _, key := range []string{awsKeyID, awsSecretKey, "role_arn", "source_profile", awsTokenFile} {
		if strings.Contains(p.value(key), "\n") {
			return "has " + key + " with more in the next line, because that one is indented: remove the blanks before it", key
		}
	}
	if problem, key = awsPairProblem(p); problem != "" {
		return problem, key
	}
	return awsWayProblem(p)
}

// awsWayProblem says what is wrong with the way in which a profile logs in.
func awsWayProblem(p *awsProfile) (problem, key string) {
	ways := slices.DeleteFunc([]string{"source_profile", awsCredentialSource, awsProcess, awsTokenFile}, func(way string) bool { return p.value(way) == "" })
	role := p.value("role_arn") != ""
	switch {
	case len(ways) > 1:
		return "has both " + strings.Join(ways, " and ") + ": only one of them is allowed; remove the others", ways[1]
	case len(ways) == 0 && (p.has(awsKeyID) || role && p.name == awsProfileInUse): // without a pair the instance takes the role
		return "", ""
	case len(ways) == 0:
		return "has neither " + awsKeyID + " and " + awsSecretKey + " nor role_arn and " + awsTokenFile + ": add them", ""
	case ways[0] == awsProcess:
		return "has " + awsProcess + ", but the program will not exist for the cloud-controller-manager: write keys, or a role_arn with " + awsTokenFile, awsProcess
	case !role:
		return "has " + ways[0] + " but no role_arn: add the role", ways[0]
	}
	if source := p.value(awsCredentialSource); source != "" && !slices.Contains([]string{"Environment", "Ec2InstanceMetadata", "EcsContainer"}, source) {
		return "has an unknown " + awsCredentialSource + ": write Ec2InstanceMetadata", awsCredentialSource
	}
	return "", ""
}

// awsPairProblem says what is wrong with a key pair, if there is one.
func awsPairProblem(p *awsProfile) (problem, key string) {
	hasID, hasKey := p.has(awsKeyID), p.has(awsSecretKey)
	switch {
	case hasID && !hasKey:
		return "has " + awsKeyID + " but no " + awsSecretKey + ": add it", awsKeyID
	case hasKey && !hasID:
		return "has " + awsSecretKey + " but no " + awsKeyID + ": add it", awsSecretKey
	case !hasID:
		return "", ""
	}
	for _, key := range []string{awsKeyID, awsSecretKey} {
		if problem := awsKeyProblem(p.value(key)); problem != "" {
			return "has a wrong " + key + ": " + problem, key
		}
	}
	return "", ""
}
