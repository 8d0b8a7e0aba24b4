// SPDX-License-Identifier: MIT OR Apache-2.0

//go:build tools

package main

// The code generators, at the versions of go.mod.
import (
	_ "google.golang.org/grpc/cmd/protoc-gen-go-grpc"
	_ "google.golang.org/protobuf/cmd/protoc-gen-go"
)
