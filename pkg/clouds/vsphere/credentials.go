package vsphere

import (
	"bytes"
	"encoding/pem"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/clouds"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/confdoc"
	"github.com/openshift/cluster-cloud-controller-manager-operator/pkg/diagnostic"
)

// credentials returns the files of the vCenters in use, and no others: the provider logs an error for any other file.
func (v *rewriter) credentials() map[string][]byte {
	secret, servers := v.Credentials, v.servers()
	if !v.hasCredentials(servers) {
		return nil
	}
	keys := slices.Sorted(maps.Keys(secret))
	files, needed := map[string][]byte{}, sets.New[string]()
	for _, server := range servers {
		login := v.loginKeys(keys, server)
		if similar := v.rejectSimilar(keys, server, login[0]); similar != nil {
			needed.Insert(similar...)
			continue
		}
		if !isKey(login[0]) {
			v.RejectCredentials("", "the credentials Secret has no keys for vCenter %s, whose address cannot be part of a key: "+
				"add the keys %s", confdoc.Quoted(server), neededKeys(server))
			continue
		}
		needed.Insert(login...)
		needed.Insert(server+sessionURL, server+sessionToken)
		used := v.sessionKeys(server)
		if len(used) == 0 || !slices.ContainsFunc(login, v.hasNoValue) {
			used = append(used, slices.DeleteFunc(login, func(key string) bool {
				return !v.checkKey(key, server, keys, servers)
			})...)
		}
		for _, key := range used {
			files[key] = secret[key]
		}
	}
	for _, key := range slices.DeleteFunc(keys, needed.Has) {
		v.ReportCredentials(key, diagnostic.Unknown, "no vCenter that is used has this key, so it is not delivered: "+
			"remove it once nothing else needs it, or add the vCenter")
	}
	return files
}

// hasCredentials reports whether vCenters are in use and the Secret has keys. It rejects a Secret without any.
func (v *rewriter) hasCredentials(servers []string) bool {
	switch {
	case len(servers) == 0 || v.Credentials == nil && v.CredentialsUnknown:
	case v.Credentials == nil:
		v.RejectCredentials("", clouds.NoCredentialsSecret)
	case len(v.Credentials) == 0:
		v.RejectCredentials("", "the credentials Secret is empty: it needs the keys %s", neededKeys(servers[0]))
	default:
		return true
	}
	return false
}

// checkKey checks the value of a key that a vCenter needs, and reports whether there is a value.
func (v *rewriter) checkKey(key, server string, keys, servers []string) bool {
	value, ok := v.Credentials[key]
	switch {
	case !ok:
		v.RejectCredentials(key, "the credentials Secret has no such key, which vCenter %s needs%s",
			confdoc.Quoted(server), otherKey(keys, servers, key))
	case strings.TrimSpace(string(value)) == "":
		v.RejectCredentials(key, "it is empty, but vCenter %s needs it: write the value", confdoc.Quoted(server))
	default:
		v.checkLogin(key, value)
		return true
	}
	return false
}

func isKey(name string) bool { return len(validation.IsConfigMapKey(name)) == 0 }

// neededKeys describes the keys of a vCenter for a message, in the second form of loginKeys only if necessary.
func neededKeys(server string) string {
	if !isKey(server) {
		return "server_x (with the address), username_x and password_x, where x is any name"
	}
	return server + ".username and " + server + ".password"
}

// checkLogin reports a value with which the login fails, and a user without a domain. A user of vCenter is user@domain
// or domain\user, or a certificate in PEM format whose key is the password (Signer in pkg/common/vclib/connection.go).
func (v *rewriter) checkLogin(key string, value []byte) {
	text := asRead(key, value)
	isUser := strings.HasSuffix(key, ".username") || strings.HasPrefix(key, "username_")
	block, _ := pem.Decode(value)
	switch {
	case confdoc.IsBase64(value):
		v.ReportCredentials(key, diagnostic.Typo, confdoc.TooMuchBase64+", and look at the other keys")
	case block != nil:
	case confdoc.IsGarbled(text):
		v.ReportCredentials(key, diagnostic.Typo, "it is not UTF-8, or starts or ends with an invisible character, such as "+
			"a byte-order mark: write it again")
	case strings.ContainsAny(text, "\r\n") || isUser && strings.TrimSpace(text) != text:
		v.ReportCredentials(key, diagnostic.Typo, tooMuchSpace)
	case isUser:
		v.checkUser(key, text)
	}
}

func (v *rewriter) checkUser(key, text string) {
	if strings.Contains(text, `\\`) {
		v.ReportCredentials(key, diagnostic.Typo, `it has two backslashes in a row: write domain\user with one`)
		return
	}
	v.CheckTyped(key, text)
	v.CheckAssignment(key, text)
	if !confdoc.IsPlaceholder(text) && !strings.ContainsAny(text, `@\`) {
		v.ReportCredentials(key, diagnostic.Doubtful,
			"the user has no domain, so vCenter looks for it in its default domain: write user@domain")
	}
}

const tooMuchSpace = "it has a line break or a blank too many, with which the login fails: write it without"

// asRead returns a value as the provider reads it: it removes one line break from the end, but not in the second form
// of loginKeys.
func asRead(key string, value []byte) string {
	if strings.HasPrefix(key, "username_") || strings.HasPrefix(key, "password_") {
		return string(value)
	}
	return strings.TrimSuffix(string(value), "\n")
}

// The keys of a session manager, each after the server. If there is a URL, the provider clones a session of that
// manager instead of logging in with a user and a password (login in pkg/common/vclib/connection.go).
const (
	sessionURL   = ".vc-session-manager-url"
	sessionToken = ".vc-session-manager-token"
)

// sessionKeys checks the keys of a vCenter's session manager and returns those with a value, or none without a URL.
func (v *rewriter) sessionKeys(server string) []string {
	address, token := server+sessionURL, server+sessionToken
	if v.hasNoValue(address) {
		for _, key := range []string{address, token} {
			if _, ok := v.Credentials[key]; ok {
				v.ReportCredentials(key, diagnostic.Doubtful,
					"it has no effect without a URL in %s: write the URL or remove the key", address)
			}
		}
		return nil
	}
	keys := []string{address}
	if v.hasNoValue(token) {
		v.ReportCredentials(token, diagnostic.Typo, "there is no token for the session manager, and the "+
			"cloud-controller-manager has no token of a ServiceAccount that it could send instead: add it")
	} else {
		keys = append(keys, token)
	}
	for _, key := range keys {
		text := asRead(key, v.Credentials[key])
		switch {
		case strings.ContainsAny(text, " \t\r\n"):
			v.ReportCredentials(key, diagnostic.Typo, tooMuchSpace)
		case key == address && !clouds.IsEndpoint(text):
			v.ReportCredentials(key, diagnostic.Typo, "it is not a URL of the form https://host/path: correct it")
		}
	}
	return keys
}

func (v *rewriter) hasNoValue(key string) bool { return len(bytes.TrimSpace(v.Credentials[key])) == 0 }

func (v *rewriter) servers() []string {
	var servers []string
	for _, e := range v.vCenters() {
		if server := e.Value.Get("server"); server != nil && !v.unknownVCenters {
			servers = append(servers, server.Text)
		}
	}
	return servers
}

// loginKeys returns the keys of a vCenter, which are also the names of the files that the provider reads
// (pkg/common/credentialmanager): <server>.username and <server>.password, or username_x and password_x if server_x
// contains the server. The second form is for IPv6 addresses, which cannot be part of a key.
func (v *rewriter) loginKeys(keys []string, server string) []string {
	for _, key := range keys {
		suffix, found := strings.CutPrefix(key, serverPrefix)
		if found && suffix != "" && string(v.Credentials[key]) == server {
			return secondForm(suffix)
		}
	}
	return []string{server + ".username", server + ".password"}
}

const serverPrefix = "server_"

func secondForm(suffix string) []string {
	return []string{serverPrefix + suffix, "username_" + suffix, "password_" + suffix}
}

// rejectSimilar rejects a key server_x whose value differs from the server only in case and whitespace, unless the
// other form has a user. It returns the keys with this x, nil if there are none.
func (v *rewriter) rejectSimilar(keys []string, server, user string) []string {
	for _, key := range keys {
		text := string(v.Credentials[key])
		suffix, found := strings.CutPrefix(key, serverPrefix)
		isSimilar := found && text != server && strings.EqualFold(strings.TrimSpace(text), server)
		if isSimilar && len(v.Credentials[user]) == 0 {
			v.RejectCredentials(key, "it must be exactly %s, the server of the vCenter: upper and lower case and line breaks "+
				"count", confdoc.Quoted(server))
			return secondForm(suffix)
		}
	}
	return nil
}

// otherKey returns the end of the message about a missing key: what the Secret has instead, and the action.
func otherKey(keys, servers []string, missing string) string {
	kind := path.Ext(missing)
	if kind == "" {
		return ": add it"
	}
	var spare []string
	for _, key := range keys {
		if strings.EqualFold(key, missing) {
			return ": it has " + confdoc.Quoted(key) + ", but upper and lower case count; write the server in one way everywhere"
		}
		server, found := strings.CutSuffix(key, kind)
		if found && !slices.ContainsFunc(servers, func(used string) bool { return strings.EqualFold(used, server) }) {
			spare = append(spare, key)
		}
	}
	if meant := confdoc.Nearest(missing, spare); meant != "" {
		return "; did you mean " + confdoc.Quoted(meant) + "?"
	}
	if len(spare) > 0 {
		return ", only " + quotedFew(spare) + ": add it"
	}
	return ": add it"
}
