// Package standin has the server of the stand-ins for clouds: names of the cloud and a certificate of a private CA, a
// record of every call with the credential that made it, and switches that fail or delay calls.
package standin
