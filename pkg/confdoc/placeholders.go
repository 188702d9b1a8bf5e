package confdoc

import (
	"bytes"
	"unicode/utf8"
)

// placeholders are the texts that library-go's installer replaces in the data of every ConfigMap and Secret that it
// writes on a node (pkg/operator/staticpod/installerpod).
var placeholders = []string{"NODE_ENVVAR_NAME", "NODE_NAME", "REVISION"}

// Placeholders finds the first text in data that the static-pod installer would replace on the node, so that the file
// there would differ from the one that was checked. line and column are 1-based; column counts characters.
func Placeholders(data []byte) (line, column int, name string, found bool) {
	first := -1
	for _, p := range placeholders {
		if i := bytes.Index(data, []byte(p)); i >= 0 && (first < 0 || i < first) {
			first, name = i, p
		}
	}
	if first < 0 {
		return 0, 0, "", false
	}
	line, column = Position(data, first)
	return line, column, name, true
}

// Position turns a byte offset into a 1-based line and column; the column counts characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// PlaceholderMessage says what is wrong with a text that holds the placeholder.
func PlaceholderMessage(name string) string {
	return "this has the text " + name + " in it, which the installation on a node replaces in every file"
}
