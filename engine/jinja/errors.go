package jinja

import (
	"errors"
	"fmt"
)

// ErrLimit is wrapped by the error of a rendering that was stopped by one of its Limits.
var ErrLimit = errors.New("template limit exceeded")

// ErrUndefined is wrapped by errors about values that are not defined.
var ErrUndefined = errors.New("undefined value")

// Error is what Parse and Render return: where in the template, and what.
type Error struct {
	Line    int    // from 1; 0 if unknown
	Message string // for people
	Raised  bool   // by the template itself, with raise_exception
	cause   error
}

// Error gives the message with its line; a raised one stands alone, as the template's author wrote it.
func (e *Error) Error() string {
	if e.Raised {
		return e.Message
	}
	if e.Line == 0 {
		return "jinja: " + e.Message
	}
	return fmt.Sprintf("jinja: line %d: %s", e.Line, e.Message)
}

// Unwrap gives ErrLimit or ErrUndefined where one of them is the reason.
func (e *Error) Unwrap() error { return e.cause }

func fail(format string, args ...any) error { return &Error{Message: fmt.Sprintf(format, args...)} }

func failAt(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// at gives an error that has no line yet one.
func at(line int, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Line == 0 {
		e.Line = line
	}
	return err
}

func overLimit(what string, limit int) error {
	return &Error{Message: fmt.Sprintf("%s exceeds %d", what, limit), cause: ErrLimit}
}
