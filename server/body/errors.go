package body

import "fmt"

// Codes say what is wrong with a field.
const (
	CodeInvalidJSON  = "invalid_json"
	CodeInvalidType  = "invalid_type"
	CodeInvalidValue = "invalid_value"
	CodeMissing      = "missing_required_parameter"
	CodeUnknown      = "unknown_parameter"
	CodeUnsupported  = "unsupported_parameter"
)

// Error is a fault of the request body. Param is the path of the field, empty when the body as a whole is at fault.
type Error struct {
	Param   string
	Code    string
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Errorf returns an Error; the message is prefixed with the path, so that it stands alone.
func Errorf(param, code, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if param != "" {
		message = fmt.Sprintf("'%s' %s", param, message)
	}
	return &Error{Param: param, Code: code, Message: message}
}
