// Package architecture holds no code, only tests: they fail where the repository leaves the shape that
// docs/architecture.md describes. What may import what, which YAML is well-formed, what the payload must carry and what
// no role may grant are data in the tests, so that an exception is a reviewed line.
package architecture
