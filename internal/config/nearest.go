package config

// nearest returns the candidate that s was most likely meant to be, if one is close enough to be worth naming.
func nearest(s string, candidates []string) (string, bool) {
	best, at := "", len(s)/3+2 // one slip of the finger in short words, more in long ones
	for _, c := range candidates {
		if d := distance(s, c); d < at {
			best, at = c, d
		}
	}
	return best, best != ""
}

// distance counts the insertions, deletions and replacements of bytes that make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
