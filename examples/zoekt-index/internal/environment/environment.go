// Package environment prepares the environment of tests: a git without the configuration of the user, and with git sluice.
package environment

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Run runs the tests, unless git sluice is missing, and exits.
func Run(m *testing.M) {
	if err := exec.Command("git", "sluice", "--version").Run(); err != nil {
		fmt.Println("SKIP: git sluice is not on PATH")
		os.Exit(0)
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
		"GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c@example.com",
	} {
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}
