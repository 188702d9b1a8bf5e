package aws

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// credentialsFile is the file that AWS_SHARED_CREDENTIALS_FILE names, and the key of the Secret with such a file.
	credentialsFile  = "credentials"
	defaultProfile   = "default"
	keyID            = "aws_access_key_id"
	secretKey        = "aws_secret_access_key"
	roleARN          = "role_arn"
	sourceProfile    = "source_profile"
	tokenFile        = "web_identity_token_file"
	credentialSource = "credential_source"
	process          = "credential_process"
	tokenAudience    = "sts.amazonaws.com"
)

// halves are the two keys of a pair, each with the other one.
var halves = [][2]string{{keyID, secretKey}, {secretKey, keyID}}

// credentials returns the files that the provider reads, and the tokens that they refer to. Without a Secret, or with
// an empty one, there are none: the provider uses the identity of the instance.
func (a *rewriter) credentials() (map[string][]byte, []clouds.Token) {
	secret := a.src.Credentials
	if len(secret) == 0 {
		return nil, nil
	}
	if file := string(secret[credentialsFile]); strings.TrimSpace(file) != "" {
		return a.sharedFile(file)
	}
	return a.keyPair(), nil
}

// keyPair returns a file with the two keys that the cloud-credential-operator writes.
func (a *rewriter) keyPair() map[string][]byte {
	secret := a.src.Credentials
	report := func(key string, kind diagnostic.Kind, format string, args ...any) {
		clouds.ReportCredentials(&a.findings, key, kind, fmt.Sprintf(format, args...))
	}
	_, hasID := secret[keyID]
	_, hasKey := secret[secretKey]
	if !hasID && !hasKey {
		report("", diagnostic.Invalid, "the credentials Secret has neither the keys %s and %s nor the key %s, only %s; "+
			"correct it, or remove all its keys if the identity of the instances is to be used",
			keyID, secretKey, credentialsFile, strings.Join(slices.Sorted(maps.Keys(secret)), ", "))
		return nil
	}
	file := "[" + defaultProfile + "]\n"
	for _, half := range halves {
		key := strings.TrimSpace(string(secret[half[0]]))
		if _, ok := secret[half[0]]; !ok {
			report(half[0], diagnostic.Invalid, "the credentials Secret has %s but no such key: add it", half[1])
		} else if problem := keyProblem(key); problem != "" {
			report(half[0], diagnostic.Invalid, "%s", problem)
		}
		file += half[0] + " = " + key + "\n"
	}
	report("", diagnostic.Adapted,
		"the file %s with the profile [%s] is made of %s and %s: it is what the cloud-controller-manager reads",
		credentialsFile, defaultProfile, keyID, secretKey)
	return map[string][]byte{credentialsFile: []byte(file)}
}

// keyProblem returns why a text cannot be one half of a key pair; empty where it can.
func keyProblem(text string) string {
	isForeign := func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }
	switch {
	case text == "":
		return "it is empty: write the key that AWS gave"
	case strings.ContainsFunc(text, isForeign):
		return "it has a blank, a line break or another character in it that no key of AWS has: write the key alone"
	case strings.ContainsAny(text, `"'`):
		return "it has quotes in it: write the key without them"
	}
	return ""
}

// sharedFile checks a shared credentials file, and returns it with the path of the token that the operator keeps.
func (a *rewriter) sharedFile(text string) (map[string][]byte, []clouds.Token) {
	file := &confdoc.Document{Findings: &a.findings}
	file.Input, file.DataKey = diagnostic.Credentials, credentialsFile
	if strings.HasPrefix(text, "\ufeff") {
		file.Report(1, 1, diagnostic.Invalid,
			"the text starts with a byte-order mark, which hides the first line: save it as UTF-8 without one")
		return nil, nil
	}
	profiles := readProfiles(text)
	checkLogin(file, profiles)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if isLoneQuote(line) {
			file.Report(i+1, 1, diagnostic.Invalid, "the value is one quote and nothing else, "+
				"on which the cloud-controller-manager would crash: remove the quote")
		}
	}
	var tokens []clouds.Token
	ours := path.Join(a.src.Paths.Tokens, clouds.MintedToken)
	for _, p := range profiles {
		token := p.settings[tokenFile]
		if token == nil {
			continue
		}
		tokens = []clouds.Token{{Key: clouds.MintedToken, Audience: tokenAudience}}
		if token.Text != ours {
			lines[token.Line-1] = tokenFile + " = " + ours
			file.Reportf(token, diagnostic.Adapted, "%s is set to %q, where the operator keeps a fresh token",
				tokenFile, ours)
		}
	}
	return map[string][]byte{credentialsFile: []byte(strings.Join(lines, "\n"))}, tokens
}

// checkLogin reports the first problem that keeps the provider from logging in with the default profile and the
// profiles that it refers to. The rules are those of github.com/aws/aws-sdk-go-v2/config v1.29.14 (setFromIniSections
// in shared_config.go).
func checkLogin(file *confdoc.Document, profiles []*profile) {
	byName, seen := map[string]*profile{}, sets.New[string]()
	var headers []string
	for _, p := range profiles {
		byName[p.name] = p
		headers = append(headers, "["+confdoc.Cut(p.name)+"]")
	}
	p := byName[defaultProfile]
	if p == nil {
		action := "write that line above the keys"
		if len(profiles) > 0 {
			action = "there is only " + confdoc.JoinFew(headers) + "; rename the right one"
		}
		file.Reportf(nil, diagnostic.Invalid,
			"there is no profile [%s], which is the one that the cloud-controller-manager uses: %s", defaultProfile, action)
	}
	for p != nil {
		problem, key := p.problem()
		source := p.value(sourceProfile)
		next := byName[source]
		switch {
		case problem != "":
			problem = fmt.Sprintf("profile [%s] %s", confdoc.Cut(p.name), problem)
		case source == "" || len(seen) > 0 && p.has(keyID):
			return
		case seen.Has(p.name):
			key, problem = sourceProfile, fmt.Sprintf(
				"profile [%s] is its own source_profile and has no key pair: add one, or name another profile", confdoc.Cut(p.name))
		case next == nil:
			key, problem = sourceProfile, "source_profile names a profile that is not in this file: "+
				"add the section or correct the name; there is "+confdoc.JoinFew(headers)
		}
		if problem != "" {
			file.ReportAt(cmp.Or(p.settings[key], p.header), diagnostic.Invalid, problem)
			return
		}
		seen.Insert(p.name)
		p = next
	}
}

// problem returns what is wrong with one profile, and at which key.
func (p *profile) problem() (problem, key string) {
	for _, key := range []string{keyID, secretKey, roleARN, sourceProfile, tokenFile} {
		if strings.Contains(p.value(key), "\n") {
			return "has " + key + " with more in the next line, because that one is indented: " +
				"remove the blanks before it", key
		}
	}
	for _, half := range halves {
		switch key := half[0]; {
		case !p.has(key):
		case !p.has(half[1]):
			return "has " + key + " but no " + half[1] + ": add it", key
		case keyProblem(p.value(key)) != "":
			return "has a wrong " + key + ": " + keyProblem(p.value(key)), key
		}
	}
	return p.wayProblem()
}

// wayProblem returns what is wrong with the way in which a profile logs in, and at which key.
func (p *profile) wayProblem() (problem, key string) {
	ways := []string{sourceProfile, credentialSource, process, tokenFile}
	ways = slices.DeleteFunc(ways, func(way string) bool { return p.value(way) == "" })
	hasRole := p.value(roleARN) != ""
	switch {
	case len(ways) > 1:
		return "has both " + strings.Join(ways, " and ") + ": only one of them is allowed; remove the others", ways[1]
	case len(ways) == 0 && (p.has(keyID) || hasRole && p.name == defaultProfile):
		return "", "" // without a pair the instance takes the role
	case len(ways) == 0:
		return fmt.Sprintf("has neither %s and %s nor %s and %s: add them", keyID, secretKey, roleARN, tokenFile), ""
	case ways[0] == process:
		return "has " + process + ", but the program will not exist for the cloud-controller-manager: " +
			"write keys, or a role_arn with " + tokenFile, process
	case !hasRole:
		return "has " + ways[0] + " but no role_arn: add the role", ways[0]
	case !slices.Contains([]string{"", "Environment", "Ec2InstanceMetadata", "EcsContainer"}, p.value(credentialSource)):
		return "has an unknown " + credentialSource + ": write Ec2InstanceMetadata", credentialSource
	}
	return "", ""
}
