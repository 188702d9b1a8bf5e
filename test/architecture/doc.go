// Package architecture has only tests. They fail if the repository deviates from docs/architecture.md. Allowed
// imports, valid YAML, required payload objects and forbidden rights are data in the tests, so that an exception is a
// reviewed line.
package architecture
