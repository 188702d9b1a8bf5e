// Package standin has what the stand-ins for clouds have in common: a server with a certificate of a private CA, a
// record of every call with the credential that made it, and switches that fail or delay calls.
package standin
