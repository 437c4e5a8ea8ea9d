//go:build !linux

package ple

func dropMapped([]byte) {}
