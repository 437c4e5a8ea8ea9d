// Package host tells what the system says of this process's memory, and rounds memory to the system's pages. Devices, tables
// and the books of the house ask it, so that all of them count alike.
package host
