//go:build darwin && arm64

package probe

import (
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// metal asks Apple's Metal framework.
func metal() string {
	if _, err := purego.Dlopen("/System/Library/Frameworks/Foundation.framework/Foundation", purego.RTLD_NOW|purego.RTLD_GLOBAL); err != nil {
		return "no Foundation framework"
	}
	lib, err := purego.Dlopen("/System/Library/Frameworks/Metal.framework/Metal", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return "no Metal framework"
	}
	symbol, err := purego.Dlsym(lib, "MTLCreateSystemDefaultDevice")
	if err != nil {
		return "Metal lacks MTLCreateSystemDefaultDevice"
	}
	var create func() objc.ID // id<MTLDevice> MTLCreateSystemDefaultDevice(void)
	purego.RegisterFunc(&create, symbol)
	dev := create()
	if dev == 0 {
		return "no Metal device"
	}
	name := objc.Send[string](dev.Send(objc.RegisterName("name")), objc.RegisterName("UTF8String"))
	room := objc.Send[uint64](dev, objc.RegisterName("recommendedMaxWorkingSetSize"))
	return fmt.Sprintf("%s, working set %d MiB (no kernels in this build yet)", name, room>>20)
}
