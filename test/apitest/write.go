package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// write is a request about one object. Its methods require the server's lock.
type write struct {
	*Server
	user string
	target
	request  Request
	existing *stored
	body     []byte
	// patch is the content type.
	patch string
}

func (w *write) serve() answer {
	if w.existing == nil && w.name != "" && w.subresource != "token" {
		return w.fail(http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("%s %q not found", w.resource.Resource, w.name))
	}
	switch w.request.Verb {
	case "get":
		return answer{code: http.StatusOK, body: w.existing.raw}
	case "delete":
		return w.delete()
	case "create":
		return w.create()
	case "update":
		after, err := decode(w.body)
		if err != nil {
			return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		}
		return w.update(after)
	}
	return w.patched()
}

func (w *write) fail(code int32, reason metav1.StatusReason, message string) answer {
	return failure(code, reason, w.target, message)
}

// conflict returns a message if the object that the client sends is of another version or identity.
func (w *write) conflict(sent Object) string {
	if v, _ := Meta(sent)["resourceVersion"].(string); v != "" && v != strconv.Itoa(w.existing.version) {
		return "the object has been modified; please apply your changes to the latest version and try again"
	}
	if uid, _ := Meta(sent)["uid"].(string); uid != "" && uid != Meta(w.existing.object)["uid"] {
		return "Precondition failed: UID in precondition"
	}
	return ""
}

func (w *write) failConflict(why string) answer {
	return w.fail(http.StatusConflict, metav1.StatusReasonConflict,
		fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", w.resource.Resource, w.name, why))
}

func (w *write) patched() answer {
	if types.PatchType(w.patch) == types.ApplyYAMLPatchType || types.PatchType(w.patch) == types.ApplyCBORPatchType {
		return w.apply()
	}
	if types.PatchType(w.patch) == types.JSONPatchType {
		return w.patchedByOperations()
	}
	patch, err := decode(w.body)
	if err != nil {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	if why := w.conflict(patch); why != "" {
		return w.failConflict(why)
	}
	after := runtime.DeepCopyJSON(w.existing.object)
	merge(after, patch)
	delete(Meta(after), "resourceVersion")
	return w.update(after)
}

// patchedByOperations applies a JSON patch.
func (w *write) patchedByOperations() answer {
	var content []byte
	patch, err := jsonpatch.DecodePatch(w.body)
	if err == nil {
		content, err = patch.Apply(w.existing.raw)
	}
	if err != nil {
		return w.fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	}
	after, err := decode(content)
	if err != nil {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	delete(Meta(after), "resourceVersion")
	return w.update(after)
}

// merge is a JSON merge patch. It serves strategic ones too, whose lists no client of the tests merges.
func merge(into, patch Object) {
	for key, value := range patch {
		if value == nil {
			delete(into, key)
			continue
		}
		if changes, ok := value.(map[string]any); ok {
			inner, ok := into[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				into[key] = inner
			}
			merge(inner, changes)
			continue
		}
		into[key] = value
	}
}

func (w *write) delete() answer {
	var options metav1.DeleteOptions
	_ = json.Unmarshal(w.body, &options)
	if p := options.Preconditions; p != nil {
		if p.UID != nil && string(*p.UID) != Meta(w.existing.object)["uid"] ||
			p.ResourceVersion != nil && *p.ResourceVersion != strconv.Itoa(w.existing.version) {
			return w.failConflict("Precondition failed")
		}
	}
	if a, refused := w.admit(nil); refused {
		return a
	}
	grace := int64(-1)
	if options.GracePeriodSeconds != nil {
		grace = *options.GracePeriodSeconds
	}
	return answer{code: http.StatusOK, body: w.remove(w.user, w.resource, w.key(), grace).raw}
}

func (w *write) admit(after Object) (answer, bool) {
	if w.Admit == nil {
		return answer{}, false
	}
	if err := w.Admit(w.user, w.request, contentOf(w.existing), after); err != nil {
		return w.fail(http.StatusForbidden, metav1.StatusReasonForbidden, err.Error()), true
	}
	return answer{}, false
}

func (w *write) create() answer {
	after, err := decode(w.body)
	if err != nil {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	if w.subresource == "token" {
		return w.createToken(after)
	}
	m := Meta(after)
	if m["name"] == nil || m["name"] == "" {
		w.born++
		m["name"] = fmt.Sprintf("%v%05d", m["generateName"], w.born)
	}
	if w.namespace != "" {
		m["namespace"] = w.namespace
	}
	after["apiVersion"], after["kind"] = w.kind.GroupVersion().String(), w.kind.Kind
	w.name, _ = m["name"].(string)
	if w.of(w.resource).objects[w.key()] != nil {
		return w.fail(http.StatusConflict, metav1.StatusReasonAlreadyExists,
			fmt.Sprintf("%s %q already exists", w.resource.Resource, w.name))
	}
	if a, refused := w.admit(after); refused {
		return a
	}
	writeStringData(after)
	delete(m, "uid")
	w.birth(after)
	if w.resource.Resource == "pods" {
		after["status"] = map[string]any{"phase": "Pending"}
	}
	return answer{code: http.StatusCreated, body: w.commit(w.user, "create", w.resource, w.key(), after).raw}
}

// createToken issues a token, whose text tells only that it is another one.
func (w *write) createToken(request Object) answer {
	seconds, found, _ := unstructured.NestedInt64(request, "spec", "expirationSeconds")
	if !found {
		seconds = 3600
	}
	w.born++
	token, expiry := fmt.Sprintf("token-%d", w.born), time.Now().Add(time.Duration(seconds)*time.Second).UTC()
	w.tokens[token] = expiry
	request["status"] = map[string]any{"token": token, "expirationTimestamp": expiry.Format(time.RFC3339)}
	body, err := json.Marshal(request)
	if err != nil {
		return w.fail(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
	}
	return answer{code: http.StatusCreated, body: body}
}

func writeStringData(o Object) {
	if o["kind"] == "Secret" {
		delete(o, "stringData")
	}
}

// withStatus are the resources whose status only the subresource changes.
var withStatus = map[string]bool{
	"pods": true, "nodes": true, "daemonsets": true, "deployments": true, "cloudcontrollermanagers": true,
	"clusteroperators": true, "infrastructures": true, "services": true, "namespaces": true,
}

// update stores a changed object: of a subresource only the status, otherwise all but the status.
func (w *write) update(after Object) answer {
	if why := w.conflict(after); why != "" {
		return w.failConflict(why)
	}
	before := w.existing.object
	if withStatus[w.resource.Resource] {
		from, to := before, after
		if w.subresource == "status" {
			from, to = after, runtime.DeepCopyJSON(before)
		}
		if status, found := from["status"]; found {
			to["status"] = status
		} else {
			delete(to, "status")
		}
		after = to
	}
	keepIdentity(after, before)
	after["kind"], after["apiVersion"] = before["kind"], before["apiVersion"]
	writeStringData(after)
	if a, refused := w.admit(after); refused {
		return a
	}
	if w.resource == w.definition.resource {
		owned, err := w.definition.updated(before, after, w.user, w.subresource)
		if err != nil {
			return w.fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		}
		after = owned
	}
	return w.store(after, "update")
}

// store stores a version unless nothing has changed.
func (w *write) store(after Object, verb string) answer {
	before := w.existing.object
	after = runtime.DeepCopyJSON(after)
	m := Meta(after)
	for key, value := range m {
		if value == nil {
			delete(m, key)
		}
	}
	m["resourceVersion"] = Meta(before)["resourceVersion"]
	if w.existing.isLike(after) {
		return answer{code: http.StatusOK, body: w.existing.raw}
	}
	if !reflect.DeepEqual(before["spec"], after["spec"]) {
		grow(after)
	}
	return answer{code: http.StatusOK, body: w.commit(w.user, verb, w.resource, w.key(), after).raw}
}
