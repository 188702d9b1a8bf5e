package standin

import (
	"encoding/json"
	"net/http"
)

// MaxBody is more than any request that clients of a cluster send.
const MaxBody = 1 << 20

// WriteJSON answers with a body; nil is none.
func WriteJSON(w http.ResponseWriter, contentType string, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	content, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(content) // the client may be gone
}
