// Command drift prints what differs between the code's assumptions and checkouts of other repositories. It exits with 1
// if something differs.
package main

import (
	"fmt"
	"os"

	"github.com/openshift/cluster-cloud-controller-manager-operator/test/drift"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: hack/drift.sh CHECKOUT|PROGRAM...")
		os.Exit(2)
	}
	rows, err := drift.Compare(".", os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, row := range rows {
		fmt.Println(row)
	}
	if len(rows) > 0 {
		os.Exit(1)
	}
}
