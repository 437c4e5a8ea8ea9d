package host

import (
	"os"
	"runtime"
	"testing"
	"unsafe"
)

func TestWholePages(t *testing.T) {
	page := os.Getpagesize()
	b := make([]byte, 4*page)
	skew := int(-uintptr(unsafe.Pointer(&b[0])) & uintptr(page-1)) // bytes before the first whole page
	for _, c := range []struct{ from, to, want int }{
		{skew, skew + 2*page, 2 * page}, {skew + 1, skew + 2*page, page}, {skew, skew + 2*page - 1, page},
		{skew + 1, skew + page, 0}, {skew, skew + page - 1, 0}, {skew, skew, 0},
	} {
		got := WholePages(b[c.from:c.to])
		if len(got) != c.want || cap(got) != c.want {
			t.Errorf("bytes %d to %d: got %d with room for %d, want %d", c.from-skew, c.to-skew, len(got), cap(got), c.want)
		}
		if len(got) > 0 && uintptr(unsafe.Pointer(&got[0]))%uintptr(page) != 0 {
			t.Errorf("bytes %d to %d: not on a page", c.from-skew, c.to-skew)
		}
	}
}

func TestResident(t *testing.T) {
	all, files := Resident()
	if runtime.GOOS == "linux" && (all <= 0 || files <= 0 || files > all) {
		t.Errorf("got %d bytes resident, %d of files, want both and files within", all, files)
	}
}
