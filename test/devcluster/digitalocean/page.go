package digitalocean

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
)

// The number of items on a page: the default and the most.
const (
	pageSize    = 20
	maxPageSize = 200
)

// page returns the page of a list that a request asks for, with links to the others.
func page[T any](r *http.Request, name string, all []T) object {
	number := max(1, queryNumber(r, "page"))
	size := min(max(1, cmp.Or(queryNumber(r, "per_page"), pageSize)), maxPageSize)
	last := max(1, (len(all)+size-1)/size)
	first := min((number-1)*size, len(all))
	pages := object{}
	if number > 1 {
		pages["first"], pages["prev"] = pageURL(r, 1), pageURL(r, min(number-1, last))
	}
	if number < last {
		pages["next"], pages["last"] = pageURL(r, number+1), pageURL(r, last)
	}
	links := object{}
	if len(pages) > 0 {
		links["pages"] = pages
	}
	return object{
		name: all[first:min(first+size, len(all))], "links": links, "meta": object{"total": len(all)},
	}
}

// queryNumber returns a number of the query, 0 if it has none.
func queryNumber(r *http.Request, name string) int {
	number, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return 0
	}
	return number
}

func pageURL(r *http.Request, number int) string {
	query := r.URL.Query()
	query.Set("page", strconv.Itoa(number))
	return (&url.URL{Scheme: "https", Host: host, Path: r.URL.Path, RawQuery: query.Encode()}).String()
}
