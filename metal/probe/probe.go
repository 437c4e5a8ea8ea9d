package probe

// Finding is what one kind of device says of itself.
type Finding struct {
	Name string // "cuda", "metal"
	Says string // what was found, or why nothing was
}

// All asks every kind of device this program knows.
func All() []Finding {
	return []Finding{{"cuda", cuda()}, {"metal", metal()}}
}
