package actors

import "github.com/flashlane/flashlane/ple"

// Rows is where n-gram rows come from and what reading them took, all PLE layers together. The zero value: no layer has
// a table.
type Rows struct {
	Placement ple.Placement
	Tables    int
	Rows      int64     // of the tables
	Bytes     int64     // of the tables
	Cache     ple.Stats // of the row caches, on the lane and on the stock path
	Trouble   error     // a *ple.ReadError while some table cannot be read
}

// rows sums the row caches.
func (s *System) rows() (r Rows) {
	for _, l := range s.config.Model.PLE {
		if l.Cache == nil {
			continue
		}
		t := l.Cache.Table()
		r.Placement = t.Placement() // one option places them all
		r.Tables++
		r.Rows += t.Rows()
		r.Bytes += t.Bytes()
		r.Cache = r.Cache.Plus(l.Cache.Stats())
		if err := l.Cache.Trouble(); err != nil {
			r.Trouble = err
		}
	}
	return r
}
