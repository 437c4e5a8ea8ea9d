//go:build linux && (amd64 || arm64)

package probe

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// driver is the part of libcuda that the probe calls.
type driver struct {
	init    func(flags uint32) int32                         // CUresult cuInit(unsigned int)
	version func(v *int32) int32                             // CUresult cuDriverGetVersion(int *)
	count   func(n *int32) int32                             // CUresult cuDeviceGetCount(int *)
	get     func(dev *int32, ordinal int32) int32            // CUresult cuDeviceGet(CUdevice *, int)
	name    func(name *byte, n int32, dev int32) int32       // CUresult cuDeviceGetName(char *, int, CUdevice)
	memory  func(bytes *uint64, dev int32) int32             // CUresult cuDeviceTotalMem_v2(size_t *, CUdevice)
	attr    func(v *int32, attribute int32, dev int32) int32 // CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice)
}

// The attributes that are shown.
const (
	computeMajor = 75
	computeMinor = 76
)

// cuda asks the NVIDIA driver.
func cuda() string {
	lib, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return "no NVIDIA driver (libcuda.so.1 is not there)"
	}
	var d driver
	for symbol, fn := range map[string]any{
		"cuInit": &d.init, "cuDriverGetVersion": &d.version, "cuDeviceGetCount": &d.count, "cuDeviceGet": &d.get,
		"cuDeviceGetName": &d.name, "cuDeviceTotalMem_v2": &d.memory, "cuDeviceGetAttribute": &d.attr,
	} {
		address, err := purego.Dlsym(lib, symbol) // RegisterLibFunc would panic
		if err != nil {
			return "libcuda.so.1 lacks " + symbol
		}
		purego.RegisterFunc(fn, address)
	}
	return d.tell()
}

func (d *driver) tell() string {
	if rc := d.init(0); rc != 0 {
		return fmt.Sprintf("driver is there, cuInit says %d", rc)
	}
	var version, n int32
	if rc := d.version(&version); rc != 0 {
		return fmt.Sprintf("cuDriverGetVersion says %d", rc)
	}
	if rc := d.count(&n); rc != 0 {
		return fmt.Sprintf("cuDeviceGetCount says %d", rc)
	}
	found := []string{fmt.Sprintf("driver for CUDA %d.%d, %d devices (no kernels in this build yet)", version/1000, version%1000/10, n)}
	for i := range n {
		found = append(found, d.device(i))
	}
	return strings.Join(found, "; ")
}

func (d *driver) device(i int32) string {
	var dev, major, minor int32
	var total uint64
	var name [128]byte
	if d.get(&dev, i) != 0 || d.name(&name[0], int32(len(name)), dev) != 0 || d.memory(&total, dev) != 0 ||
		d.attr(&major, computeMajor, dev) != 0 || d.attr(&minor, computeMinor, dev) != 0 {
		return fmt.Sprintf("device %d does not answer", i)
	}
	label, _, _ := bytes.Cut(name[:], []byte{0})
	return fmt.Sprintf("%s, compute %d.%d, %d MiB", label, major, minor, total>>20)
}
