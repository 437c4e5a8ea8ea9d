package ple

import "github.com/flashlane/flashlane/metal/host"

// MappedMost is about how many bytes of its files a mapped table leaves in the process. They are the system's to take back,
// but they count as the process's as long as they are there; dropping them costs a fault each when they are wanted again,
// and nothing of what the system caches.
const MappedMost = 160 << 20

// trimRows is how many rows are copied between two looks, of two microseconds each: a fault brings in what the system
// holds in one piece, up to folioMost bytes around each of a row's planes.
const (
	trimRows  = 16
	folioMost = 2 << 20
)

// InPlace is how many bytes of its files the table may bring into the process where they lie: all of an embedded table, a
// part of a mapped one, none of one that was copied or is read by position.
func (t *Table) InPlace() int64 {
	switch {
	case t.Embedded():
		return t.Bytes()
	case t.faults:
		return min(t.Bytes(), MappedMost+trimRows*3*folioMost) // what may come in between two looks is on top
	}
	return 0
}

// trim drops the table's pages from the process when there are too many. To be called once a row.
func (t *Table) trim() {
	if t.copies.Add(1)%trimRows != 0 || filePages()-t.before < t.most {
		return
	}
	for i := range t.spec.Shards {
		for _, p := range t.spec.Shards[i].planes() {
			if p.Mapping {
				dropMapped(host.WholePages(p.Data))
			}
		}
	}
}

// filePages is the process's resident pages of files, in bytes; 0 when the system does not tell.
func filePages() int64 {
	_, files := host.Resident()
	return files
}
