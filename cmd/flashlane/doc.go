// Command flashlane serves models of the Qwen3.8 Flash-Next family (qwen4_exp) over HTTP from one binary.
//
//	flashlane serve                       # the embedded nano pack on 127.0.0.1:8080
//	flashlane serve --model DIR           # any other pack
//	flashlane generate "What does strings.TrimSpace do?"
//	flashlane logits --model DIR --ids 1,2,3 --out logits.json
//	flashlane replay RESPONSE.json
//	flashlane pack inspect DIR
//	flashlane doctor
//
// It holds no logic: it reads flags, picks pack and device, and starts what the packages build.
package main
