package pack

// checklist walks pieces of the model through a lookup and gathers what is wrong.
type checklist struct {
	l    lookup
	errs []error
}

func (m *checklist) trunk() { m.walk(m.l.p.Config.Trunk()) }

func (m *checklist) head() { m.walk(m.l.p.Config.Head()) }

func (m *checklist) walk(list []Piece) {
	for _, x := range list {
		if err := m.l.piece(x); err != nil {
			m.errs = append(m.errs, err)
		}
	}
}

// piece looks a piece up, whatever its kind.
func (l *lookup) piece(x Piece) (err error) {
	switch x.Kind {
	case Matrix:
		_, err = l.linear(x.Name, x.Rows, x.Cols)
	case Experts:
		_, _, _, err = l.experts(x.Name)
	case Norm, Vector:
		_, err = l.vector(x.Name, x.Rows)
	case Conv:
		_, err = l.conv(x.Name, x.Rows, x.Cols)
	case Ints:
		_, _, err = l.ints(x.Name, x.Rows)
	case Table:
		_, err = l.table(x.Index)
	}
	return err
}
