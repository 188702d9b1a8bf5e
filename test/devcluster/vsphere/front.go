package vsphere

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vim25/soap"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/devcluster/internal/standin"
)

const (
	// restSession is the header and the cookie with the session of a request to the REST API.
	restSession = "vmware-api-session-id"
)

// request is what the front has to know of a request.
type request struct {
	endpoint string
	isSOAP   bool
	// isLogin says that the request begins a session, of the user, who may be empty. Only SOAP's has the password.
	isLogin        bool
	user, password string
}

// handler records each request and passes it on to the simulator.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parsed, err := parse(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if _, pattern := s.model.Service.ServeMux.Handler(r); pattern == "" {
			s.NotServed(parsed.refuse)(w, r)
			return
		}
		s.Observe(parsed.endpoint, parsed.refuse, func(w http.ResponseWriter, r *http.Request) {
			s.pass(parsed, w, r)
		}, w, r)
	})
}

// pass lets the simulator answer. It does not see sessions of a former user.
func (s *Server) pass(parsed request, w http.ResponseWriter, r *http.Request) {
	if parsed.isLogin {
		standin.Identify(r, parsed.user)
		if parsed.isSOAP && !s.isLogin(parsed.user, parsed.password) {
			// The simulator's message is not a vCenter's.
			writeFault(w, invalidLogin)
			return
		}
		answer := &answerRecorder{ResponseWriter: w}
		s.model.Service.ServeMux.ServeHTTP(answer, r)
		if session := answer.session(); session != "" {
			s.Issue(session, parsed.user, 0)
		}
		return
	}
	session := r.Header.Get(restSession)
	if cookie, err := r.Cookie(soap.SessionCookieName); session == "" && err == nil {
		session = cookie.Value
	}
	user, valid := s.Owner(session)
	standin.Identify(r, user)
	switch {
	case valid:
	case user != "" && parsed.isSOAP:
		// The simulator reads properties for anybody.
		writeFault(w, notAuthenticated)
		return
	default:
		r.Header.Del("Cookie")
		r.Header.Del(restSession)
	}
	s.model.Service.ServeMux.ServeHTTP(w, r)
}

// fault is an answer of a vCenter that rejects a user.
type fault struct{ name, message, detail string }

var (
	notAuthenticated = fault{"NotAuthenticated", "The session is not authenticated.",
		`<object type="SessionManager">SessionManager</object><privilegeId>System.View</privilegeId>`}
	noPermission = fault{"NoPermission", "Permission to perform this operation was denied.",
		`<object type="Folder">group-d1</object><privilegeId>System.View</privilegeId>`}
	invalidLogin = fault{"InvalidLogin", "Cannot complete login due to an incorrect user name or password.", ""}
)

func writeFault(w http.ResponseWriter, f fault) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	// The client may be gone.
	_, _ = fmt.Fprintf(w, xml.Header+`<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" `+
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><soapenv:Fault>`+
		`<faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring>`+
		`<detail><%sFault xmlns="urn:vim25" xsi:type="%[2]s">%s</%[2]sFault></detail>`+
		`</soapenv:Fault></soapenv:Body></soapenv:Envelope>`, f.message, f.name, f.detail)
}

// parse returns the endpoint of a request, whose body can be read again afterwards.
func parse(r *http.Request) (request, error) {
	if !strings.HasPrefix(r.URL.Path, "/sdk") || r.Method != http.MethodPost {
		parsed := request{endpoint: r.Method + " " + withoutIDs(r.URL.Path)}
		if parsed.endpoint == RESTSession {
			parsed.isLogin = true
			parsed.user, _, _ = r.BasicAuth()
		}
		return parsed, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, standin.MaxBody))
	if err != nil {
		return request{}, fmt.Errorf("request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return parseSOAP(body)
}

// withoutIDs replaces the identifiers in a path of the REST API.
func withoutIDs(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "id:") {
			parts[i] = "{id}"
		}
	}
	return strings.Join(parts, "/")
}

// parseSOAP returns the method of a request, which is the one element in the body of the envelope.
func parseSOAP(envelope []byte) (request, error) {
	decoder := xml.NewDecoder(bytes.NewReader(envelope))
	for inBody := false; ; {
		token, err := decoder.Token()
		if err != nil {
			return request{}, fmt.Errorf("SOAP request: %w", err)
		}
		start, isStart := token.(xml.StartElement)
		switch {
		case !isStart:
		case !inBody:
			inBody = start.Name.Local == "Body"
		case start.Name.Local != Login:
			return request{endpoint: start.Name.Local, isSOAP: true}, nil
		default:
			var login struct {
				UserName string `xml:"userName"`
				Password string `xml:"password"`
			}
			if err := decoder.DecodeElement(&login, &start); err != nil {
				return request{}, fmt.Errorf("SOAP request: %w", err)
			}
			return request{endpoint: Login, isSOAP: true, isLogin: true, user: login.UserName, password: login.Password}, nil
		}
	}
}

// answerRecorder keeps the answer to a login.
type answerRecorder struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write implements http.ResponseWriter.
func (a *answerRecorder) Write(content []byte) (int, error) {
	a.body.Write(content)
	return a.ResponseWriter.Write(content)
}

// session returns the key of the session that a login began, empty if it was rejected. SOAP has it in a cookie, the
// REST API in the body.
func (a *answerRecorder) session() string {
	for _, cookie := range (&http.Response{Header: a.Header()}).Cookies() {
		if cookie.Name == soap.SessionCookieName {
			return cookie.Value
		}
	}
	var answer struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal(a.body.Bytes(), &answer); err != nil {
		return ""
	}
	return answer.Value
}
