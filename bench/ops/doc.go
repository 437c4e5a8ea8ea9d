// Package ops tells where the time of a forward pass goes. Wrap gives a metal.Device whose streams time every op of the
// device they wrap and note the work it stands for: floating-point operations and the bytes that have to move at least. The
// model runs on it unchanged and gives the same bits.
//
// Work is counted from shapes, as an ideal machine would do it: a weight is read once per call, however many rows use it;
// of experts only those that a row was routed to; of keys and values only the rows attended to; activations are read and
// written once. Roofs are measured on the machine itself. A share above 1 means that data came from nearer than the memory
// whose bandwidth was measured, which small models do.
//
// Every capability of metal (fused ops) is claimed: one that the wrapped stream has is timed as one op, of others the parts
// of the default composition are timed. Timing adds about 0.1 us per op and, on a device that works asynchronously, a Sync.
package ops
