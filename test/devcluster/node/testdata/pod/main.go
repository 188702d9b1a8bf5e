// Command pod is the program of the tests' pods.
//
//	pod serve <address>      answers every request with the host name
//	pod install <from> <to>  takes the lock that installer pods take and copies a file, as they do
package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(os.Args[2])
	case "install":
		err = install(os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		name, err := os.Hostname()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, name)
	}))
}

func install(from, to string) error {
	lock, err := os.OpenFile("/var/lock/installer.lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
