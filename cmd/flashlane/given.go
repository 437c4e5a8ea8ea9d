package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"
)

// given are the names of the flags that the command line itself has, in its order; defaults and environment keys are not.
func given(k *kong.Context) (names []string) {
	for _, e := range k.Path {
		if e.Flag != nil {
			names = append(names, e.Flag.Name)
		}
	}
	return names
}

// unused refuses flags that were given and would be ignored; why says because of what.
func unused(k *kong.Context, why string, names ...string) error {
	for _, name := range given(k) {
		if slices.Contains(names, name) {
			return fmt.Errorf("--%s: %s", name, why)
		}
	}
	return nil
}

// flagNames are the flags of a struct, for instance of houseFlags.
func flagNames(flags any) (names []string, err error) {
	k, err := kong.New(flags)
	if err != nil {
		return nil, err
	}
	for _, f := range k.Model.Flags {
		names = append(names, f.Name)
	}
	return names, nil
}

// checkOut refuses a file that could not be written, before the work whose result it is to take.
func checkOut(file string) error {
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(dir, ".flashlane-*")
	}
	if err != nil {
		return fmt.Errorf("--out: nothing can be written to the folder %s: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
