package aws

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

const (
	// credentialsFile is the file that AWS_SHARED_CREDENTIALS_FILE names, and the Secret's key for such a file.
	credentialsFile  = "credentials"
	defaultProfile   = "default"
	keyID            = "aws_access_key_id"
	secretKey        = "aws_secret_access_key"
	sessionToken     = "aws_session_token"
	roleARN          = "role_arn"
	sourceProfile    = "source_profile"
	tokenFile        = "web_identity_token_file"
	credentialSource = "credential_source"
	process          = "credential_process"
	tokenAudience    = "sts.amazonaws.com"
	// servicesKey names, in a profile, the section with the endpoints of services.
	servicesKey     = "services"
	servicesSection = "openshift"
	tokenService    = "sts"
)

// loginSettings are the keys of a profile without which a login fails or has another identity.
var loginSettings = []string{keyID, secretKey, sessionToken, roleARN, sourceProfile, tokenFile, credentialSource,
	process}

// halves are the two keys of a key pair, each with the other one.
var halves = [][2]string{{keyID, secretKey}, {secretKey, keyID}}

// credentials returns the files that the provider reads, and the tokens that they refer to. There are none without a
// Secret or with an empty one: the provider then uses the identity of the instance.
func (a *rewriter) credentials() (map[string][]byte, []clouds.Token) {
	if len(a.Credentials) == 0 {
		return nil, nil
	}
	if file := string(a.Credentials[credentialsFile]); strings.TrimSpace(file) != "" {
		return a.sharedFile(file)
	}
	return a.keyPair(), nil
}

// keyPair returns a file with the two keys that the cloud-credential-operator writes.
func (a *rewriter) keyPair() map[string][]byte {
	keys := slices.Sorted(maps.Keys(a.Credentials))
	if !slices.Contains(keys, keyID) && !slices.Contains(keys, secretKey) {
		a.RejectCredentials("", "the credentials Secret has neither the keys %s and %s nor the key %s, only %s; "+
			"correct it, or remove all its keys if the identity of the instances is to be used",
			keyID, secretKey, credentialsFile, strings.Join(keys, ", "))
		return nil
	}
	file := "[" + defaultProfile + "]\n"
	for _, half := range halves {
		value, ok := a.Credentials[half[0]]
		key := strings.TrimSpace(string(value))
		if !ok {
			a.RejectCredentials(half[0], "the credentials Secret has %s but no such key: add it", half[1])
		} else if problem := keyProblem(key); problem != "" {
			a.RejectCredentials(half[0], "%s", problem)
		} else if kind, mistake := keyMistake(half[0], key); mistake != "" {
			a.ReportCredentials(half[0], kind, "%s", mistake)
		}
		file += half[0] + " = " + key + "\n"
	}
	a.ReportCredentials("", diagnostic.Adapted,
		"the file %s with the profile [%s] is made of %s and %s: it is what the cloud-controller-manager reads",
		credentialsFile, defaultProfile, keyID, secretKey)
	return map[string][]byte{credentialsFile: []byte(file)}
}

// keyProblem returns why a text cannot be one half of a key pair, or an empty string if it can.
func keyProblem(text string) string {
	isForeign := func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII || r == 0x7f }
	switch {
	case !utf8.ValidString(text):
		return clouds.NoText
	case text == "":
		return "it is empty: write the key that AWS gave"
	case confdoc.IsBase64([]byte(text)):
		return confdoc.TooMuchBase64
	case strings.ContainsFunc(text, isForeign):
		return "it has a blank, a line break or another character in it that no key of AWS has: write the key alone"
	case strings.ContainsAny(text, `"'`):
		return "it has quotes in it: write the key without them"
	}
	return ""
}

// keyIDPattern matches the ID of an access key; that of a temporary key starts with ASIA
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids).
var keyIDPattern = regexp.MustCompile(`^A[KS]IA[A-Z0-9]{16}$`)

// assignment matches a line of a shell's script. No key of AWS has an underscore.
var assignment = regexp.MustCompile(`^(?i)aws_\w+=`)

// otherID matches the number of an account, and the IDs of users, roles and so on; see keyIDPattern.
var otherID = regexp.MustCompile(`^(\d{12}|A(GPA|IDA|IPA|NPA|NVA|ROA)[A-Z0-9]{16,})$`)

// keyIDCharacters matches the characters of any ID of an access key
// (https://docs.aws.amazon.com/IAM/latest/APIReference/API_AccessKey.html).
var keyIDCharacters = regexp.MustCompile(`^\w*$`)

// isExample reports whether a text is a key of AWS's documentation, such as AKIAIOSFODNN7EXAMPLE.
func isExample(text string) bool {
	return strings.HasSuffix(text, "EXAMPLE") || strings.HasSuffix(text, "EXAMPLEKEY")
}

// keyMistake returns why AWS will probably reject a half of a key pair, which has no session token.
func keyMistake(half, text string) (kind diagnostic.Kind, mistake string) {
	isID := keyIDPattern.MatchString(text)
	switch {
	case assignment.MatchString(text):
		return diagnostic.Typo, "it starts with the name of a variable: write only the value"
	case confdoc.IsPlaceholder(text) || isExample(text):
		return diagnostic.Typo, "it is a placeholder: write the key that AWS gave"
	case half == secretKey && isID:
		return diagnostic.Typo, "it is the ID of a key: write the secret here, and the ID in " + keyID
	case half == keyID:
		return keyIDMistake(text)
	}
	return "", ""
}

// keyIDMistake is keyMistake for the ID.
func keyIDMistake(text string) (kind diagnostic.Kind, mistake string) {
	switch {
	case otherID.MatchString(text):
		return diagnostic.Typo, "it is the number of an account, or the ID of a user or role: write the ID of an access " +
			"key, such as AKIA…"
	case !keyIDCharacters.MatchString(text):
		return diagnostic.Typo, "it has more than letters and digits in it: write only the ID of an access key, such as AKIA…"
	case keyIDPattern.MatchString(text) && strings.HasPrefix(text, "ASIA"):
		return diagnostic.Doubtful, "it is the ID of a temporary key, and the session token that AWS wants with it is not " +
			"delivered: write a permanent key, or a role"
	}
	return "", ""
}

// sharedFile checks a shared credentials file, and returns it with the path of the token that the operator maintains.
func (a *rewriter) sharedFile(text string) (map[string][]byte, []clouds.Token) {
	file := &confdoc.Document{Findings: a.Findings}
	file.Input, file.DataKey = diagnostic.Credentials, credentialsFile
	if strings.HasPrefix(text, "\ufeff") {
		file.ReportAt(confdoc.Position{Line: 1, Column: 1}, diagnostic.Invalid,
			"the text starts with a byte-order mark, which hides the first line: save it as UTF-8 without one")
		return nil, nil
	}
	if confdoc.IsBase64([]byte(text)) {
		a.RejectCredentials(credentialsFile, confdoc.TooMuchBase64)
		return nil, nil
	}
	profiles := readProfiles(text)
	checkLogin(file, profiles)
	for _, p := range profiles {
		if role := p.settings[roleARN]; role != nil && p.name == defaultProfile {
			a.checkPartition(file, role, roleARN+" of profile "+p.shown())
		}
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if isLoneQuote(line) {
			file.ReportAt(confdoc.Position{Line: i + 1, Column: 1}, diagnostic.Invalid, "the value is one quote and "+
				"nothing else, on which the cloud-controller-manager would crash: remove the quote")
		}
	}
	var tokens []clouds.Token
	minted := a.TokenFile()
	for _, p := range profiles {
		token := p.settings[tokenFile]
		if token == nil {
			continue
		}
		tokens = []clouds.Token{{Key: clouds.MintedToken, Audience: tokenAudience}}
		if token.Text != minted {
			lines[token.Line-1] = tokenFile + " = " + minted
			file.Reportf(token, diagnostic.Adapted, "%s is set to %q, where the operator keeps a fresh token", tokenFile, minted)
		}
	}
	lines = a.addTokenService(file, profiles, lines)
	return map[string][]byte{credentialsFile: []byte(strings.Join(lines, "\n"))}, tokens
}

// addTokenService adds Infrastructure's endpoint of STS to the default profile if a profile takes a role. The provider
// has no other way to override the STS that issues the keys of a role: it reads no other file, and the SDK applies a
// profile's endpoint_url only after the login. An endpoint that the user set stays.
func (a *rewriter) addTokenService(file *confdoc.Document, profiles []*profile, lines []string) []string {
	endpoint := slices.IndexFunc(a.status.ServiceEndpoints, func(e configv1.AWSServiceEndpoint) bool {
		return strings.EqualFold(e.Name, tokenService)
	})
	takesRole := slices.ContainsFunc(profiles, func(p *profile) bool { return p.value(roleARN) != "" })
	main := slices.IndexFunc(profiles, func(p *profile) bool { return p.name == defaultProfile })
	if endpoint < 0 || !takesRole || main < 0 || profiles[main].has(servicesKey) {
		return lines
	}
	header := profiles[main].header
	file.Reportf(header, diagnostic.Adapted, "the endpoint of STS is added to the profile %s: %s has it",
		profiles[main].shown(), endpointsField)
	lines[header.Line-1] += "\n" + servicesKey + " = " + servicesSection
	return append(lines, "["+servicesKey+" "+servicesSection+"]", tokenService+" =",
		"  endpoint_url = "+a.status.ServiceEndpoints[endpoint].URL)
}

func withoutDefault(headers []string) (action string) {
	if len(headers) == 0 {
		return "write that line above the keys"
	}
	return "there is only " + confdoc.JoinFew(headers) + "; rename the right one"
}

// checkLogin reports the first problem that keeps the provider from logging in with the default profile and the
// profiles that it refers to. The rules are those of github.com/aws/aws-sdk-go-v2/config v1.29.14 (setFromIniSections
// in shared_config.go).
func checkLogin(file *confdoc.Document, profiles []*profile) {
	byName, seen := map[string]*profile{}, sets.New[string]()
	var headers []string
	for _, p := range profiles {
		byName[p.name] = p
		headers = append(headers, p.shown())
	}
	p := byName[defaultProfile]
	if p == nil {
		file.Rejectf(nil, "there is no profile [%s], which is the one that the cloud-controller-manager uses: %s",
			defaultProfile, withoutDefault(headers))
	}
	for ; p != nil; p = byName[p.value(sourceProfile)] {
		key, problem := p.problem()
		source := p.value(sourceProfile)
		if problem == "" {
			p.reportMistakes(file, seen)
		}
		switch {
		case problem != "":
			problem = "profile " + p.shown() + " " + problem
		case source == "" || len(seen) > 0 && p.has(keyID):
			return
		case seen.Has(p.name):
			key = sourceProfile
			problem = "profile " + p.shown() + " is its own source_profile and has no key pair: add one, or name another profile"
		case byName[source] == nil:
			key = sourceProfile
			problem = "source_profile names a profile that is not in this file: " +
				"add the section or correct the name; there is " + confdoc.JoinFew(headers)
		}
		if problem != "" {
			file.Rejectf(cmp.Or(p.settings[key], p.header), "%s", problem)
			return
		}
		seen.Insert(p.name)
	}
}

// reportMistakes reports values that AWS will probably reject, unless it has seen the profile. The SDK takes no role
// with the key pair of a source profile, which is seen after another one.
func (p *profile) reportMistakes(file *confdoc.Document, seen sets.Set[string]) {
	if seen.Has(p.name) {
		return
	}
	for _, half := range halves {
		key := half[0]
		kind, mistake := keyMistake(key, p.value(key))
		if kind == diagnostic.Typo || mistake != "" && p.value(sessionToken) == "" {
			file.Reportf(p.settings[key], kind, "%s of profile %s: %s", key, p.shown(), mistake)
		}
	}
	p.reportUnknown(file)
	isUsed := p.value(roleARN) != "" && !(len(seen) > 0 && p.has(keyID))
	if isUsed && !rolePattern.MatchString(p.value(roleARN)) {
		file.Reportf(p.settings[roleARN], diagnostic.Typo, "%s of profile %s is not %s", roleARN, p.shown(), aRole)
	}
}

// reportUnknown reports keys that resemble those of a login. The SDK ignores them, as it does any unknown key.
func (p *profile) reportUnknown(file *confdoc.Document) {
	for _, name := range slices.Sorted(maps.Keys(p.settings)) {
		if meant := confdoc.Nearest(name, loginSettings); meant != "" && !p.has(meant) {
			file.Reportf(p.settings[name], diagnostic.Typo, "unknown key %q in profile %s; did you mean %q?", name, p.shown(),
				meant)
		}
	}
}

func (p *profile) problem() (key, problem string) {
	for _, key := range []string{keyID, secretKey, roleARN, sourceProfile, tokenFile} {
		if strings.Contains(p.value(key), "\n") {
			return key, "has " + key + " with more in the next line, because that one is indented: remove the blanks before it"
		}
	}
	for _, half := range halves {
		switch key := half[0]; {
		case !p.has(key):
		case !p.has(half[1]):
			return key, "has " + key + " but no " + half[1] + ": add it"
		case keyProblem(p.value(key)) != "":
			return key, "has a wrong " + key + ": " + keyProblem(p.value(key))
		}
	}
	return p.wayProblem()
}

func (p *profile) wayProblem() (key, problem string) {
	ways := []string{sourceProfile, credentialSource, process, tokenFile}
	ways = slices.DeleteFunc(ways, func(way string) bool { return p.value(way) == "" })
	hasRole := p.value(roleARN) != ""
	switch {
	case len(ways) > 1:
		return ways[1], "has both " + strings.Join(ways, " and ") + ": only one of them is allowed; remove the others"
	case len(ways) == 0 && (p.has(keyID) || hasRole && p.name == defaultProfile):
		return "", "" // without a key pair the instance takes the role
	case len(ways) == 0:
		return "", fmt.Sprintf("has neither %s and %s nor %s and %s: add them", keyID, secretKey, roleARN, tokenFile)
	case ways[0] == process:
		return process, "has " + process + ", but the program will not exist for the cloud-controller-manager: " +
			"write keys, or a role_arn with " + tokenFile
	case !hasRole:
		return ways[0], "has " + ways[0] + " but no role_arn: add the role"
	case !slices.Contains([]string{"", "Environment", "Ec2InstanceMetadata", "EcsContainer"}, p.value(credentialSource)):
		return credentialSource, "has an unknown " + credentialSource + ": write Ec2InstanceMetadata"
	}
	return "", ""
}
