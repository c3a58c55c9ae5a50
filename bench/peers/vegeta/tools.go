//go:build tools

// Package tools names the load generator that `./dev bench http` measures latency with, so that go.mod and go.sum hold its version
// and those of what it needs. Nothing here is compiled into uvhttp.
package tools

import _ "github.com/tsenart/vegeta/v12"
