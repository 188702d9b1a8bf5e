package aws

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPage is the default of EC2.
const maxPage = 1000

// parameters are those of an action. Lists have numbered names, from 1.
type parameters url.Values

func (p parameters) get(name string) string { return url.Values(p).Get(name) }

// number returns a parameter that is a number, 0 if it is none.
func (p parameters) number(name string) int {
	n, _ := strconv.Atoi(p.get(name))
	return n
}

func (p parameters) list(name string) []string {
	var values []string
	for n := 1; url.Values(p).Has(fmt.Sprintf("%s.%d", name, n)); n++ {
		values = append(values, p.get(fmt.Sprintf("%s.%d", name, n)))
	}
	return values
}

// items returns the parameters of each object in a list.
func (p parameters) items(name string) []parameters {
	var items []parameters
	for {
		item, prefix := parameters{}, fmt.Sprintf("%s.%d.", name, len(items)+1)
		for key, values := range p {
			if field, within := strings.CutPrefix(key, prefix); within {
				item[field] = values
			}
		}
		if len(item) == 0 {
			return items
		}
		items = append(items, item)
	}
}

// tags returns the tags in a list.
func (p parameters) tags(name string) []tag {
	var tags []tag
	for _, item := range p.items(name) {
		tags = append(tags, tag{item.get("Key"), item.get("Value")})
	}
	return tags
}

// single returns the field of an item that has one value of it.
func single[T any](field func(T) string) func(T) []string {
	return func(one T) []string { return []string{field(one)} }
}

// filter returns whether an item has, for each filter of an action, a value that the filter names.
func filter[T any](p parameters, fields map[string]func(T) []string) (matches func(T) bool, failed *apiError) {
	var filters []func(T) bool
	for _, item := range p.items("Filter") {
		field, known := fields[item.get("Name")]
		if !known {
			return nil, &apiError{http.StatusBadRequest, "InvalidParameterValue",
				fmt.Sprintf("The filter '%s' is invalid", item.get("Name"))}
		}
		values := item.list("Value")
		filters = append(filters, func(one T) bool {
			return slices.ContainsFunc(field(one), func(value string) bool { return slices.Contains(values, value) })
		})
	}
	return func(one T) bool {
		return !slices.ContainsFunc(filters, func(holds func(T) bool) bool { return !holds(one) })
	}, nil
}

// page cuts a page out of n items, and returns the token of the next one.
func (p parameters) page(n int) (from, to int, next string, failed *apiError) {
	size := maxPage
	if text := p.get("MaxResults"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			return 0, 0, "", &apiError{http.StatusBadRequest, "InvalidParameterValue", "Invalid value for MaxResults"}
		}
	}
	if token := p.get("NextToken"); token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		if from, _ = strconv.Atoi(string(text)); err != nil || from < 1 || from > n {
			return 0, 0, "", &apiError{http.StatusBadRequest, "InvalidNextToken", "The token is not valid."}
		}
	}
	if to = min(from+size, n); to < n {
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(to)))
	}
	return from, to, next, nil
}
