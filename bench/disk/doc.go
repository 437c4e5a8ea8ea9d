// Package disk stands for a slower disk than the machine has, in measurements that say so: [Slow] lets every read that is
// not answered from memory take at least a given time, one after another, as a disk of so many reads a second does.
package disk
