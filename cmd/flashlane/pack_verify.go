package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flashlane/flashlane/engine/pack"
	"github.com/flashlane/flashlane/engine/pack/audit"
)

type verifyCmd struct {
	Dir string `arg:"" help:"Folder of the pack."`
}

// Run prints what was checked; a pack with any fault is an error.
func (c verifyCmd) Run(ctx context.Context) (err error) {
	if c.Dir == "" {
		return errors.New("got an empty name, want the folder of a pack")
	}
	src, err := pack.Dir(c.Dir)
	if err != nil {
		return err
	}
	p, err := pack.Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	a := audit.New(p)
	if err := runTasks(ctx, tasksOf(a.Jobs(), func(j *audit.Job) (int64, taskFunc) { return j.Bytes, j.Run }), "reading"); err != nil {
		return err
	}
	faults := 0
	for _, s := range a.Steps() {
		verdict := "ok"
		if s.Failed() {
			verdict = "FAULT"
		}
		fmt.Printf("%-5s  %-11s  %s\n", verdict, s.Name, s.Said)
		for _, f := range s.Faults {
			fmt.Println("       " + strings.ReplaceAll(f.Error(), "\n", "\n       "))
		}
		if n := s.Count() - len(s.Faults); n > 0 {
			fmt.Printf("       and %d more\n", n)
		}
		faults += s.Count()
	}
	if faults > 0 {
		return fmt.Errorf("pack verify: %s: %d faults", c.Dir, faults)
	}
	return nil
}
