// Package credentials has what clients of the stand-ins for clouds log in with: credentials that can be rotated, what
// is issued for them, and the tokens of the ServiceAccount that a cloud can trust instead.
package credentials
