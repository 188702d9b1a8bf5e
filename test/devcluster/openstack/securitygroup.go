package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// securityGroup has the rules of some ports. Its rules are kept as they came.
type securityGroup struct {
	id, name, description string
	rules                 []object
}

func (g *securityGroup) json() object {
	rules := g.rules
	if rules == nil {
		rules = []object{}
	}
	return object{
		"id": g.id, "name": g.name, "description": g.description, "security_group_rules": rules, "tags": []string{},
		"project_id": projectID, "tenant_id": projectID,
	}
}

// decode reads the body of a request. If it cannot, it has answered.
func decode[T any](w http.ResponseWriter, r *http.Request) (request T, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return request, false
	}
	return request, true
}

func (s *Server) listSecurityGroups(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := r.URL.Query().Get("name")
	found := []object{}
	for _, g := range s.groups {
		if name == "" || name == g.name {
			found = append(found, g.json())
		}
	}
	writeJSON(w, http.StatusOK, object{"security_groups": found})
}

func (s *Server) createSecurityGroup(w http.ResponseWriter, r *http.Request) {
	request, ok := decode[struct {
		Group struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"security_group"`
	}](w, r)
	if !ok {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.created++
	made := &securityGroup{
		id: InstanceID(fmt.Sprintf("security group %d", s.created)), name: request.Group.Name,
		description: request.Group.Description,
	}
	s.groups = append(s.groups, made)
	writeJSON(w, http.StatusCreated, object{"security_group": made.json()})
}

// deleteSecurityGroup deletes a group that no port has.
func (s *Server) deleteSecurityGroup(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	id := r.PathValue("id")
	for _, groups := range s.portGroups {
		if slices.Contains(groups, id) {
			writeJSON(w, http.StatusConflict, object{"NeutronError": object{
				"type": "SecurityGroupInUse", "message": fmt.Sprintf("Security Group %s in use.", id), "detail": "",
			}})
			return
		}
	}
	s.groups = slices.DeleteFunc(s.groups, func(g *securityGroup) bool { return g.id == id })
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) listSecurityGroupRules(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := r.URL.Query().Get("security_group_id")
	found := []object{}
	for _, g := range s.groups {
		if wanted == "" || wanted == g.id {
			found = append(found, g.rules...)
		}
	}
	writeJSON(w, http.StatusOK, object{"security_group_rules": found})
}

func (s *Server) createSecurityGroupRule(w http.ResponseWriter, r *http.Request) {
	request, ok := decode[map[string]object](w, r)
	if !ok {
		return
	}
	rule := request["security_group_rule"]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	i := slices.IndexFunc(s.groups, func(g *securityGroup) bool { return g.id == rule["security_group_id"] })
	if i < 0 {
		writeJSON(w, http.StatusNotFound, object{"NeutronError": object{
			"type": "SecurityGroupNotFound", "message": "Security group not found.", "detail": "",
		}})
		return
	}
	s.created++
	rule["id"] = InstanceID(fmt.Sprintf("rule %d", s.created))
	s.groups[i].rules = append(s.groups[i].rules, rule)
	writeJSON(w, http.StatusCreated, object{"security_group_rule": rule})
}

func (s *Server) deleteSecurityGroupRule(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, g := range s.groups {
		g.rules = slices.DeleteFunc(g.rules, func(rule object) bool { return rule["id"] == r.PathValue("id") })
	}
	w.WriteHeader(http.StatusNoContent)
}

// updatePort replaces the security groups of a port.
func (s *Server) updatePort(w http.ResponseWriter, r *http.Request) {
	request, ok := decode[struct {
		Port struct {
			SecurityGroups []string `json:"security_groups"`
		} `json:"port"`
	}](w, r)
	if !ok {
		return
	}
	id := r.PathValue("id")
	s.mutex.Lock()
	s.portGroups[id] = request.Port.SecurityGroups
	s.mutex.Unlock()
	writeJSON(w, http.StatusOK, object{"port": object{"id": id, "security_groups": request.Port.SecurityGroups}})
}
