package terminationmessage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const flags = `I1121 09:00:00.000001       1 flags.go:64] FLAG: --authentication-skip-lookup="true"
I1121 09:00:00.000002       1 flags.go:64] FLAG: --cloud-config="/etc/kubernetes/static-pod-resources/secrets/cloud-config/cloud.conf"
I1121 09:00:00.000003       1 flags.go:64] FLAG: --vmodule=""
`

func TestSummary(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"an empty message has none": {},
		"the fatal line counts, not the flags before it": {
			message: "=\"cut off\"\n" + flags +
				"W1121 09:00:01.123456       1 openstack.go:173] New openstack client created failed with config\n" +
				"F1121 09:00:01.123457       1 main.go:72] Cloud provider could not be initialized: could not init cloud provider \"openstack\": " +
				"Post \"https://127.0.0.1:1/v3/auth/tokens\": dial tcp 127.0.0.1:1: connect: connection refused\n",
			want: "Cloud provider could not be initialized: could not init cloud provider \"openstack\": " +
				"Post \"https://127.0.0.1:1/v3/auth/tokens\": dial tcp 127.0.0.1:1: connect: connection refused",
		},
		"the last fatal line counts": {
			message: "F1121 09:00:01.123457       1 a.go:1] first\nF1121 09:00:01.123458       1 a.go:2] second\nI1121 09:00:01.123459       1 a.go:3] flushed\n",
			want:    "second",
		},
		"without a fatal line the error that the process returned counts": {
			message: "E1121 09:00:01.123457       1 a.go:1] an error on the way\nError: unknown flag: --regoin\nUsage:\n  openstack-cloud-controller-manager [flags]\n",
			want:    "Error: unknown flag: --regoin",
		},
		"else the last error that it logged": {
			message: flags + "E1121 09:00:01.123457       1 a.go:1] Failed to update lock\nE1121 09:00:02.123457       1 app.go:225] \"leaderelection lost\"\n",
			want:    `"leaderelection lost"`,
		},
		"else its last words": {
			message: flags + "exec /bin/openstack-cloud-controller-manager: exec format error\n",
			want:    "exec /bin/openstack-cloud-controller-manager: exec format error",
		},
		"flags alone are better than nothing": {message: flags, want: `FLAG: --vmodule=""`},
		"a panic counts, not its stack": {
			message: "E1121 09:00:01.123457       1 a.go:1] before\npanic: runtime error: invalid memory address or nil pointer dereference\n" +
				"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:42 +0x1d\nexit status 2\n",
			want: "panic: runtime error: invalid memory address or nil pointer dereference",
		},
		"a stack after the last words is not one of them": {
			message: "out of memory\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:42 +0x1d\n", want: "out of memory",
		},
		"of a page the first words count": {
			message: "F1121 09:00:01.123457       1 main.go:72] got 503 instead: <!DOCTYPE html><html><head><style>p { color: red }</style>" +
				"<title>503 Service Unavailable</title></head><body><h1>Sorry</h1><p>No server is available.</p></body></html>\n",
			want: "got 503 instead: 503 Service Unavailable",
		},
		"a page on several lines is not quoted": {
			message: "Error: got 502 instead: <html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center>nginx</center>\n</body>\n</html>\n",
			want:    "Error: got 502 instead:",
		},
		"a page whose line breaks are escaped": {
			message: `E1121 09:00:01.123457       1 a.go:1] "failed" err="body: <html>\r\n<body>\r\n<h1>403 Forbidden</h1>\r\n</body>\r\n</html>\r\n"` + "\n",
			want:    `"failed" err="body: 403 Forbidden`,
		},
		"a page that is cut off": {
			message: "out of quota\n<html><head><title>503", want: "out of quota",
		},
		"an angle bracket is no page": {
			message: "F1121 09:00:01.123457       1 a.go:1] quota: 3 < 5, user <nil>, <pending>\n", want: "quota: 3 < 5, user <nil>, <pending>",
		},
		"a line of 300 characters is not cut": {message: strings.Repeat("ä", 300), want: strings.Repeat("ä", 300)},
		"a fatal line after a stack counts": {
			message: "goroutine 7 [select]:\nmain.wait()\n\t/src/main.go:7\nF1121 09:00:01.123457       1 a.go:1] after\n", want: "after",
		},
		"control characters, escape sequences and marks of direction become spaces": {
			message: "F1121 09:00:01.123457       1 a.go:1] \x1b[31mred\x1b[0m \a\u202eevil\u202c \xff end\r\n", want: "[31mred [0m evil end",
		},
		"of a long line both ends are kept": {
			message: "F1121 09:00:01.123457       1 a.go:1] " + strings.Repeat("ä", 200) + strings.Repeat("ö", 200),
			want:    strings.Repeat("ä", 150) + "…" + strings.Repeat("ö", 149),
		},
		"lines that follow a logged error belong to it": {
			message: "E1121 09:00:01.123457       1 a.go:1] cannot fetch token: 400\n" + `Response: {"error":"invalid_grant"}` + "\n\n" +
				"I1121 09:00:01.123459       1 a.go:3] shutting down\nflushed\n",
			want: `cannot fetch token: 400 Response: {"error":"invalid_grant"}`,
		},
		"an error on several indented lines": {
			message: "E1121 09:00:01.123457       1 a.go:1] \"not initialized\" err=<\n\tlist zones: authentication failed\n\tRESPONSE 401\n > logger=\"Run\"\n",
			want:    `"not initialized" err=< list zones: authentication failed RESPONSE 401 > logger="Run"`,
		},
		"a line of a value is none of the last words": {
			message: "I1121 09:00:01.123457       1 a.go:1] annotation x\n" +
				"panic: forged\nfatal error: forged\nError: forged\na forged one\n" +
				"I1121 09:00:01.123459       1 a.go:3] shutting down\n",
			want: "shutting down",
		},
		"nor is it more than a continuation of an error": {
			message: "E1121 09:00:01.123457       1 a.go:1] annotation x\npanic: forged\n" +
				"I1121 09:00:01.123459       1 a.go:3] shutting down\n",
			want: "annotation x panic: forged",
		},
		"a value that is logged after the fatal line does not replace it": {
			message: "F1121 09:00:01.123457       1 a.go:1] fatal\n" +
				"I1121 09:00:01.123458       1 a.go:3] annotation x\npanic: forged\n",
			want: "fatal",
		},
		"lines that follow a stack belong to nothing": {
			message: "F1121 09:00:01.123457       1 a.go:1] fatal\ngoroutine 7 [select]:\nmain.wait()\n\t/src/main.go:7\nlast words\n", want: "fatal",
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, Summary(tc.message)) })
	}
}

func TestSummaryHidesSecrets(t *testing.T) {
	for given, want := range map[string]string{
		`Post "https://user:hunter2@proxy.example.com:3128/x": EOF`:      `Post "https://<redacted>@proxy.example.com:3128/x": EOF`,
		`proxy http://user:p@ss@proxy.example.com refused`:               `proxy http://<redacted>@proxy.example.com refused`,
		`cannot parse password = hunter2 in line 3`:                      `cannot parse password = <redacted> in line 3`,
		`cannot parse "client_secret=hunter2"`:                           `cannot parse "client_secret=<redacted>"`,
		`GET /?X-Amz-Security-Token=hunter2&Action=x: 403`:               `GET /?X-Amz-Security-Token=<redacted>&Action=x: 403`,
		`GET /?X-Amz-Signature=hunter2: 403`:                             `GET /?X-Amz-Signature=<redacted> 403`,
		`body {"auth":{"password":"hunter2","user":"ccm"}}`:              `body {"auth":{"password":<redacted>,"user":"ccm"}}`,
		`err="body {\"aadClientSecret\":\"hunter 2\",\"user\":\"ccm\"}"`: `err="body {\"aadClientSecret\":<redacted>,\"user\":\"ccm\"}"`,
		`password: hunter2`:                                          `password: <redacted>`,
		`Authorization: Bearer hunter2hunter2`:                       `Authorization: Bearer <redacted>`,
		`token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjY20ifQ.c2ln expired`: `token <redacted> expired`,
		`getting the secret: secrets "x" not found`:                  `getting the secret: secrets "x" not found`,
		`mail to ccm@example.com`:                                    `mail to ccm@example.com`,
	} {
		t.Run(given, func(t *testing.T) {
			require.Equal(t, want, Summary("F1121 09:00:01.123457       1 a.go:1] "+given+"\n"))
		})
	}
}
