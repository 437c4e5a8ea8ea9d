//go:build amd64 || arm64

package cpu

// someRuns is the number of runs at the front, at least one, that asmTokens allows, and their tokens.
func someRuns(runs []run) (count, tokens int) {
	for count < len(runs) && tokens+runs[count].n <= asmTokens {
		tokens += runs[count].n
		count++
	}
	return count, tokens
}
